"""The figures of a scored run that a history keeps.

A figure is a rank metric (``f1``), an evaluation's score under its name, or ``<record metric>.<percentile or mean>``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.metrics import DIRECTIONS, RANKED, Direction, is_share
from vendor_verifier.records.history import HistoryEntry, HistoryRun, Scale
from vendor_verifier.records.judgement import ServedNames
from vendor_verifier.records.score import Report, VendorScore
from vendor_verifier.records.verdict import Status
from vendor_verifier.scoring.irf import RANK_METRICS

# Of output tokens the mean: calls are short and texts long, and a median between the two jumps.
_STATISTICS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ttft_ms", "e2e_ms", "tps", "total_tokens"), ("p50", "p95")),
    "output_tokens": ("mean",),
}
# Short names that users type for figures.
ALIASES: Mapping[str, str] = {
    "ttft": "ttft_ms.p50",
    "ttft_p95": "ttft_ms.p95",
    "e2e": "e2e_ms.p50",
    "latency": "e2e_ms.p50",
    "success": "success_rate",
    "schema": "schema_accuracy",
    "tokens": "avg_tokens",
    "output_tokens": "output_tokens.mean",
}
# Medians for latency: a mean of first-token times follows its few worst requests.
WATCHED: tuple[str, ...] = (
    *("f1", "success_rate", "schema_accuracy", "ttft_ms.p50", "tps", "avg_tokens"),
    # Long prompts drown them in the sum, and they are the dearer ones.
    "output_tokens.mean",
)
LEAST_RATIO = 0.05
LEAST_DIFFERENCE = 0.02


def known_figures(suites: Iterable[str] = ()) -> tuple[str, ...]:
    """Every figure that a run with ``suites`` may have."""
    parts = (f"{name}.{statistic}" for name, statistics in _STATISTICS.items() for statistic in statistics)
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
            figures=dict(_figures(vendor, by_schedule=manifest.ranks_by_schedule)),
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


def _figures(vendor: VendorScore, *, by_schedule: bool) -> Iterator[tuple[str, tuple[float, int]]]:
    for name, ranked in vendor.metrics.items():
        value, measured = ranked, vendor.measured.get(name, 0)
        figure = RANKED[name].figure if by_schedule and name in RANKED else None
        if figure is not None and figure.scheduled is not None:
            # From sending in every run, or a series would jump where a cap held requests back for once.
            own = vendor.distributions[RANKED[name].name]
            value, measured = own.mean, own.n
        # The baseline's F1 is 1 by definition, not a measurement.
        if value is not None and not (name == "f1" and vendor.is_baseline):
            yield name, (value, measured)
    for name, statistics in _STATISTICS.items():
        found = vendor.distributions.get(name)
        for statistic in statistics if found is not None else ():
            value = getattr(found, statistic)
            if value is not None:
                yield f"{name}.{statistic}", (value, found.n if found else 0)
