"""Power analysis: the sample size that shows a given drop, and the drop that a sample size shows, in closed form.

For 80 % power at 5 % (two-sided): (z₀.₉₇₅ + z₀.₈)² = 7.85. The formulas hold under "no difference" and are slightly
optimistic under one: in simulation add about 20 %.
"""

from __future__ import annotations

import math
from statistics import NormalDist

ALPHA, POWER = 0.05, 0.8


def f1_samples(drop: float, ceiling: float, prevalence: float, *, alpha: float = ALPHA, power: float = POWER) -> int:
    """Samples that show F1 ``drop`` below the baseline's self-F1 ``ceiling``.

    n = (z_α/2 + z_β)² · F(1−F)(2−F) ÷ (2π·drop²), where π is the share of samples with a call: the variance of one
    sample's influence on F1 is F(1−F)(2−F)/(2π), and vendor and ceiling share a reference, correlation about ½.

    Raises:
        ValueError: ``drop`` or ``prevalence`` is not in (0, 1], or ``ceiling`` not in [0, 1].
    """
    _share(drop, "drop")
    _share(prevalence, "prevalence")
    return math.ceil(_z2(alpha, power) * _f1_variance(ceiling, prevalence) / drop**2 - 1e-9)


def f1_detectable_drop(
    n: int, ceiling: float, prevalence: float, *, alpha: float = ALPHA, power: float = POWER
) -> float:
    """The smallest drop of F1 that ``n`` samples show: √((z_α/2 + z_β)² · F(1−F)(2−F) ÷ (2π·n)).

    Raises:
        ValueError: ``n`` is below 1, or a share is outside its range.
    """
    if n < 1:
        raise ValueError("a drop needs at least one sample")
    _share(prevalence, "prevalence")
    return math.sqrt(_z2(alpha, power) * _f1_variance(ceiling, prevalence) / n)


def f1_seen_drop(n: int, ceiling: float, prevalence: float, *, level: float, power: float = POWER) -> float:
    """The drop of F1 that ``n`` samples show at that level where calls are missed; 1 where they show none.

    By the harder of a verdict's two tests, McNemar's on excess disagreement. The baseline contradicts itself
    π·n·(1−F) times each way. A vendor that misses a share m of all samples disagrees m·n·(2F−1) times more, because
    half of its misses where the model is undecided go unseen, and its F1 is F·m ÷ (2π−m) lower.
    """
    undecided, clear = prevalence * n * (1 - ceiling), 2 * ceiling - 1
    if clear <= 0:
        return 1.0
    missed = _excess_seen(undecided, level, power) / clear / n
    return ceiling * missed / (2 * prevalence - missed) if missed < prevalence else 1.0


def score_seen_drop(n: int, *, error: float = 0.0, level: float, power: float = POWER) -> float:
    """The drop of an evaluation's score (0..1) that ``n`` samples show at that level; 1 or more where they show none.

    ``error`` is the standard error of the difference between two vendors without any: n²·error² samples on which they
    contradict each other, half of them each way.
    """
    return _excess_seen((n * error) ** 2 / 2, level, power) / n


def _excess_seen(noise: float, level: float, power: float) -> float:
    """The expected number of faults that reaches that level with that power, over ``noise`` faults on either side.

    Faults are Poisson. With j against it a vendor is beyond the level (two-sided) with at least i, where
    (i−j)² ≥ z²·(i+j); with none against it the sign test wants 2⁻ⁱ ≤ level as well.
    """
    import numpy as np
    from scipy.special import gammainc, pdtr

    z2 = NormalDist().inv_cdf(1 - level / 2) ** 2
    reach = 8 * math.sqrt(noise) + 8
    against = np.arange(max(0, math.floor(noise - reach)), math.ceil(noise + reach))
    chances = pdtr(against, noise) - np.where(against > 0, pdtr(against - 1, noise), 0.0)
    needed = against + np.ceil(z2 / 2 + np.sqrt(z2**2 / 4 + 2 * z2 * against))
    needed[against == 0] = math.ceil(max(z2, math.log2(1 / level)))

    def lacking(excess: float) -> float:
        return power - float(chances @ gammainc(needed, noise + excess))

    low, high = 0.0, 4 * z2 + 4 * math.sqrt(z2 * 2 * noise) + 8
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) > 0 else (low, middle)
    return high


def _f1_variance(ceiling: float, prevalence: float) -> float:
    if not 0 <= ceiling <= 1:
        raise ValueError("F1 lies between 0 and 1")
    return ceiling * (1 - ceiling) * (2 - ceiling) / (2 * prevalence)


def _z2(alpha: float, power: float) -> float:
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) ** 2


def _share(value: float, name: str) -> None:
    if not 0 < value <= 1:
        raise ValueError(f"{name} lies above 0 and at most at 1")
