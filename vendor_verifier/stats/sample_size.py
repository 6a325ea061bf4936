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
    """The drop of F1 that ``n`` samples show at that level, by both tests that a verdict takes.

    The larger of :func:`f1_detectable_drop` and of what McNemar's test needs where the baseline never contradicts
    itself: without m of its π·n calls F1 drops by m ÷ (2πn − m).
    """
    missed, calls = _least_faults(level, power), prevalence * n
    by_count = missed / (2 * calls - missed) if calls > missed else 1.0
    return max(by_count, f1_detectable_drop(n, ceiling, prevalence, alpha=level, power=power))


def score_seen_drop(n: int, *, level: float, power: float = POWER) -> float:
    """The drop of an evaluation's score (0..1) that ``n`` samples show at that level, where the baseline makes no
    fault; 1 or more where they show none."""
    return _least_faults(level, power) / n


def _least_faults(level: float, power: float) -> float:
    """The expected number of faults, Poisson, that reaches with that power the ⌈log₂(1 ÷ level)⌉ of a sign test."""
    from scipy.special import gammaincinv

    return float(gammaincinv(math.ceil(math.log2(1 / level)), power))


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
