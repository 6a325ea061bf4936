"""The probe test: do two sides answer short questions, asked again and again, with the same frequencies?

T = Σ over probes and tokens (p − q)² ÷ pooled, where p and q are the shares of a token among the answers of the vendor
and of the baseline, and pooled its share among both. Under one model, one sampling and one template it does not matter
which side gave an answer, so T is held against T with the answers of every probe dealt anew to both sides.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DRAWS = 10_000
_AT_ONCE, _ENOUGH = 1_000, 50
_POWER = 0.8
# Shares of answers by another model that are tried, and how many runs are drawn of each.
_SHARES = tuple(step / 20 for step in range(1, 21))
_RUNS = 50
_LEAST_EACH = 2


@dataclass(frozen=True, slots=True)
class ProbeCounts:
    """The answers to one probe: how often each token came, from the vendor (``own``) and from the baseline."""

    own: NDArray[np.int64]
    baseline: NDArray[np.int64]

    @property
    def both(self) -> NDArray[np.int64]:
        """The counts of each token from either side."""
        return self.own + self.baseline


@dataclass(frozen=True, slots=True)
class Unlikeness:
    """The statistic over ``n`` answers of the vendor to ``probes`` probes, its distance from chance in standard
    deviations, and its p-value, which is one-sided because only unlikeness counts."""

    n: int
    probes: int
    z: float
    p_value: float


def counted(own: Mapping[str, Sequence[Hashable]], baseline: Mapping[str, Sequence[Hashable]]) -> list[ProbeCounts]:
    """The counts of all probes that both sides answered at least twice, by probe and answers of each side."""
    import numpy as np

    found = []
    for probe in sorted(own.keys() & baseline.keys()):
        if min(len(own[probe]), len(baseline[probe])) < _LEAST_EACH:
            continue
        tokens = {token: place for place, token in enumerate(dict.fromkeys([*own[probe], *baseline[probe]]))}
        sides = (
            np.bincount([tokens[token] for token in side], minlength=len(tokens)).astype(np.int64)
            for side in (own[probe], baseline[probe])
        )
        found.append(ProbeCounts(*sides))
    return found


def unlikeness(counts: Sequence[ProbeCounts], rng: np.random.Generator) -> Unlikeness | None:
    """The test; None where every probe got one answer only, so that nothing can be told.

    Drawing ends early once ``_ENOUGH`` draws are as unlike: the p-value is large then, and stays valid (Besag,
    Clifford 1991).
    """
    import numpy as np

    telling = [each for each in counts if each.both.size > 1]
    if not telling:
        return None
    whole = sum(float(_unlike(each.own[None], each)[0]) for each in telling)
    drawn: list[NDArray[np.float64]] = []
    as_far = done = 0
    while done < DRAWS and as_far < _ENOUGH:
        drawn.append(_dealt(telling, rng, _AT_ONCE))
        as_far += int(np.count_nonzero(drawn[-1] >= whole - 1e-9))
        done += _AT_ONCE
    chance = np.concatenate(drawn)
    z = (whole - float(chance.mean())) / max(float(chance.std()), 1e-12)
    return Unlikeness(int(sum(each.own.sum() for each in counts)), len(counts), z, (as_far + 1) / (done + 1))


def _dealt(counts: Sequence[ProbeCounts], rng: np.random.Generator, draws: int) -> NDArray[np.float64]:
    """T with the answers of every probe dealt anew, so many times."""
    import numpy as np

    sums = np.zeros(draws)
    for each in counts:
        hands = rng.multivariate_hypergeometric(each.both, int(each.own.sum()), size=draws, method="marginals")
        sums += _unlike(hands, each)
    return sums


def _unlike(own: NDArray[np.int64], each: ProbeCounts) -> NDArray[np.float64]:
    """Σ (p − q)² ÷ pooled of one probe, for every row of counts of one side."""
    import numpy as np

    both, mine = each.both, int(each.own.sum())
    theirs = int(both.sum()) - mine
    apart = own / mine - (both - own) / theirs
    found: NDArray[np.float64] = (np.square(apart) / (both / both.sum())).sum(axis=1)
    return found


def seen_mixture(counts: Sequence[ProbeCounts], level: float, rng: np.random.Generator) -> float | None:
    """The least share of answers by another model that such a run shows with a power of 0.8; None where none does.

    Drawn from the run's own data: the answers of both sides are what the model says, and the other model is taken to
    say the same words with the same frequencies dealt to other words.
    """
    from bisect import bisect_left

    telling = [each for each in counts if each.both.size > 1]
    place = bisect_left(_SHARES, _POWER, key=lambda share: _power(telling, share, level, rng))
    return _SHARES[place] if place < len(_SHARES) else None


def _power(counts: Sequence[ProbeCounts], share: float, level: float, rng: np.random.Generator) -> float:
    import numpy as np

    if not counts:
        return 0.0
    sums, means, variances = np.zeros(_RUNS), np.zeros(_RUNS), np.zeros(_RUNS)
    for each in counts:
        for run, (value, mean, variance) in enumerate(_mixed(each, share, rng)):
            sums[run] += value
            means[run] += mean
            variances[run] += variance
    z = (sums - means) / np.sqrt(np.maximum(variances, 1e-12))
    return float((z > _upper(level)).mean())


def _mixed(each: ProbeCounts, share: float, rng: np.random.Generator) -> Iterator[tuple[float, float, float]]:
    """(T, its mean, its variance under dealing anew) of one probe in runs with that share of another model's answers.

    Mean and variance are those of chi-squared with one degree of freedom less than there are tokens; with rare tokens
    the variance is less, so that the power is not overstated.
    """

    usual = each.both / each.both.sum()
    mine, theirs = int(each.own.sum()), int(each.baseline.sum())
    scale = 1 / mine + 1 / theirs
    for _ in range(_RUNS):
        mix = (1 - share) * usual + share * rng.permutation(usual)
        own, other = rng.multinomial(mine, mix), rng.multinomial(theirs, usual)
        seen = (own + other) > 0
        made = ProbeCounts(own[seen], other[seen])
        free = int(seen.sum()) - 1
        value = float(_unlike(made.own[None], made)[0]) if free else 0.0
        n = mine + theirs
        yield value, scale * free * n / (n - 1), 2 * scale**2 * free


def _upper(level: float) -> float:
    """The normal quantile that is exceeded with this chance."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(1 - level) if 0 < level < 1 else math.inf
