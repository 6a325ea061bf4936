"""The drop of F1 that a run sees, by simulation of what a verdict really tests.

A sample calls with a chance p that is beta distributed, with the mean π (prevalence) and the self-F1 E[p²] ÷ E[p] that
are given; a vendor misses a share m of its calls, so that its F1 is F·m ÷ (2 − m) lower. Runs are drawn as counts of
the patterns of decisions over baseline and vendor, and each is put to both tests of a verdict: F1 against the ceiling
and excess disagreement (:mod:`vendor_verifier.stats.noise_floor`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POWER = 0.8
_RUNS, _SEED = 2000, 18
_STEPS, _MOST_SAMPLES = 16, 10_000_000
# Further repetitions of one side change little, and every one doubles the patterns.
_MOST_REPEATS = 3
_NEVER, _ALWAYS = 1e-9, 1e9


class TriggerDesign(msgspec.Struct, frozen=True):
    """The ground of a verdict on calls: the baseline's self-F1 ``ceiling``, the share ``prevalence`` of samples with a
    call, the ``level`` of error of one comparison, and how often baseline and vendor are asked each sample."""

    ceiling: float
    prevalence: float
    level: float
    baseline_runs: int = 2
    vendor_runs: int = 1

    def __post_init__(self) -> None:
        if not (0 <= self.ceiling <= 1 and 0 < self.prevalence <= 1 and 0 < self.level < 1):
            raise ValueError("F1 lies between 0 and 1; prevalence and level above 0 and at most at 1")
        if self.baseline_runs < 2 or self.vendor_runs < 1:
            raise ValueError("a ceiling takes two runs of the baseline, a comparison one of the vendor")


@lru_cache(maxsize=256)
def f1_seen_drop(n: int, design: TriggerDesign, power: float = POWER) -> float:
    """The drop of F1 (0..1) that ``n`` samples show with that power where calls are missed; 1 where they show none.

    Raises:
        ValueError: ``n`` is below 1.
    """
    if n < 1:
        raise ValueError("a drop needs at least one sample")
    missed = _least(lambda share: seen(share, n, design), 0.0, 1.0, power)
    return 1.0 if missed is None else design.ceiling * missed / (2 - missed)


@lru_cache(maxsize=64)
def f1_samples(drop: float, design: TriggerDesign, power: float = POWER) -> int | None:
    """The samples that show a drop of F1 (0..1) with that power; None where no number of them does.

    Raises:
        ValueError: ``drop`` is not above 0.
    """
    if drop <= 0:
        raise ValueError("drop lies above 0")
    missed = 2 * drop / (design.ceiling + drop)
    if missed > 1:
        return None
    found = _least(lambda size: seen(missed, round(math.exp(size)), design), 0.0, math.log(_MOST_SAMPLES), power)
    return None if found is None else math.ceil(math.exp(found))


def _least(power_of: Callable[[float], float], low: float, high: float, power: float) -> float | None:
    """The least argument between ``low`` and ``high`` that has the power, found by halving; None where none has."""
    if power_of(high) < power:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if power_of(middle) < power else (low, middle)
    return high


def seen(missed: float, n: int, design: TriggerDesign) -> float:
    """The share of simulated runs that prove a vendor worse which misses that share of its calls."""
    import numpy as np

    from vendor_verifier.special_functions import bdtrc, ndtri

    patterns = _patterns(min(design.baseline_runs, _MOST_REPEATS), min(design.vendor_runs, _MOST_REPEATS))
    rng = np.random.default_rng([_SEED, n])
    counts = rng.multinomial(n, _chances(patterns, missed, design), size=_RUNS)
    odd, unlike = counts[:, patterns.vendor_odd].sum(axis=1), counts[:, patterns.unlike].sum(axis=1)
    is_excess = bdtrc(odd - 1, unlike, 1 / 3) <= design.level
    delta, error = _delta(counts.astype(np.float64), patterns)
    return float((is_excess & (delta < 0) & (-delta >= -float(ndtri(design.level / 2)) * error)).mean())


class _Patterns(msgspec.Struct, frozen=True):
    """Every pattern of decisions: columns of the baseline's runs, then of the vendor's, True for a call."""

    calls: NDArray[np.bool_]
    baseline_runs: int

    @property
    def unlike(self) -> NDArray[np.bool_]:
        """Where the first two answers of the baseline and the vendor's first are not all alike."""
        wavering: NDArray[np.bool_] = self.calls[:, 0] != self.calls[:, 1]
        return self.vendor_odd | wavering

    @property
    def vendor_odd(self) -> NDArray[np.bool_]:
        one, two, own = self.calls[:, 0], self.calls[:, 1], self.calls[:, self.baseline_runs]
        odd: NDArray[np.bool_] = (one == two) & (own != one)
        return odd


