"""Evidence over nights as an e-value, which stays sound however long one looks and whenever one stops.

A night's p-value becomes a factor with a mean of at most 1 under the null hypothesis, exp(μ·z − μ²/2) for
z = Φ⁻¹(1 − p) (a calibrator: Shafer, Vovk et al., Test martingales, Bayes factors and p-values, Stat. Sci. 26, 2011).
A product of such factors is a wealth that an honest vendor's nights do not make grow: by Ville's inequality it ever
reaches 1 ÷ α with a chance of at most α. How large a shift is, and with which night it begins, is not known, so the
wealth is spread in advance over several μ and over every first night k with weight 1 ÷ (k·(k + 1)); what is kept for
nights to come stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

_SHIFTS = (0.5, 1.0, 2.0, 3.0)
_LEAST_P = 1e-12


class Evidence(msgspec.Struct, frozen=True):
    """The evidence of ``nights`` p-values: ``e_value``, 1 for none, and the ``first`` night (index) from which on it
    comes most plausibly. The chance that an honest vendor's ever grows so large is at most 1 ÷ ``e_value``."""

    nights: int
    e_value: float
    first: int

    @property
    def chance(self) -> float:
        return min(1.0, 1 / self.e_value)


def evidence_over(p_values: Sequence[float]) -> Evidence:
    """The evidence of p-values in the order of their nights, each valid whatever the nights before it showed.

    Raises:
        ValueError: there are none, or one is not between 0 and 1.
    """
    import numpy as np
    from scipy.special import logsumexp, ndtri

    if not p_values or not all(0 <= each <= 1 for each in p_values):
        raise ValueError("evidence takes at least one p-value between 0 and 1")
    n = len(p_values)
    z = -ndtri(np.clip(np.asarray(p_values, dtype=np.float64), _LEAST_P, 1 - _LEAST_P))
    shifts = np.array(_SHIFTS)[:, None]
    gains = shifts * z - shifts**2 / 2
    # Row by shift, column by first night: the sum of the gains from that night to the newest.
    since = gains[:, ::-1].cumsum(axis=1)[:, ::-1]
    first = np.arange(1, n + 1)
    spread = since - np.log(first * (first + 1.0)) - math.log(len(_SHIFTS))
    by_night = logsumexp(spread, axis=0)
    whole = float(np.logaddexp(logsumexp(by_night), -math.log(n + 1)))
    return Evidence(n, math.exp(min(whole, 700.0)), int(np.argmax(by_night)))
