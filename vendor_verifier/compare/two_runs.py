"""Two runs of the same vendors, sample by sample: paired changes with intervals and a verdict; it reads no files.

Shares (F1, success, schema, a suite's score) are ratios of sums: the change is after − before, its standard error
sd(ψ_after − ψ_before) ÷ √n from influence values (:mod:`vendor_verifier.compare.panel`). Quantities are compared by
mean log ratio per sample, and for times the change that the other vendors have in common is taken out
(:mod:`vendor_verifier.compare.common_shift`). Intervals hold together:
Student's t at 1 − 0.05 ÷ (number of comparisons) (Bonferroni). Where no sample changed, 3 ÷ n bounds what could (the
rule of three).

worse, improved: the interval excludes 0 and the change is at least the least one that matters (shares 2 points, tokens
5 %, times 10 %); same: the whole interval lies within it; undecided: anything else.

Limit: latency moves from run to run by itself, and no interval from two runs can know by how much. A lasting change is
for :mod:`vendor_verifier.compare.regression` to find.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vendor_verifier.compare.common_shift import common_shift
from vendor_verifier.compare.figures import LEAST_DIFFERENCE, LEAST_RATIO, direction_of, scale_of
from vendor_verifier.compare.panel import Panel, build_panel
from vendor_verifier.compare.trials import Trials
from vendor_verifier.values.comparison import ChangeVerdict, MetricChange
from vendor_verifier.values.judgement import Estimate
from vendor_verifier.values.score import Undecided

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_TIME_RATIO = 0.10
LEVEL = 0.95
_LEAST_PAIRS = 2


@dataclass(frozen=True, slots=True)
class Side:
    """One model of one run: its vendors and its baseline's label."""

    trials: Sequence[Trials]
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class _Paired:
    """Per-sample changes of one vendor's figure before any shared change is taken out, shape (pairs,)."""

    label: str
    metric: str
    before: float
    after: float
    changes: NDArray[np.float64]


def compare_model(
    model: str,
    before: Side,
    after: Side,
    samples: Sequence[str],
    *,
    metrics: Sequence[str],
    undecided: Undecided = "missed",
) -> tuple[MetricChange, ...]:
    """Every figure that both runs measured, over the ``samples`` they have in common.

    Vendors are joined by label; one that only one run has is not in the result.
    """
    panels = [
        build_panel(side.trials, samples, baseline=side.baseline, metrics=metrics, undecided=undecided)
        for side in (before, after)
    ]
    labels = [label for label in panels[0].labels if label in panels[1].labels]
    paired = [
        found
        for metric in metrics
        for label in labels
        if (found := _paired(panels[0], panels[1], label, metric)) is not None
    ]
    return tuple(_change(model, each, _shared(each, paired), len(paired)) for each in paired)


def _paired(before: Panel, after: Panel, label: str, metric: str) -> _Paired | None:
    first, second = before.value(label, metric), after.value(label, metric)
    if first is None or second is None:
        return None
    ratio = scale_of(metric) == "ratio"
    changes = _log_ratios(before, after, label, metric) if ratio else _influences(before, after, label, metric)
    return None if changes is None or len(changes) < _LEAST_PAIRS else _Paired(label, metric, first, second, changes)


def _log_ratios(before: Panel, after: Panel, label: str, metric: str) -> NDArray[np.float64] | None:
    """ln(after ÷ before) of each sample that both measured and that is positive in both."""
    import numpy as np

    (one,), (other,) = before.cells[label, metric], after.cells[label, metric]
    parts = (one.numerators, one.denominators, other.numerators, other.denominators)
    both = np.logical_and.reduce([part > 0 for part in parts])
    if not both.any():
        return None
    first, second = (each.numerators[both] / each.denominators[both] for each in (one, other))
    result: NDArray[np.float64] = np.log(second / first)
    return result


def _influences(before: Panel, after: Panel, label: str, metric: str) -> NDArray[np.float64] | None:
    """ψ after − ψ before, around the change itself."""
    one, other = before.influence(label, metric), after.influence(label, metric)
    first, second = before.value(label, metric), after.value(label, metric)
    if one is None or other is None or first is None or second is None:
        return None
    result: NDArray[np.float64] = other - one + (second - first)
    return result


def _shared(own: _Paired, paired: Sequence[_Paired]) -> float:
    """How far the other vendors' times moved together: the network's or the hour's doing."""
    if not _is_time(own.metric):
        return 0.0
    others = [float(each.changes.mean()) for each in paired if each.metric == own.metric and each.label != own.label]
    return common_shift(others)


def _is_time(metric: str) -> bool:
    return metric == "tps" or metric.endswith("_ms")


def _change(model: str, paired: _Paired, shared: float, comparisons: int) -> MetricChange:
    scale = scale_of(paired.metric)
    interval = _interval(paired, comparisons, rate=scale == "difference")
    interval = replace(interval, value=_less(interval.value, shared), low=_less(interval.low, shared),
                       high=_less(interval.high, shared))  # fmt: skip
    least = LEAST_DIFFERENCE
    if scale == "ratio":
        least = math.log1p(LEAST_TIME_RATIO if _is_time(paired.metric) else LEAST_RATIO)
    verdict = _verdict(interval, least, lower_is_better=direction_of(paired.metric) == "lower")
    if scale == "ratio":
        interval = replace(interval, value=_expm1(interval.value), low=_expm1(interval.low), high=_expm1(interval.high))
        shared = math.expm1(shared)
    return MetricChange(
        model, paired.label, paired.metric, scale, paired.before, paired.after, interval, verdict, shared
    )


def _interval(paired: _Paired, comparisons: int, *, rate: bool) -> Estimate:
    from scipy.special import stdtrit

    n = len(paired.changes)
    value = paired.after - paired.before if rate else float(paired.changes.mean())
    half = float(stdtrit(n - 1, 1 - (1 - LEVEL) / 2 / comparisons) * paired.changes.std(ddof=1) / math.sqrt(n))
    if rate:
        # No sample changed: that bounds how many could, it does not say that none ever will.
        half = half if paired.changes.std() > 0 else min(1.0, 3 / n)
    return Estimate(value, value - half, value + half, n, f"paired, together over {comparisons} comparisons", LEVEL)


def _verdict(interval: Estimate, least: float, *, lower_is_better: bool) -> ChangeVerdict:
    assert interval.value is not None
    assert interval.low is not None
    assert interval.high is not None
    if (interval.low > 0 or interval.high < 0) and abs(interval.value) >= least:
        return "worse" if (interval.value > 0) == lower_is_better else "improved"
    return "same" if -least < interval.low and interval.high < least else "undecided"


def _less(value: float | None, shared: float) -> float | None:
    return None if value is None else value - shared


def _expm1(value: float | None) -> float | None:
    return None if value is None else math.expm1(value)


def common_samples(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> list[str]:
    """Sample ids that the same suite asked in both runs, in the order of the first."""
    asked = {suite: frozenset(ids) for suite, ids in after.items()}
    found = [sample for suite, ids in before.items() for sample in ids if sample in asked.get(suite, ())]
    return list(dict.fromkeys(found))
