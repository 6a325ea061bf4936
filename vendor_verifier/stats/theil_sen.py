"""A line through points that outliers do not move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist


def theil_sen(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> tuple[float, float, float, float]:
    """Slope, constant, and the slope's interval; NaN where so many tie that there is none.

    The interval is of ranks among the slopes, whose number of inversions has a known variance, less that of ties (Sen
    1968, (2.6)). As ``scipy.stats.theilslopes`` has it, which takes half a second to load. Work and memory grow with
    the square of the number of points.
    """
    import numpy as np

    across, up = np.array(x), np.array(y)
    apart = across[:, None] - across
    slopes = np.sort((up[:, None] - up)[apart > 0] / apart[apart > 0])
    slope, n = float(np.median(slopes)), len(across)

    def spread(count: int) -> int:
        return count * (count - 1) * (2 * count + 5)

    ties = sum(spread(count) for column in (across, up) for count in np.unique(column, return_counts=True)[1].tolist())
    variance = (spread(n) - ties) / 18
    if variance < 0:
        return slope, float(np.median(up - slope * across)), math.nan, math.nan
    reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    low = max(round((slopes.size - reach) / 2) - 1, 0)
    high = min(round((slopes.size + reach) / 2), slopes.size - 1)
    return slope, float(np.median(up - slope * across)), float(slopes[low]), float(slopes[high])
