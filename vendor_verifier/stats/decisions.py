"""Odd-one-out tests of decisions and of call arguments, and the power of every test that a verdict rests on.

Of three answers to one question, two of them the baseline's, exactly two may be equal. Under one model each of the
three is the odd one in a third of these cases, whatever the question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from vendor_verifier.stats.compare import Comparison

POWER = 0.8
# Numbers of samples and of points to choose from, where the least that is enough is asked for.
SIZES = (20, 40, 60, 80, 100, 125, 150, 200, 250, 315, 400, 500, 630, 800, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000)
_POINTS = tuple(points / 100 for points in range(1, 101))
_RUNS = 2_000
Values = NDArray[Any]


def odd_one_out(own: Values, one: Values, other: Values) -> tuple[Comparison, int, int]:
    """Whether the vendor's answer is the odd one more often than a third of the time (exact binomial test).

    The value is the share of questions on which the vendor differs beyond the baseline's own noise, with a normal
    interval. Also gives how often the vendor's was the odd one, and how often one of the baseline's was.
    """
    n = own.size
    odd = int(np.count_nonzero((one == other) & (own != one)))
    noise = int(np.count_nonzero((one != other) & ((own == one) | (own == other))))
    p_value = float(scipy.stats.binom.sf(odd - 1, odd + noise, 1 / 3)) if odd else 1.0
    value = (odd - noise / 2) / n
    margin = 1.96 * math.sqrt(max(odd + noise / 4, 1)) / n
    return Comparison(p_value, value, value - margin, value + margin, n), odd, noise


def sign_test(own: Values, base: Values) -> Comparison:
    """Whether a vendor's yes-or-no decisions lean to one side of the baseline's single answers (McNemar, exact).

    Two-sided. The value is the share of questions by which one side outweighs the other.
    """
    n = own.size
    missed, extra = int(np.count_nonzero((base == 1) & (own == 0))), int(np.count_nonzero((base == 0) & (own == 1)))
    p_value = float(scipy.stats.binomtest(missed, missed + extra, 0.5).pvalue) if missed + extra else 1.0
    value = abs(missed - extra) / n
    margin = 1.96 * math.sqrt(max(missed + extra, 1)) / n
    return Comparison(p_value, value, value - margin, value + margin, n)


# Each power below is the chance that its test has a p-value of at most ``alpha``, given what the baseline shows and how
# much is planned. Counts are drawn 2,000 times with a fixed seed, so that equal questions get equal answers.


@lru_cache(maxsize=4096)
def odd_power(n: int, odd_share: float, other_share: float, alpha: float) -> float:
    """Of odd-one-out, where the vendor is the odd one on one share of the questions and the baseline on another."""
    rng = np.random.default_rng(2)
    odd, others = rng.binomial(n, odd_share, _RUNS), rng.binomial(n, other_share, _RUNS)
    return float(np.mean(scipy.stats.binom.sf(odd - 1, odd + others, 1 / 3) <= alpha))


@lru_cache(maxsize=4096)
def share_power(n: int, share: float, difference: float, alpha: float) -> float:
    """Of Fisher's test on ``n`` against 2 n."""
    rng = np.random.default_rng(4)
    own, base = rng.binomial(n, min(1.0, share + difference), _RUNS), rng.binomial(2 * n, share, _RUNS)
    return float(np.mean(scipy.stats.hypergeom.sf(own - 1, 3 * n, own + base, n) <= alpha))


@lru_cache(maxsize=4096)
def stretches_power(n: int, base_groups: int, base_n: int, gap: int, alpha: float, share: float) -> float:
    """Of the test on groups, where requests fail independently."""
    rng = np.random.default_rng(5)
    groups = rng.binomial(n, share * (1 - share) ** gap, _RUNS)
    return float(np.mean(scipy.stats.binom.sf(groups - 1, groups + base_groups, n / (n + base_n)) <= alpha))


@lru_cache(maxsize=4096)
def sign_power(n: int, discordant: float, difference: float, alpha: float) -> float:
    """Of the one-sided sign test, where a share ``discordant`` of the samples differs either way by chance."""
    rng = np.random.default_rng(6)
    lost = rng.binomial(n, min(1.0, discordant / 2 + difference), _RUNS)
    won = rng.binomial(n, discordant / 2, _RUNS)
    return float(np.mean(scipy.stats.binom.sf(lost - 1, lost + won, 0.5) <= alpha))


def slower_power(error: float, windows: int, line: float, alpha: float, ratio: float) -> float:
    """Of the t-test on windows with this standard error: the noncentral t distribution."""
    if error < 1e-6:
        return 1.0
    shift = (math.log(ratio) - math.log(line)) / error
    return float(scipy.stats.nct.sf(scipy.stats.t.isf(alpha, windows - 1), windows - 1, shift))


def smallest(power: Callable[[float], float], choice: Sequence[float] = _POINTS) -> float | None:
    """The smallest of these differences (in rising order) that is found in 8 of 10 cases; None where none is."""
    low, high = 0, len(choice)
    while low < high:
        middle = (low + high) // 2
        if power(choice[middle]) >= POWER:
            high = middle
        else:
            low = middle + 1
    return choice[low] if low < len(choice) else None


def needed_size(n: int, is_enough: Callable[[int], bool]) -> int | None:
    """The smallest of ``SIZES`` above ``n`` that is enough; None where none is."""
    return next((size for size in SIZES if size > n and is_enough(size)), None)
