"""95 % intervals: of shares, quantiles and sums over blocks, and of one vendor's requests in the order of sending."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from vendor_verifier.records.results import Figure

RESAMPLES = 2_000
_TAIL = 0.025
Floats = NDArray[np.float64]


def wilson(hits: float, n: float) -> tuple[float, float]:
    """The interval of a share (Wilson 1927); (0, 1) where nothing was counted. ``hits`` may be a fraction."""
    if not n:
        return 0.0, 1.0
    z = float(scipy.stats.norm.isf(_TAIL))
    share, scale = hits / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (0.0 if not hits else max(0.0, middle - half)), (1.0 if hits == n else min(1.0, middle + half))


def median_interval(values: Floats) -> tuple[float, float, float]:
    """The median of six values or more with the order statistics that enclose it (binomial, distribution-free)."""
    ordered = np.sort(values)
    low, high = scipy.stats.binom.ppf([_TAIL, 1 - _TAIL], ordered.size, 0.5).astype(int)
    return float(np.quantile(ordered, 0.5)), float(ordered[low - 1]), float(ordered[high])


def bootstrap(sums: Floats, statistic: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """The interval of a statistic of sums over blocks (Efron 1979, percentiles), with one draw of blocks for all.

    ``sums`` has a row a block; ``statistic`` takes rows of totals, shape (resamples, columns), and gives a value or a
    row of values for each. Vendors whose sums lie in columns of the same rows are compared in pairs that way.
    """
    rng = np.random.default_rng(0)
    blocks = sums.shape[0]
    found = statistic(rng.multinomial(blocks, np.full(blocks, 1 / blocks), RESAMPLES).astype(np.float64) @ sums)
    low, high = np.nanpercentile(found, [100 * _TAIL, 100 * (1 - _TAIL)], axis=0)
    return np.asarray(low), np.asarray(high)


# An outage or a slow spell of this many requests may have been missed by any run.
OUTAGE = 20
_PARTS, _LEAST_PART = 12, 5


def exact_interval(part: float, n: float) -> Figure:
    """The share part ÷ n with its exact interval (Clopper & Pearson 1934).

    ``part`` may be a sum of scores from 0 to 1: of all such variables with one mean a binary one varies most.
    """
    if not n:
        return Figure()
    low = scipy.stats.beta.ppf(_TAIL, part, n - part + 1) if part else 0.0
    high = scipy.stats.beta.ppf(1 - _TAIL, part + 1, n - part) if part < n else 1.0
    return Figure(part / n, float(low), float(high), round(n))


def stretch_interval(bad: pd.Series[Any]) -> Figure:
    """The share of bad requests with an interval by their stretches: at most one good request is between bad ones.

    A stretch is an event of a Poisson process whose weight w is its length. With y = Σ w and v = Σ w² the ends of y are
    v ÷ 2y · χ²(2y² ÷ v) and the same of y + m and v + m² (Fay & Feuer 1997), m being the longest stretch and ``OUTAGE``
    at least: the upper end is never below what one more outage allows. A stretch longer than an eighth of the run is
    cut into pieces of that length, so that a vendor that is down all the time shows that.
    """
    n, places = len(bad), np.flatnonzero(bad)
    if not n:
        return Figure()
    lengths = np.diff(np.flatnonzero(np.diff(places, prepend=-9, append=places[-1:].sum() + 9) > 2))
    most = max(OUTAGE, n // 8)
    pieces = np.append(lengths % most, np.full(int((lengths // most).sum()), most)).astype(float)
    y, v, longest = pieces.sum(), np.square(pieces).sum(), max(OUTAGE, pieces.max(initial=0))
    low = v / (2 * y) * scipy.stats.chi2.ppf(_TAIL, 2 * y**2 / v) if y else 0.0
    y_high, v_high = y + longest, v + longest**2
    high = v_high / (2 * y_high) * scipy.stats.chi2.ppf(1 - _TAIL, 2 * y_high**2 / v_high)
    return Figure(float(y) / n, float(low) / n, min(1.0, float(high) / n), n)


def mean_interval(above: pd.Series[float], below: pd.Series[float]) -> Figure:
    """Σ above ÷ Σ below with a t interval over twelve equal parts of the run; none below four parts of five requests.

    Batch means (Schmeiser 1982) of what each request adds to the ratio, so that slow spells count as what they are.
    """
    n, total = len(above), float(below.sum())
    parts = min(_PARTS, n // _LEAST_PART)
    if parts < 4 or not total:
        return Figure(n=n)
    ratio = float(above.sum()) / total
    added = (above - ratio * below).to_numpy(dtype=float) * n / total
    means = [part.mean() for part in np.array_split(added, parts)]
    half = float(scipy.stats.t.ppf(1 - _TAIL, parts - 1)) * float(np.std(means, ddof=1)) / math.sqrt(parts)
    return Figure(ratio, ratio - half, ratio + half, n)