@cache
def _patterns(baseline_runs: int, vendor_runs: int) -> _Patterns:
    import numpy as np

    return _Patterns(np.array(list(product((False, True), repeat=baseline_runs + vendor_runs))), baseline_runs)


def _chances(patterns: _Patterns, missed: float, design: TriggerDesign) -> NDArray[np.float64]:
    """The chance of every pattern: E[p^x (1−p)^y] of the beta distribution, where a vendor does not call with a chance
    of (1−p) + m·p."""
    import numpy as np

    spread = min(max((1 - design.ceiling) / max(design.ceiling - design.prevalence, _NEVER), _NEVER), _ALWAYS)
    yes, no = design.prevalence * spread, (1 - design.prevalence) * spread

    def moment(x: int, y: int) -> float:
        numerators = [yes + i for i in range(x)] + [no + i for i in range(y)]
        return math.prod(part / (spread + i) for i, part in enumerate(numerators))

    found = []
    for row in patterns.calls:
        x, own = int(row[: patterns.baseline_runs].sum()), row[patterns.baseline_runs :]
        y, made, silent = patterns.baseline_runs - x, int(own.sum()), int((~own).sum())
        terms = (
            math.comb(silent, i) * missed ** (silent - i) * moment(x + made + silent - i, y + i)
            for i in range(silent + 1)
        )
        found.append((1 - missed) ** made * math.fsum(terms))
    return np.array(found) / math.fsum(found)


def _delta(counts: NDArray[np.float64], patterns: _Patterns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Δ = F1 − ceiling of every run and its standard error, from counts of shape (runs, patterns)."""
    import numpy as np

    calls = patterns.calls
    baseline, vendor = range(patterns.baseline_runs), range(patterns.baseline_runs, calls.shape[1])
    n = counts.sum(axis=1)
    own, own_influence = _mean_f1(counts, calls, [(b, v) for b in baseline for v in vendor])
    ceiling, influence = _mean_f1(counts, calls, list(combinations(baseline, 2)))
    apart = own_influence - influence
    variance = (counts * np.square(apart)).sum(axis=1) / n - np.square((counts * apart).sum(axis=1) / n)
    return own - ceiling, np.sqrt(np.maximum(variance, 0.0) / np.maximum(n - 1, 1))


def _mean_f1(
    counts: NDArray[np.float64], calls: NDArray[np.bool_], pairs: list[tuple[int, int]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean F1 over pairs of columns for every run, and a sample's influence on it by run and pattern."""
    import numpy as np

    values, influences = np.zeros(len(counts)), np.zeros(counts.shape)
    for first, second in pairs:
        both = 2.0 * (calls[:, first] & calls[:, second])
        total = 1.0 * calls[:, first] + calls[:, second]
        denominator = np.maximum(counts @ total, _NEVER)
        value = counts @ both / denominator
        values += value
        influences += (both - value[:, None] * total) / denominator[:, None] * counts.sum(axis=1)[:, None]
    return values / len(pairs), influences / len(pairs)
