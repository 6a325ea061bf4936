"""The answers test: of a vendor's answer and two of the baseline's to one question, is the vendor's the odd one?

Were all three given by one model under one sampling, any of them would be the odd one equally often (they are
exchangeable). s(x, y) is the share of equal characters by position; the leaning of x away from the others y, z is
d_x = s(y, z) − (s(x, y) + s(x, z)) ÷ 2. Σ w · d of the vendor is held against what it would be with the labels drawn
anew: below ``FEW`` questions on which answers differ by drawing them, else by the normal distribution of
Z = Σ w · d_v ÷ √Σ w² · mean(d²), corrected for its skewness (Hall 1992). The weight w = mean(d²)^−¼ of a question does
not depend on the labels; with it answers that part early do not drown those that part late. Positive: unlike the
baseline. Negative: nearer to it than it is to itself, as colder sampling or copied answers are. Of the error
``UNLIKE_SHARE`` is spent on the positive side, where differences are fainter.

A two-sample test of the kind of Gao, Liang, Guestrin 2024 (Model Equality Testing), paired by question, with the
Hamming similarity as its kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

MOST_CHARACTERS = 1_000
LEAST = 10
LEAST_FOUND = 20
FEW = 100
DRAWS = 20_000
UNLIKE_SHARE = 0.8
_POWER = 0.8
# By how much the weights sharpen the test.
_WEIGHTING = 1.4


class Leaning(msgspec.Struct, frozen=True):
    """The test's result over ``n`` questions: ``z`` > 0 where the vendor is the odd one; ``p_value`` of both sides."""

    n: int
    z: float
    p_value: float


def similarity(one: str, other: str) -> float:
    """The share of equal characters by position, over the longer text's beginning; 1 where both are empty."""
    first, second = (
        np.frombuffer(text[:MOST_CHARACTERS].encode("utf-32-le", "surrogatepass"), np.uint32) for text in (one, other)
    )
    longest, shortest = max(first.size, second.size), min(first.size, second.size)
    return float(np.count_nonzero(first[:shortest] == second[:shortest])) / longest if longest else 1.0


def leanings(triples: Sequence[tuple[str, str, str]]) -> NDArray[np.float64]:
    """Rows (d_v, d_a, d_b) of every triple of answers: the vendor's, then the baseline's two."""
    found = np.empty((len(triples), 3))
    for row, (own, one, other) in enumerate(triples):
        with_one, with_other, base = similarity(own, one), similarity(own, other), similarity(one, other)
        found[row] = (
            base - (with_one + with_other) / 2,
            with_other - (base + with_one) / 2,
            with_one - (base + with_other) / 2,
        )
    return found


def odd_one_out(found: NDArray[np.float64], rng: np.random.Generator) -> Leaning | None:
    """The test over rows of :func:`leanings`; None where all answers agree throughout, so nothing can be tested."""
    squares = np.square(found).mean(axis=1)
    differing = squares > 1e-12
    if not differing.any():
        return None
    weighted = found[differing] * squares[differing, None] ** -0.25
    scale = math.sqrt(float(np.square(weighted).mean(axis=1).sum()))
    whole = float(weighted[:, 0].sum())
    z = whole / scale
    if weighted.shape[0] >= FEW:
        skewness = float((weighted**3).mean(axis=1).sum()) / scale**3
        corrected = z - skewness * (z * z - 1) / 6
        one_sided = math.erfc((corrected if z >= 0 else -corrected) / math.sqrt(2)) / 2
    else:
        drawn = weighted[np.arange(weighted.shape[0]), rng.integers(0, 3, (DRAWS, weighted.shape[0]))].sum(axis=1)
        as_far = np.count_nonzero(drawn >= whole - 1e-9 if z >= 0 else drawn <= whole + 1e-9)
        one_sided = (int(as_far) + 1) / (DRAWS + 1)
    return Leaning(found.shape[0], z, min(1.0, one_sided / (UNLIKE_SHARE if z >= 0 else 1 - UNLIKE_SHARE)))


def reach(agreement: NDArray[np.float64], level: float, n: int) -> float:
    """The share of ``n`` answers by another model that is found in 8 of 10 cases, from the baseline's agreement with
    itself.

    (z₁₋share·level + z₀.₈) · √(1.5 · var s ÷ n) ÷ (mean s ÷ 2): two models are taken to agree half as much as one with
    itself, as real hosts of one model did in the worst case. Above 1 not even a whole substitute is sure to be found.
    It is never below ``LEAST_FOUND`` answers: where the baseline's agreement hardly varies the formula promises too
    much.
    """
    if not agreement.any():
        return math.inf
    mean = float(agreement.mean())
    normal = NormalDist()
    distance = normal.inv_cdf(1 - UNLIKE_SHARE * level) + normal.inv_cdf(_POWER)
    share = distance * math.sqrt(1.5 * float(np.var(agreement)) / n) / _WEIGHTING / (mean / 2)
    return max(share, LEAST_FOUND / n)
