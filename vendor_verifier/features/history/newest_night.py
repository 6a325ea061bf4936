"""The distance of the newest night alone from those before it: an early warning, which proves nothing.

From eight runs on, the robust z = (x − median) ÷ (1.4826 · MAD) over the 20 runs before it (Iglewicz and Hoaglin, How
to Detect and Handle Outliers, 1993). Fewer nights say little of how much a figure moves by itself; there, their spread
is pooled with what is assumed before any night is known, one and a half times the least effect, at the weight of six
nights (a scaled inverse χ² prior; Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004, does so for many genes and few arrays).

The more series are judged at once, the more of them would warn by chance: the limit is what 0.01 ÷ their number leaves
of Student's t, with 8 degrees of freedom for the robust z, which is about how it falls on quiet nights, and never
below 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

# The runs from which on a newest one is warned of, itself included, and those of a robust z.
LEAST_WARNED, LEAST_ROBUST = 5, 8
_Z_RUNS = 20
_Z_ALARM = 3.0
_FAMILY_P_VALUE = 0.01
_Z_DEGREES = 8
_ASSUMED_EFFECTS, _ASSUMED_NIGHTS = 1.5, 6.0
# A median deviation is worth about so much of a night's standard deviation.
_MAD_EFFICIENCY = 0.35


def newest_z(values: Sequence[float], least_effect: float) -> float | None:
    """The z of the newest of the values, on their scale; None with fewer than five."""
    if len(values) < LEAST_WARNED:
        return None
    before = values[-1 - _Z_RUNS : -1]
    centre, spread = _centre(before)
    if len(values) >= LEAST_ROBUST:
        # The spread has a floor, as equal nights have none.
        return (values[-1] - centre) / max(spread, least_effect / _Z_ALARM)
    nights = _nights_known(len(before))
    pooled = _ASSUMED_NIGHTS * (_ASSUMED_EFFECTS * least_effect) ** 2
    pooled += nights * spread**2 * len(before) / (len(before) - 1)
    error = math.sqrt(pooled / (_ASSUMED_NIGHTS + nights) * (1 + math.pi / 2 / len(before)))
    return (values[-1] - centre) / error


def warning_limit(runs: int, series: int) -> float:
    """The z from which on the newest of so many runs is far off, where so many series are judged at once."""
    from vendor_verifier.special_functions import stdtrit

    degrees = _Z_DEGREES if runs >= LEAST_ROBUST else _ASSUMED_NIGHTS + _nights_known(runs - 1)
    return max(_Z_ALARM, -float(stdtrit(degrees, _FAMILY_P_VALUE / series)))


def _centre(values: Sequence[float]) -> tuple[float, float]:
    """The median, and the standard deviation that the median deviation from it stands for."""
    centre = median(values)
    return centre, 1.4826 * median(abs(value - centre) for value in values)


def _nights_known(before: int) -> float:
    return _MAD_EFFICIENCY * (before - 1)
