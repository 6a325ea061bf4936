"""Power analysis of an evaluation's score: the drop that a number of samples shows, in closed form."""

from __future__ import annotations

import math
from statistics import NormalDist

_POWER = 0.8


def score_seen_drop(n: int, *, error: float = 0.0, level: float) -> float:
    """The drop of an evaluation's score (0..1) that ``n`` samples show at that level; 1 or more where they show none.

    ``error`` is the standard error of the difference between two vendors without any: n²·error² samples on which they
    contradict each other, half of them each way.
    """
    return _faults_seen((n * error) ** 2 / 2, level) / n


def _faults_seen(noise: float, level: float) -> float:
    """The expected number of faults that reaches that level with a power of 0.8, over ``noise`` faults on either side.

    Faults are Poisson. With j against it a vendor is beyond the level (two-sided) with at least i, where
    (i−j)² ≥ z²·(i+j); with none against it the sign test wants 2⁻ⁱ ≤ level as well.
    """
    import numpy as np

    from vendor_verifier.special_functions import gammainc, pdtr

    z2 = NormalDist().inv_cdf(1 - level / 2) ** 2
    reach = 8 * math.sqrt(noise) + 8
    against = np.arange(max(0, math.floor(noise - reach)), math.ceil(noise + reach))
    chances = pdtr(against, noise) - np.where(against > 0, pdtr(against - 1, noise), 0.0)
    needed = against + np.ceil(z2 / 2 + np.sqrt(z2**2 / 4 + 2 * z2 * against))
    needed[against == 0] = math.ceil(max(z2, math.log2(1 / level)))

    def lacking(excess: float) -> float:
        return _POWER - float(chances @ gammainc(needed, noise + excess))

    low, high = 0.0, 4 * z2 + 4 * math.sqrt(z2 * 2 * noise) + 8
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) > 0 else (low, middle)
    return high
