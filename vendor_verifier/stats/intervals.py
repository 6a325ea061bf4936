"""Closed-form intervals of rates, F1 and percentiles, and which interval belongs to which figure of a vendor.

All are two-sided with confidence ``level`` unless stated otherwise.

f1: Wilson on Jaccard. Rates: Wilson over samples for display, Clopper–Pearson for gates; a sample's several calls or
repetitions are one unit, since they are not independent. Means and ratios: bootstrap; money that was never wasted:
the rule of three. Percentiles: order statistics.
Where neighbours in time are alike (:mod:`vendor_verifier.stats.dependence`) closed forms count as many independent
observations as the samples are worth, and hold the block bootstrap's interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, get_args

from msgspec import structs

from vendor_verifier.metrics.base import percentile
from vendor_verifier.metrics.outcome import TOOL_CALL_ERROR_RATE
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Percentile
from vendor_verifier.stats.bootstrap import Resampled, percentile_estimate, spread
from vendor_verifier.stats.dependence import Dependence, dependence, drift_level
from vendor_verifier.stats.panel import Panel, apart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL = 0.95


def wilson(successes: float, n: float, level: float = LEVEL) -> Estimate:
    """Wilson's score interval for a rate, for display (Wilson, JASA 22, 1927).

    centre = (p + z²/2n) ÷ (1 + z²/n), half width = z ÷ (1 + z²/n) · √(p(1−p)/n + z²/4n²). Counts may be fractions where
    they are averages over runs.

    Raises:
        ValueError: ``successes`` is not in 0…n.
    """
    _check(successes, n)
    if n == 0:
        return Estimate(None, n=0, method="wilson", level=level)
    z, p = normal_quantile(level), successes / n
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(p, min(low, p), max(high, p), round(n), "wilson", level)


def clopper_pearson(successes: float, n: float, level: float = LEVEL) -> Estimate:
    """The exact interval for a rate, never too short, for gates (Clopper & Pearson, Biometrika 1934).

    low = Beta⁻¹(α/2; k, n−k+1), high = Beta⁻¹(1−α/2; k+1, n−k). Both counts may be fractions, as with ``wilson``.

    Raises:
        ValueError: ``successes`` is not in 0…n.
    """
    from vendor_verifier.special_functions import betaincinv

    _check(successes, n)
    if n == 0:
        return Estimate(None, n=0, method="clopper-pearson", level=level)
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return Estimate(successes / n, low, high, round(n), "clopper-pearson", level)


def ratio(own: Estimate, other: Estimate) -> Estimate:
    """own ÷ other, both above 0 and measured apart, from their own intervals by the method of variance estimates
    recovery on the logarithms (Donner & Zou, Stat. Med. 2012): an open end leaves that side open."""
    method = "ratio of intervals"
    if not own.value or not other.value or min(own.value, other.value) <= 0:
        return Estimate(None, method=method, level=own.level)
    value = own.value / other.value

    def end(ours: float | None, theirs: float | None, sign: int) -> float | None:
        if not ours or not theirs or min(ours, theirs) <= 0:
            return None
        assert own.value is not None
        assert other.value is not None
        half = math.hypot(math.log(ours / own.value), math.log(theirs / other.value))
        return value * math.exp(sign * half)

    return Estimate(value, end(own.low, other.high, -1), end(own.high, other.low, 1), own.n, method, own.level)


def rule_of_three(n: int, level: float = LEVEL) -> float:
    """The most a rate can be, one-sided, when ``n`` trials showed none: 1 − (1 − level)^(1/n), about 3 ÷ n.

    Hanley & Lippman-Hand, JAMA 249, 1983.

    Raises:
        ValueError: ``n`` is below 1.
    """
    if n < 1:
        raise ValueError("nothing was tried")
    return float(-math.expm1(math.log1p(-level) / n))


def f1_interval(tp: float, fp: float, fn: float, level: float = LEVEL) -> Estimate:
    """Wilson on Jaccard: J = TP ÷ (TP + FP + FN) is a binomial share, and F1 = 2J ÷ (1 + J) rises with it.

    Covers 94.3–96.3 % for n = 50…2000, where the normal interval of F1 covers 86.5–95.5 %. Counts may be fractions
    where they are averages over runs.

    Raises:
        ValueError: a count is negative.
    """
    if min(tp, fp, fn) < 0:
        raise ValueError("counts are not negative")
    jaccard = wilson(tp, tp + fp + fn, level)
    if jaccard.value is None or jaccard.low is None or jaccard.high is None:
        return Estimate(None, n=0, method="wilson on jaccard", level=level)
    low, high = _f1_of(jaccard.low), _f1_of(jaccard.high)
    return Estimate(_f1_of(jaccard.value), low, high, jaccard.n, "wilson on jaccard", level)


def percentile_interval(
    values: Sequence[float], percent: float, level: float = LEVEL, *, in_order: bool = False
) -> Estimate:
    """The percentile (0–100) and the order statistics around it, for any distribution.

    The number of values below the true percentile is binomial(n, q): low = x₍l₎ with l = its α/2 quantile, high = x₍u₎
    with u = its 1−α/2 quantile + 1 (David & Nagaraja, Order Statistics, 2003, §7.1). A rank outside 1…n leaves that
    side open (``None``), as does an infinite value, which stands for a time-out. Values ``in_order`` stand as they were
    asked: where those above the percentile come in spells, the ranks are those of as many independent values as they
    are worth, spread over the n.

    Raises:
        ValueError: ``percent`` is not strictly between 0 and 100.
    """
    import numpy as np

    if not 0 < percent < 100:
        raise ValueError("a percentile lies strictly between 0 and 100")
    n = len(values)
    method = "order statistics"
    if not n:
        return Estimate(None, n=0, method=method, level=level)
    moments = np.asarray(values, dtype=np.float64)
    ordered = np.sort(moments)
    whole = _ranks(n, n, percent, level)
    # The limit that is asked about may lie anywhere in the interval, so the worst of its ends counts as well.
    asked = {ordered[min(max(rank, 1), n) - 1] for rank in (*whole, math.ceil(n * percent / 100))}
    worth = min(_worth(moments > limit) for limit in asked) if in_order else n
    low, high = whole if worth >= n else _ranks(n, max(1, math.floor(worth)), percent, level)
    return Estimate(
        _finite(_between(ordered.tolist(), percent)),
        _finite(float(ordered[low - 1])) if low >= 1 else None,
        _finite(float(ordered[high - 1])) if high <= n else None,
        n,
        method,
        level,
        None if worth >= n else worth,
    )


def _ranks(n: int, worth: int, percent: float, level: float) -> tuple[int, int]:
    """The ranks, of ``n``, of the ends of a percentile's interval, if they are worth so many independent values."""
    tail = (1 - level) / 2
    lower, upper = (_binomial_quantile(each, worth, percent / 100) for each in (tail, 1 - tail))
    if upper >= worth:
        return math.floor(lower * n / worth), n + 1
    return math.floor(lower * n / worth), math.ceil((upper + 1) * n / worth)


