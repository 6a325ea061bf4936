"""95 % intervals of shares, of quantiles, and of whatever is computed from sums over blocks of samples."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

RESAMPLES = 2_000
LEVEL = 0.95
_AT_ONCE = 200
Floats = NDArray[np.float64]


def wilson(hits: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """The interval of a share (Wilson 1927); (0, 1) where nothing was counted. ``hits`` may be a fraction."""
    if not n:
        return 0.0, 1.0
    z = float(scipy.stats.norm.isf((1 - level) / 2))
    share, scale = hits / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (0.0 if not hits else max(0.0, middle - half)), (1.0 if hits == n else min(1.0, middle + half))


def quantile(values: Floats, q: float, level: float = LEVEL) -> tuple[float, float, float]:
    """A quantile and the order statistics that enclose it (binomial, distribution-free).

    An end is infinite where so few values cannot enclose it. ``values`` need not be sorted, and hold no NaN.
    """
    ordered = np.sort(values)
    n = ordered.size
    if not n:
        return math.nan, -math.inf, math.inf
    tail = (1 - level) / 2
    low, high = int(scipy.stats.binom.ppf(tail, n, q)), int(scipy.stats.binom.ppf(1 - tail, n, q)) + 1
    below = float(ordered[low - 1]) if low >= 1 else -math.inf
    above = float(ordered[high - 1]) if high <= n else math.inf
    return float(np.quantile(ordered, q)), below, above


def bootstrap(
    sums: Floats, statistic: Callable[[Floats], Floats], seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Floats, Floats]:
    """The interval of a statistic of sums over blocks (Efron 1979, percentiles), with one draw of blocks for all.

    ``sums`` has a row a block; ``statistic`` takes rows of totals, shape (resamples, columns), and gives a value or a
    row of values for each. Vendors whose sums lie in columns of the same rows are compared in pairs that way.
    """
    rng = np.random.default_rng(seed)
    blocks = sums.shape[0]
    totals = []
    for _ in range(0, resamples, _AT_ONCE):
        weights = rng.multinomial(blocks, np.full(blocks, 1 / blocks), _AT_ONCE).astype(np.float64)
        totals.append(weights @ sums)
    found = statistic(np.concatenate(totals)[:resamples])
    low, high = np.nanpercentile(found, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], axis=0)
    return np.asarray(low), np.asarray(high)
