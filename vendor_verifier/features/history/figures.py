"""The figures of a scored run that a history keeps, and where the level of a series of them changes.

A figure is a rank metric (``f1``), an evaluation's score under its name, or ``<record metric>.<percentile>``.

Changes of level are E-divisive splits kept by a t-test and a least effect: Matteson and James, A nonparametric approach
for multiple change point analysis (arXiv 1306.4933), with Student's t-test in place of permutations as in Hunter
(Fleming et al., ICPE 2023, arXiv 2301.03034).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.metrics import DIRECTIONS, Direction, is_share
from vendor_verifier.scoring.irf import RANK_METRICS
from vendor_verifier.values.history import HistoryEntry, HistoryRun, Scale
from vendor_verifier.values.judgement import ServedNames
from vendor_verifier.values.score import Report, VendorScore
from vendor_verifier.values.verdict import Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


P_VALUE = 0.003
# A split that is not yet significant may become so once its neighbours are found.
_LAX_P_VALUE = 0.01
# One night can be anything; a level takes two.
LEAST_LEVEL = 2


def change_points(
    series: Sequence[float] | NDArray[np.float64], *, least_effect: float, p_value: float = P_VALUE
) -> list[tuple[int, float]]:
    """(first index of the new level, p) of every change of level, in order.

    A change stays if Student's t-test between the levels on both of its sides has p < ``p_value`` and their means are
    at least ``least_effect`` apart. ``series`` has shape (runs,).
    """
    import numpy as np

    values = np.asarray(series, dtype=np.float64)
    points = sorted(_splits(values, 0, len(values)))
    while points:
        tests = [_between(values, points, index, least_effect) for index in range(len(points))]
        weakest = max(range(len(points)), key=tests.__getitem__)
        if tests[weakest] < p_value:
            return list(zip(points, tests, strict=True))
        # Only the weakest goes: without it the levels beside it are longer and their tests stronger.
        del points[weakest]
    return []


def hodges_lehmann(before: Sequence[float], after: Sequence[float]) -> float:
    """The median of all differences after − before (Hodges and Lehmann, Ann. Math. Stat. 34, 1963)."""
    import numpy as np

    return float(np.median(np.subtract.outer(np.asarray(after), np.asarray(before))))


def _splits(values: NDArray[np.float64], start: int, end: int) -> list[int]:
    if end - start < 2 * LEAST_LEVEL:
        return []
    split = start + _best_split(values[start:end])
    if _t_test(values[start:split], values[split:end])[0] >= _LAX_P_VALUE:
        return []
    return [split, *_splits(values, start, split), *_splits(values, split, end)]


def _best_split(values: NDArray[np.float64]) -> int:
    """The split with the greatest energy distance between its sides, q = ml ÷ (m + l) · E(X, Y)."""
    import numpy as np

    n = len(values)
    distances = np.abs(np.subtract.outer(values, values))
    sums = distances.cumsum(axis=0).cumsum(axis=1)
    m = np.arange(LEAST_LEVEL, n - LEAST_LEVEL + 1)
    left = m.astype(np.float64)
    right = n - left
    inside_left, up_to = sums[m - 1, m - 1], sums[m - 1, n - 1]
    inside_right = sums[n - 1, n - 1] - 2 * up_to + inside_left
    energy = (
        2 * (up_to - inside_left) / (left * right)
        - inside_left / (left * (left - 1))
        - inside_right / (right * (right - 1))
    )
    return int(m[np.argmax(left * right / n * energy)])


def _between(values: NDArray[np.float64], points: Sequence[int], index: int, least_effect: float) -> float:
    """p of the change at ``points[index]``; 1 if it is too small, or rests on one run only."""
    edges = [0, *points, len(values)]
    before, after = values[edges[index] : edges[index + 1]], values[edges[index + 1] : edges[index + 2]]
    p_value, effect = _t_test(before, after)
    return p_value if abs(effect) >= least_effect and _borne_out(before, after, effect, least_effect) else 1.0


def _borne_out(before: NDArray[np.float64], after: NDArray[np.float64], effect: float, least_effect: float) -> bool:
    """Whether every run of a level of two shows the change: the least effect, and a third of what both show together.

    One outlier beside a normal run is no level.
    """
    import numpy as np

    rising = 1.0 if effect > 0 else -1.0
    shown = max(least_effect, abs(effect) / 3)
    for level, other, sign in ((after, before, rising), (before, after, -rising)):
        if len(level) == LEAST_LEVEL and (sign * (level - np.median(other))).min() < shown:
            return False
    return True


def _t_test(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float]:
    """Two-sided p of Student's t-test with pooled variance, and the difference of means after − before."""
    from scipy.special import stdtr

    effect = float(after.mean() - before.mean())
    degrees = len(before) + len(after) - 2
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    if squares <= 1e-24:
        return (1.0 if effect == 0 else 0.0), effect
    error = (squares / degrees * (1 / len(before) + 1 / len(after))) ** 0.5
    return float(2 * stdtr(degrees, -abs(effect) / error)), effect