def _worth(is_above: NDArray[np.bool_]) -> float:
    """The number of independent values that decide as much as these, by which of them lie above a limit."""
    import numpy as np

    share = is_above.astype(np.float64)
    alike = dependence((share - share.mean()) / share.size, drift_level(share.size))
    return alike.effective(share.size) if alike.is_seen else share.size


def _binomial_quantile(share: float, n: int, chance: float) -> int:
    """The least count of ``n`` trials that no more than ``share`` of all draws stay below."""
    from vendor_verifier.special_functions import bdtr, bdtrik

    near = math.ceil(float(bdtrik(share, n, chance)))
    return near - 1 if near > 0 and bdtr(near - 1, n, chance) >= share else near


def normal_quantile(level: float) -> float:
    """z with P(|Z| ≤ z) = ``level``; 1.96 for 0.95."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _between(ordered: Sequence[float], percent: float) -> float:
    """Linear between closest ranks; infinite when the upper one it needs is, where a difference would be NaN."""
    needed = math.ceil((len(ordered) - 1) * percent / 100)
    return math.inf if math.isinf(ordered[needed]) else percentile(ordered, percent)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _f1_of(jaccard: float) -> float:
    return 2 * jaccard / (1 + jaccard)


def _check(successes: float, n: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} cannot be")


_WASTED, _WHOLE_COST = "wasted_per_1000_requests_usd", "cost_per_1000_requests_usd"
_RATES = frozenset({"success_rate", "first_attempt_success_rate", "schema_accuracy", TOOL_CALL_ERROR_RATE.name})


def estimate_of(panel: Panel, resampled: Resampled, label: str, metric: str, *, exact: bool = False) -> Estimate:
    """The figure with its 95 % interval; ``exact`` takes Clopper–Pearson for rates. ``resampled`` is widened already.

    Raises:
        ValueError: the label or metric is not in ``resampled``.
    """
    parts = panel.cells.get((label, metric), ())
    value = panel.value(label, metric)
    if value is None:
        return Estimate(None)
    units = max(int((part.denominators != 0).sum()) for part in parts)
    alike = panel.dependence(label, metric)
    effective = alike.effective(units) if alike is not None and alike.is_seen else None
    drawn = structs.replace(percentile_estimate(resampled, label, metric, units), effective=effective)
    if metric == _WASTED and value == 0:
        # No cost was wasted in n requests: by the rule of three up to 3 ÷ n of them may be, at the cost of a request.
        whole = panel.value(label, _WHOLE_COST)
        return structs.replace(
            drawn, high=None if whole is None else rule_of_three(units) * whole, method="rule of three"
        )
    if metric == "f1":
        both = sum(float(part.numerators.sum()) for part in parts) / 2 / len(parts)
        either = sum(float(part.denominators.sum()) for part in parts) / len(parts) - both
        closed = _around(f1_interval(both, either - both, 0.0), value)
        closed = structs.replace(closed, n=len(panel.samples))
    elif metric in _RATES:
        worth = units if effective is None else effective
        closed = (clopper_pearson if exact else wilson)(min(value * worth, worth), worth)
        closed = structs.replace(closed, value=value, n=units, effective=effective)
    else:
        return drawn
    return _union(closed, drawn) if resampled.blocks.size > 1 or effective is not None else closed


def estimates_of(panel: Panel, resampled: Resampled, *, exact: bool = False) -> dict[str, dict[str, Estimate]]:
    """Label → metric → estimate for everything in ``panel``."""
    resampled = resampled.widened()
    return {
        label: {metric: estimate_of(panel, resampled, label, metric, exact=exact) for metric in panel.metrics}
        for label in panel.labels
    }


def percentile_estimates(values: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    """``metric.p50`` … ``metric.p99`` → estimate, from the values of single requests in the order of sending.

    Infinity is a time-out.
    """
    return {
        f"{metric}.{percentile}": percentile_interval(column, float(percentile[1:]), in_order=True)
        for metric, column in values.items()
        for percentile in get_args(Percentile)
    }


def gap_to(
    panel: Panel, resampled: Resampled, label: str, baseline: str, metric: str, level: float = LEVEL
) -> Estimate:
    """The vendor's figure minus the baseline's own, paired by the resamples.

    Where no resample varies (both without a fault), the interval is that of two separate rates, since "no failure in
    ten" does not mean "never". For ``f1`` :mod:`vendor_verifier.stats.noise_floor` is sharper.
    """
    own, other = panel.value(label, metric), panel.value(baseline, metric)
    if own is None or other is None:
        return Estimate(None, method="paired bootstrap")
    row, base, column = panel.labels.index(label), panel.labels.index(baseline), panel.metrics.index(metric)
    draws = resampled.draws[:, row, column] - resampled.draws[:, base, column]
    found = structs.replace(spread(own - other, draws, len(panel.samples), level), method="paired bootstrap")
    if found.low != found.high:
        spectrum = apart(metric, (panel, label), (panel, baseline))
        return found if spectrum is None else _reaching(found, spectrum.judged(panel.level(metric)))
    return separate(*(estimate_of(panel, resampled, name, metric) for name in (label, baseline)))


def _reaching(found: Estimate, alike: Dependence) -> Estimate:
    """The interval, as wide at least as dependence asks for."""
    if not alike.is_seen or found.value is None or found.low is None or found.high is None:
        return found
    reach = alike.reach(normal_quantile(found.level))
    low, high = min(found.low, found.value - reach), max(found.high, found.value + reach)
    return structs.replace(found, low=low, high=high, effective=alike.effective(found.n))


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
    return structs.replace(estimate, value=value, low=min(estimate.low, value), high=max(estimate.high, value))


def _union(closed: Estimate, drawn: Estimate) -> Estimate:
    if drawn.low is None or drawn.high is None or closed.low is None or closed.high is None:
        return closed
    method = f"{closed.method}, blocks"
    return structs.replace(closed, low=min(closed.low, drawn.low), high=max(closed.high, drawn.high), method=method)
