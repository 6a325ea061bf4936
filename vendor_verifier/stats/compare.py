"""Comparisons of a vendor with the baseline: a difference, its 95 % interval, a p-value and a count.

All p-values are one-sided: they ask whether the vendor is worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vendor_verifier.stats.intervals import wilson

WINDOWS = 12
LEAST_TIMES = 60
Floats = NDArray[np.float64]


class Comparison(NamedTuple):
    """``value`` is the difference (or ratio) with its 95 % interval, over ``n`` observations of the vendor."""

    p_value: float
    value: float
    low: float
    high: float
    n: int


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for being several, in their order (Holm 1979)."""
    corrected = [1.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(np.argsort(p_values, kind="stable").tolist()):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def more_often(hits: int, n: int, base_hits: int, base_n: int) -> Comparison:
    """Whether something happens more often at the vendor (Fisher's exact test, one-sided).

    The interval of the difference of shares is Newcombe's (1998, method 10), from two Wilson intervals.
    """
    table = [[hits, n - hits], [base_hits, base_n - base_hits]]
    p_value = float(scipy.stats.fisher_exact(table, alternative="greater").pvalue)
    own_low, own_high = wilson(hits, n)
    base_low, base_high = wilson(base_hits, base_n)
    own, base = hits / n, base_hits / base_n
    low = own - base - math.hypot(own - own_low, base_high - base)
    high = own - base + math.hypot(own_high - own, base - base_low)
    return Comparison(p_value, own - base, low, high, n)


def stretches(hit: NDArray[np.bool_], gap: int) -> int:
    """The number of groups of hits in sending order; hits at most ``gap`` places from the last one are in its group."""
    places = np.flatnonzero(hit)
    return int(places.size and 1 + np.count_nonzero(np.diff(places) > gap))


def more_stretches(groups: int, hits: int, n: int, base_groups: int, base_n: int) -> Comparison:
    """Whether a vendor has more groups of failures than the baseline (Przyborowski, Wilenski 1940).

    Given their sum, groups fall to the vendor as its share of the requests: an exact binomial test. The value is the
    share of requests hit; its interval is that of the groups (Garwood 1936) times their mean length.
    """
    p_value = float(scipy.stats.binom.sf(groups - 1, groups + base_groups, n / (n + base_n))) if groups else 1.0
    if not groups:
        return Comparison(p_value, 0.0, 0.0, float(scipy.stats.chi2.ppf(0.975, 2)) / 2 / n, n)
    length = hits / groups
    low = float(scipy.stats.chi2.ppf(0.025, 2 * groups)) / 2 * length / n
    high = float(scipy.stats.chi2.ppf(0.975, 2 * groups + 2)) / 2 * length / n
    return Comparison(p_value, hits / n, low, min(1.0, high), n)


def window_differences(
    sent: Floats, values: Floats, base_sent: Floats, base_values: Floats, least: int = LEAST_TIMES
) -> Floats | None:
    """Differences of the mean logarithm in equal windows of the time in which both were asked.

    None where either has fewer than ``least`` times, or fewer than half of the windows hold both.
    """
    windows = WINDOWS
    if min(values.size, base_values.size) < least:
        return None
    low, high = max(sent.min(), base_sent.min()), min(sent.max(), base_sent.max())
    edges = np.linspace(low, high, windows + 1)[1:-1]
    means = []
    for moments, times in ((sent, values), (base_sent, base_values)):
        common = (moments >= low) & (moments <= high)
        window = np.searchsorted(edges, moments[common])
        count = np.bincount(window, minlength=windows)
        total = np.bincount(window, np.log(times[common]), windows)
        means.append(np.divide(total, count, out=np.full(windows, np.nan), where=count > 0))
    differences = means[0] - means[1]
    differences = differences[np.isfinite(differences)]
    return differences if differences.size >= windows / 2 else None


def slower(differences: Floats, line: float) -> Comparison:
    """Whether the ratio of the times is above ``line`` (batch means, Schmeiser 1982).

    ``differences`` are mean log ratios of windows; their t-test asks about the line, not about 1. The value is the
    ratio.
    """
    n = differences.size
    mean, error = float(differences.mean()), max(float(differences.std(ddof=1)) / math.sqrt(n), 1e-9)
    p_value = float(scipy.stats.t.sf((mean - math.log(line)) / error, n - 1))
    margin = float(scipy.stats.t.ppf(0.975, n - 1)) * error
    return Comparison(p_value, math.exp(mean), math.exp(mean - margin), math.exp(mean + margin), n)


def paired(own: Floats, base: Floats) -> Comparison:
    """Whether a vendor scores lower than the baseline on the same samples; the value is own − base.

    Each value is a sample's mean over its repetitions (Miller 2024). Where all are 0 or 1 it is the sign test of the
    samples on which they differ (McNemar, exact), else the paired t-test.
    """
    difference = own - base
    n = difference.size
    mean = float(difference.mean())
    error = float(difference.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    margin = float(scipy.stats.t.ppf(0.975, max(1, n - 1))) * error
    if np.isin(own, (0.0, 1.0)).all() and np.isin(base, (0.0, 1.0)).all():
        lost, won = int(np.count_nonzero(difference < 0)), int(np.count_nonzero(difference > 0))
        p_value = float(scipy.stats.binom.sf(lost - 1, lost + won, 0.5)) if lost else 1.0
    elif error > 0:
        p_value = float(scipy.stats.t.cdf(mean / error, n - 1))
    else:
        p_value = 1.0
    return Comparison(p_value, mean, mean - margin, mean + margin, n)


def slope(x: Floats, y: Floats, line: float) -> Comparison:
    """Whether ``y`` grows with ``x`` faster than ``line`` (Kendall's test of y − line · x; slope by Theil and Sen)."""
    fit: Any = scipy.stats.theilslopes(y, x, 0.95)
    p_value = float(scipy.stats.kendalltau(x, y - line * x, alternative="greater").pvalue)
    return Comparison(p_value, float(fit[0]), float(fit[2]), float(fit[3]), x.size)


def correlated_more(x: Floats, y: Floats, base_x: Floats, base_y: Floats, line: float) -> Comparison:
    """Whether the rank correlation of ``x`` and ``y`` (Spearman) is above the baseline's by more than ``line``.

    Correlations are compared as Fisher's z, with 1.06 ÷ (n − 3) as its variance (Fieller, Hartley, Pearson 1957);
    ``line`` is in z. The value is the vendor's correlation.
    """
    z_values, variances = [], []
    for one, other in ((x, y), (base_x, base_y)):
        varies = one.size > 3 and np.ptp(one) > 0 and np.ptp(other) > 0
        rho = float(scipy.stats.spearmanr(one, other).statistic) if varies else 0.0
        z_values.append(math.atanh(max(-0.999, min(0.999, rho))))
        variances.append(1.06 / max(1, one.size - 3))
    p_value = float(scipy.stats.norm.sf((z_values[0] - z_values[1] - line) / math.sqrt(sum(variances))))
    margin = 1.96 * math.sqrt(variances[0])
    low, high = math.tanh(z_values[0] - margin), math.tanh(z_values[0] + margin)
    return Comparison(p_value, math.tanh(z_values[0]), low, high, x.size)
