"""Which interval belongs to which figure: one vendor's estimates for display and for gates; it compares no ranks.

f1: Wilson on Jaccard. Rates: Wilson over samples for display, Clopper–Pearson for gates; a sample's several calls or
repetitions are one unit, since they are not independent. Means and ratios: bootstrap; money that was never wasted:
the rule of three. Percentiles: order statistics.
Where neighbouring samples are correlated (blocks longer than 1) the closed forms are widened to the block bootstrap's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from vendor_verifier.compare.bootstrap import Resampled, percentile_estimate, spread
from vendor_verifier.compare.intervals import clopper_pearson, f1_interval, percentile_interval, rule_of_three, wilson
from vendor_verifier.compare.panel import Panel
from vendor_verifier.values.judgement import Estimate, Percentile

_WASTED, _WHOLE_COST = "wasted_per_1000_requests_usd", "cost_per_1000_requests_usd"
_RATES = frozenset({"success_rate", "first_attempt_success_rate", "schema_accuracy"})


def estimate_of(panel: Panel, resampled: Resampled, label: str, metric: str, *, exact: bool = False) -> Estimate:
    """The figure with its 95 % interval; ``exact`` takes Clopper–Pearson for rates.

    Raises:
        ValueError: the label or metric is not in ``resampled``.
    """
    parts = panel.cells.get((label, metric), ())
    value = panel.value(label, metric)
    if value is None:
        return Estimate(None)
    units = max(int((part.denominators != 0).sum()) for part in parts)
    drawn = percentile_estimate(resampled, label, metric, units)
    if metric == _WASTED and value == 0:
        # Nothing was wasted in n requests: up to 3 ÷ n of them may be, at what a request costs.
        whole = panel.value(label, _WHOLE_COST)
        return replace(drawn, high=None if whole is None else rule_of_three(units) * whole, method="rule of three")
    if metric == "f1":
        both = sum(float(part.numerators.sum()) for part in parts) / 2 / len(parts)
        either = sum(float(part.denominators.sum()) for part in parts) / len(parts) - both
        closed = _around(f1_interval(both, either - both, 0.0), value)
        closed = replace(closed, n=len(panel.samples))
    elif metric in _RATES:
        closed = (clopper_pearson if exact else wilson)(min(value * units, units), units)
    else:
        return drawn
    return _union(closed, drawn) if resampled.blocks.size > 1 else closed


def estimates_of(panel: Panel, resampled: Resampled, *, exact: bool = False) -> dict[str, dict[str, Estimate]]:
    """Label → metric → estimate for everything in ``panel``."""
    return {
        label: {metric: estimate_of(panel, resampled, label, metric, exact=exact) for metric in panel.metrics}
        for label in panel.labels
    }


def percentile_estimates(values: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    """``metric.p50`` … ``metric.p99`` → estimate, from the values of single requests; infinity is a time-out."""
    return {
        f"{metric}.{percentile}": percentile_interval(column, float(percentile[1:]))
        for metric, column in values.items()
        for percentile in get_args(Percentile)
    }


def gap_to(panel: Panel, resampled: Resampled, label: str, baseline: str, metric: str) -> Estimate:
    """The vendor's figure minus the baseline's own, paired by the resamples.

    Where no resample varies (both without a fault), the interval is that of two separate rates, since "no failure in
    ten" does not mean "never". For ``f1`` :mod:`vendor_verifier.compare.noise_floor` is sharper.
    """
    own, other = panel.value(label, metric), panel.value(baseline, metric)
    if own is None or other is None:
        return Estimate(None, method="paired bootstrap")
    row, base, column = panel.labels.index(label), panel.labels.index(baseline), panel.metrics.index(metric)
    draws = resampled.draws[:, row, column] - resampled.draws[:, base, column]
    found = replace(spread(own - other, draws, len(panel.samples)), method="paired bootstrap")
    if found.low != found.high:
        return found
    return separate(*(estimate_of(panel, resampled, name, metric) for name in (label, baseline)))


def separate(own: Estimate, other: Estimate) -> Estimate:
    """own − other from their own intervals: each end where one of them is at its end and the other at its figure."""
    if own.value is None or other.value is None:
        return Estimate(None, method="separate intervals", level=own.level)
    low_own, high_own = _ends(own)
    low_other, high_other = _ends(other)
    low = min(low_own - other.value, own.value - high_other)
    high = max(high_own - other.value, own.value - low_other)
    return Estimate(
        own.value - other.value,
        low if math.isfinite(low) else None,
        high if math.isfinite(high) else None,
        min(own.n, other.n),
        "separate intervals",
        own.level,
    )


def _ends(estimate: Estimate) -> tuple[float, float]:
    return (
        -math.inf if estimate.low is None else estimate.low,
        math.inf if estimate.high is None else estimate.high,
    )


def _around(estimate: Estimate, value: float) -> Estimate:
    """The interval of the averaged counts around the average of the runs' figures."""
    assert estimate.low is not None
    assert estimate.high is not None
    return replace(estimate, value=value, low=min(estimate.low, value), high=max(estimate.high, value))


def _union(closed: Estimate, drawn: Estimate) -> Estimate:
    if drawn.low is None or drawn.high is None or closed.low is None or closed.high is None:
        return closed
    method = f"{closed.method}, blocks"
    return replace(closed, low=min(closed.low, drawn.low), high=max(closed.high, drawn.high), method=method)