_PERCENTILES = ("p50", "p95")
_DISTRIBUTIONS = ("ttft_ms", "e2e_ms", "tps", "total_tokens")
# Short names that users type for figures.
ALIASES: Mapping[str, str] = {
    "ttft": "ttft_ms.p50",
    "ttft_p95": "ttft_ms.p95",
    "e2e": "e2e_ms.p50",
    "latency": "e2e_ms.p50",
    "success": "success_rate",
    "schema": "schema_accuracy",
    "tokens": "avg_tokens",
}
# Medians for latency: a mean of first-token times follows its few worst requests.
WATCHED: tuple[str, ...] = ("f1", "success_rate", "schema_accuracy", "ttft_ms.p50", "tps", "avg_tokens")
LEAST_RATIO = 0.05
LEAST_DIFFERENCE = 0.02


def known_figures(suites: Iterable[str] = ()) -> tuple[str, ...]:
    """Every figure that a run with ``suites`` may have."""
    parts = (f"{name}.{percentile}" for name in _DISTRIBUTIONS for percentile in _PERCENTILES)
    return tuple(dict.fromkeys([*RANK_METRICS, *suites, *parts]))


def metric_names(words: Iterable[str]) -> tuple[str, ...]:
    """The figures that short names stand for, such as ``ttft`` for ``ttft_ms.p50``; unknown words stay as they are."""
    return tuple(dict.fromkeys(ALIASES.get(word, word) for word in words))


def check_figures(words: Iterable[str], suites: Iterable[str]) -> None:
    """Refuse names of figures that no run with ``suites`` can have: a misspelt one would never be judged.

    Raises:
        ProblemsError: with what was read and what is known.
    """
    known = known_figures(suites)
    unknown = [word for word in words if ALIASES.get(word, word) not in known]
    if unknown:
        message = f"read {', '.join(unknown)}; known are {', '.join((*ALIASES, *known))}"
        raise ProblemsError([Problem(message, key="--fail-on")])


def scale_of(metric: str) -> Scale:
    """Quantities with a unit are compared by ratio, shares of 1 by difference."""
    return "difference" if is_share(metric) else "ratio"


def direction_of(metric: str) -> Direction:
    """The direction in which a metric is better; a suite's score is better when higher."""
    return DIRECTIONS.get(metric.split(".")[0], "higher")


def history_run(report: Report, folder: str) -> HistoryRun:
    """``report`` as the history keeps it; only entries with a record, only figures that were measured."""
    manifest = report.manifest
    entries = tuple(
        HistoryEntry(
            model=model.model,
            label=vendor.label,
            vendor=vendor.vendor,
            model_id=vendor.model_id,
            is_baseline=vendor.is_baseline,
            planned=vendor.planned,
            succeeded=vendor.succeeded,
            figures=dict(_figures(vendor)),
            served=_served(report, model.model, vendor.label),
            verdict=_verdict(report, model.model, vendor.label),
        )
        for model in report.models
        for vendor in model.vendors
        if vendor.recorded
    )
    return HistoryRun(
        run=report.run,
        at=manifest.created_at or "",
        folder=folder,
        question=question_of(report),
        complete=report.complete,
        version="" if manifest.tool is None else manifest.tool.version or "",
        entries=entries,
    )


def _verdict(report: Report, model: str, label: str) -> Status | None:
    advice = report.advice.get(model)
    return None if advice is None else advice.vendors[label].status


def _served(report: Report, model: str, label: str) -> ServedNames:
    verdict = report.verdicts.get(model)
    return ServedNames() if verdict is None else verdict.served.get(label, ServedNames())


def question_of(report: Report) -> str:
    """The first 16 hex digits of a digest of the questions asked and the rules of judging.

    Entries stay out: that a vendor is asked elsewhere, or with other settings, is what a history is to show. The
    shape of a load is in, where there is one: who is asked more often is slower without having got worse.
    """
    manifest = report.manifest
    identity = manifest.identity or {}
    tasks = [[task.suite, task.sha256, task.count] for task in manifest.tasks]
    asked = [
        identity.get("samples") or tasks,
        identity.get("suites"),
        report.repeat,
        report.undecided,
        report.schema_policy,
        *filter(None, [manifest.raw.get("settings", {}).get("load")]),
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _figures(vendor: VendorScore) -> Iterator[tuple[str, tuple[float, int]]]:
    for name, value in vendor.metrics.items():
        # The baseline's F1 is 1 by definition, not a measurement.
        if value is not None and not (name == "f1" and vendor.is_baseline):
            yield name, (value, vendor.measured.get(name, 0))
    for name in _DISTRIBUTIONS:
        found = vendor.distributions.get(name)
        for percentile in _PERCENTILES if found is not None else ():
            value = getattr(found, percentile)
            if value is not None:
                yield f"{name}.{percentile}", (value, found.n if found else 0)
