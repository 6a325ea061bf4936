"""Comparisons of a vendor with the baseline: a difference, its 95 % interval, a p-value and a count.

All p-values but that of ``sign_test`` are one-sided: they ask whether the vendor is worse. The powers at the end say
what these tests would find.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vendor_verifier.stats.intervals import wilson

WINDOWS = 12
LEAST_TIMES = 60
POWER = 0.8
# Numbers of samples and of points to choose from, where the least that is enough is asked for.
SIZES = (20, 40, 60, 80, 100, 125, 150, 200, 250, 315, 400, 500, 630, 800, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000)
_POINTS = tuple(points / 100 for points in range(1, 101))
_RUNS = 2_000
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
    order, steps = np.argsort(p_values, kind="stable"), np.arange(len(p_values), 0, -1)
    corrected = np.maximum.accumulate(np.sort(p_values) * steps).clip(max=1.0)
    return [float(corrected[rank]) for rank in np.argsort(order)]


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
    p_value = float(scipy.stats.binom.sf(groups - 1, groups + base_groups, n / (n + base_n)))
    length = hits / groups if groups else 1.0
    low = float(scipy.stats.chi2.ppf(0.025, 2 * groups)) / 2 * length / n if groups else 0.0
    high = float(scipy.stats.chi2.ppf(0.975, 2 * groups + 2)) / 2 * length / n
    return Comparison(p_value, hits / n, low, min(1.0, high), n)


def window_differences(
    sent: Floats, values: Floats, base_sent: Floats, base_values: Floats, least: int = LEAST_TIMES
) -> Floats | None:
    """Differences of the mean logarithm in equal windows of the time in which both were asked.

    None where either has fewer than ``least`` times, or fewer than half of the windows hold both.
    """
    if min(values.size, base_values.size) < least:
        return None
    low, high = max(sent.min(), base_sent.min()), min(sent.max(), base_sent.max())
    edges = np.linspace(low, high, WINDOWS + 1)[1:-1]
    means = []
    for moments, times in ((sent, values), (base_sent, base_values)):
        common = (moments >= low) & (moments <= high)
        window = np.searchsorted(edges, moments[common])
        count = np.bincount(window, minlength=WINDOWS)
        total = np.bincount(window, np.log(times[common]), WINDOWS)
        means.append(np.divide(total, count, out=np.full(WINDOWS, np.nan), where=count > 0))
    differences = means[0] - means[1]
    differences = differences[np.isfinite(differences)]
    return differences if differences.size >= WINDOWS / 2 else None


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

    Each value is a sample's mean over its repetitions (Miller 2024). Where all are 0 or 1, or differ by the same
    number, it is the sign test of the samples on which they differ (McNemar, exact), else the paired t-test.
    """
    difference = own - base
    n, mean = difference.size, float(difference.mean())
    error = float(difference.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    margin = float(scipy.stats.t.ppf(0.975, max(1, n - 1))) * error
    if error > 1e-12 and not np.isin([own, base], (0.0, 1.0)).all():
        p_value = float(scipy.stats.t.cdf(mean / error, n - 1))
    else:
        lost, won = int(np.count_nonzero(difference < 0)), int(np.count_nonzero(difference > 0))
        p_value = float(scipy.stats.binom.sf(lost - 1, lost + won, 0.5))
    return Comparison(p_value, mean, mean - margin, mean + margin, n)


def odd_one_out(own: NDArray[Any], one: NDArray[Any], other: NDArray[Any]) -> tuple[Comparison, int, int]:
    """Whether the vendor's answer is the odd one more often than a third of the time (exact binomial test).

    The value is the share of questions on which the vendor differs beyond the baseline's own noise, with a normal
    interval. Also gives how often the vendor's was the odd one, and how often one of the baseline's was.
    """
    n = own.size
    odd = int(np.count_nonzero((one == other) & (own != one)))
    noise = int(np.count_nonzero((one != other) & ((own == one) | (own == other))))
    p_value = float(scipy.stats.binom.sf(odd - 1, odd + noise, 1 / 3))
    value = (odd - noise / 2) / n
    margin = 1.96 * math.sqrt(max(odd + noise / 4, 1)) / n
    return Comparison(p_value, value, value - margin, value + margin, n), odd, noise


def sign_test(own: NDArray[Any], base: NDArray[Any]) -> Comparison:
    """Whether a vendor's yes-or-no decisions lean to one side of the baseline's single answers (McNemar, exact).

    Two-sided. The value is the share of questions by which one side outweighs the other.
    """
    n = own.size
    missed, extra = int(np.count_nonzero((base == 1) & (own == 0))), int(np.count_nonzero((base == 0) & (own == 1)))
    p_value = float(scipy.stats.binomtest(missed, missed + extra, 0.5).pvalue) if missed + extra else 1.0
    value = abs(missed - extra) / n
    margin = 1.96 * math.sqrt(max(missed + extra, 1)) / n
    return Comparison(p_value, value, value - margin, value + margin, n)


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


# Each power below is the chance that its test has a p-value of at most ``alpha``, given what the baseline shows and how
# much is planned. Counts are drawn 2,000 times with a fixed seed, so that equal questions get equal answers.


@lru_cache(maxsize=4096)
def odd_power(n: int, odd_share: float, other_share: float, alpha: float) -> float:
    """Of odd-one-out, where the vendor is the odd one on one share of the questions and the baseline on another."""
    rng = np.random.default_rng(2)
    odd, others = rng.binomial(n, odd_share, _RUNS), rng.binomial(n, other_share, _RUNS)
    return float(np.mean(scipy.stats.binom.sf(odd - 1, odd + others, 1 / 3) <= alpha))


@lru_cache(maxsize=4096)
def share_power(n: int, base_n: int, share: float, difference: float, alpha: float) -> float:
    """Of Fisher's test."""
    rng = np.random.default_rng(4)
    own, base = rng.binomial(n, min(1.0, share + difference), _RUNS), rng.binomial(base_n, share, _RUNS)
    return float(np.mean(scipy.stats.hypergeom.sf(own - 1, n + base_n, own + base, n) <= alpha))


@lru_cache(maxsize=4096)
def stretches_power(n: int, base_groups: int, base_n: int, gap: int, alpha: float, share: float) -> float:
    """Of the test on groups, where requests fail independently."""
    rng = np.random.default_rng(5)
    groups = rng.binomial(n, share * (1 - share) ** gap, _RUNS)
    return float(np.mean(scipy.stats.binom.sf(groups - 1, groups + base_groups, n / (n + base_n)) <= alpha))


@lru_cache(maxsize=4096)
def sign_power(n: int, discordant: float, difference: float, alpha: float) -> float:
    """Of the one-sided sign test, where a share ``discordant`` of the samples differs either way by chance."""
    rng = np.random.default_rng(6)
    lost = rng.binomial(n, min(1.0, discordant / 2 + difference), _RUNS)
    won = rng.binomial(n, discordant / 2, _RUNS)
    return float(np.mean(scipy.stats.binom.sf(lost - 1, lost + won, 0.5) <= alpha))


def slower_power(error: float, windows: int, line: float, alpha: float, ratio: float) -> float:
    """Of the t-test on windows with this standard error: the noncentral t distribution."""
    if error < 1e-6:
        return 1.0
    shift = (math.log(ratio) - math.log(line)) / error
    return float(scipy.stats.nct.sf(scipy.stats.t.isf(alpha, windows - 1), windows - 1, shift))


def smallest(power: Callable[[float], float], choice: Sequence[float] = _POINTS) -> float:
    """The smallest of these differences (in rising order) that is found in 8 of 10 cases; infinite where none is."""
    place = bisect_left(choice, True, key=lambda difference: power(difference) >= POWER)
    return choice[place] if place < len(choice) else math.inf


def needed_size(n: int, is_enough: Callable[[int], bool]) -> int | None:
    """The smallest of ``SIZES`` above ``n`` that is enough; None where none is."""
    return next((size for size in SIZES if size > n and is_enough(size)), None)
