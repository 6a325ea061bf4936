"""Changes of level in a series of nights, with the correlation of neighbouring nights taken into account.

Changes are E-divisive splits (Matteson and James, arXiv 1306.4933), kept by Student's t-test as in Hunter (Fleming et
al., ICPE 2023, arXiv 2301.03034) and by a least effect.

A slow week is one event, not seven: with a correlation of ρ between neighbouring nights the mean of m nights varies by
σ²·v(m), v(m) = [1 + 2·Σ (1 − k/m)·ρᵏ] ÷ m, and the t-test is widened by that. ρ is the upper bound of what is measured
within the levels of all vendors of a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

P_VALUE = 0.003
# A split that is not yet significant may become so once its neighbours are found.
_LAX_P_VALUE = 0.01
# One night can be anything; a level takes two.
LEAST_LEVEL = 2
_MOST_ALIKE = 0.95
Floats = NDArray[np.float64]


def change_points(
    values: Floats, *, least_effect: float, p_value: float = P_VALUE, correlation: float = 0.0
) -> list[int]:
    """The first index of every new level, in order.

    A change stays if the t-test between the levels on both of its sides has p < ``p_value`` and their means differ by
    at least ``least_effect``. ``values`` has shape (runs,).
    """
    points = sorted(_splits(values, 0, len(values)))
    while points:
        tests = [_change(*pair, least_effect, correlation) for pair in pairwise(np.split(values, points))]
        weakest = max(range(len(points)), key=tests.__getitem__)
        if tests[weakest] < p_value:
            break
        # Only the weakest goes: without it the levels next to it are longer and their tests stronger.
        del points[weakest]
    return points


def likeness(series: Iterable[Floats], bound: float) -> float:
    """The upper bound of the correlation between neighbouring nights of one level, over all ``series``; 0 … 0.95.

    ``bound`` is the normal quantile of its confidence; the standard error is 1 ÷ √n. Levels are cut wherever one may
    have begun; inside a level the correlation comes out too low by (1 + 3ρ) ÷ n, which is added (Marriott, Pope, 1954).
    """
    products = squares = 0.0
    n = count = 0
    for values in series:
        for part in np.split(values, sorted(_splits(values, 0, len(values)))):
            level = part - part.mean()
            products += float((level[1:] * level[:-1]).sum())
            squares += float((level**2).sum())
            count += 1
        n += len(values)
    if squares <= 1e-24:
        return 0.0
    unbiased = (products / squares * n + count) / max(n - 3 * count, n / 3)
    return min(max(unbiased + bound / math.sqrt(n), 0.0), _MOST_ALIKE)


def hodges_lehmann(before: Floats, after: Floats) -> float:
    """The median of all differences after − before (Hodges and Lehmann, Ann. Math. Stat. 34, 1963)."""
    return float(np.median(np.subtract.outer(after, before)))


def _splits(values: Floats, start: int, end: int) -> list[int]:
    if end - start < 2 * LEAST_LEVEL:
        return []
    split = start + _best_split(values[start:end])
    if _t_test(values[start:split], values[split:end])[0] >= _LAX_P_VALUE:
        return []
    return [split, *_splits(values, start, split), *_splits(values, split, end)]


def _best_split(values: Floats) -> int:
    """The split with the greatest energy distance between its sides, q = ml ÷ (m + l) · E(X, Y)."""
    n = len(values)
    distances = np.abs(np.subtract.outer(values, values))
    sums = distances.cumsum(axis=0).cumsum(axis=1)
    m = np.arange(LEAST_LEVEL, n - LEAST_LEVEL + 1)
    left, right = m.astype(float), n - m.astype(float)
    inside_left, up_to = sums[m - 1, m - 1], sums[m - 1, n - 1]
    inside_right = sums[n - 1, n - 1] - 2 * up_to + inside_left
    energy = (
        2 * (up_to - inside_left) / (left * right)
        - inside_left / (left * (left - 1))
        - inside_right / (right * (right - 1))
    )
    return int(m[np.argmax(left * right / n * energy)])


def _change(before: Floats, after: Floats, least_effect: float, correlation: float) -> float:
    """p of the change between two levels; 1 if it is too small, or rests on one run only.

    Each run of a level of two must show the least effect, and a third of the whole: one outlier is no level.
    """
    p_value, effect = _t_test(before, after, correlation)
    is_change = abs(effect) >= least_effect
    sign, shown = math.copysign(1, effect), max(least_effect, abs(effect) / 3)
    for level, moved in ((after, sign * (after - np.median(before))), (before, sign * (np.median(after) - before))):
        is_change = is_change and (len(level) > LEAST_LEVEL or moved.min() >= shown)
    return p_value if is_change else 1.0


def _t_test(before: Floats, after: Floats, correlation: float = 0.0) -> tuple[float, float]:
    """Two-sided p of Student's t-test with pooled variance, and the difference of means after − before.

    With a correlation of ``correlation`` between neighbours the means vary by v(m), and the squares are worth
    (1 − ρ²) ÷ (1 + ρ²) as many degrees of freedom (Bartlett, J. Roy. Stat. Soc. 98, 1935).
    """
    effect = float(after.mean() - before.mean())
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    if squares <= 1e-24:
        return (1.0 if effect == 0 else 0.0), effect
    # v(m) of both levels.
    spread = [
        (1 + 2 * sum((1 - k / n) * correlation**k for k in range(1, n) if correlation**k > 1e-6)) / n
        for n in (len(before), len(after))
    ]
    free = sum(len(level) * (1 - own) for level, own in zip((before, after), spread, strict=True))
    error = math.sqrt(squares / free * sum(spread))
    degrees = max(1.0, free * (1 - correlation**2) / (1 + correlation**2))
    return float(2 * stdtr(degrees, -abs(effect) / error)), effect
