"""The probe test: do two sides answer short questions, asked again and again, with the same frequencies?

p and q are the shares of a token among the answers of the vendor and of the baseline, pooled its share among both.

    T₁ = Σ over probes and tokens (p − q)²            precision: every logit a little off moves frequent answers most
    T₂ = Σ over probes and tokens (p − q)² ÷ pooled   a mixture: answers come that otherwise never came

Under one model, one sampling and one template it does not matter which side gave an answer, so both are held against
themselves with the answers of every probe dealt anew to both sides. Each is counted in standard deviations from its
mean under such dealing; of the level nine tenths are T₁'s and one tenth T₂'s, and what counts is the one that exceeds
its share by more. T₁ is the score test for independent noise of equal variance on all logits.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DRAWS = 10_000
_AT_ONCE, _ENOUGH = 1_000, 50
_POWER = 0.8
# Parts of the level for T1 and T2, and the normal quantiles that they are at 1 %.
_PARTS = (0.9, 0.1)
_YARDSTICKS = (2.366, 3.090)
# Shares of answers by another model that are tried, and how many runs are drawn of each.
_SHARES = tuple(step / 20 for step in range(1, 21))
_RUNS = 50
_LEAST_EACH = 2


class ProbeCounts(msgspec.Struct, frozen=True):
    """The answers to one probe: how often each token came, from the vendor (``own``) and from the baseline."""

    own: NDArray[np.int64]
    baseline: NDArray[np.int64]

    @property
    def both(self) -> NDArray[np.int64]:
        """The counts of each token from either side."""
        return self.own + self.baseline


class Unlikeness(msgspec.Struct, frozen=True):
    """The test over ``n`` answers of the vendor to ``probes`` probes: how far the further one of T₁ and T₂ is from
    chance, in standard deviations, and the p-value, which is one-sided because only unlikeness counts."""

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


def unlikeness(counts: Sequence[ProbeCounts], rng: np.random.Generator, draws: int = DRAWS) -> Unlikeness | None:
    """The test; None where every probe got one answer only, so that nothing can be told.

    The first draws give mean and standard deviation, further ones the p-value. Drawing ends early once ``_ENOUGH``
    draws are as unlike: the p-value is large then, and stays valid (Besag, Clifford 1991).
    """
    import numpy as np

    telling = [each for each in counts if each.both.size > 1]
    if not telling:
        return None
    first = _dealt(telling, rng, _AT_ONCE)
    mean, width = first.mean(axis=1, keepdims=True), np.maximum(first.std(axis=1, keepdims=True), 1e-12)
    whole = (sum(_unlike(each.own[None], each) for each in telling) - mean) / width
    score = float(_worst(whole)[0])
    as_far = done = 0
    while done < draws and as_far < _ENOUGH:
        dealt = _worst((_dealt(telling, rng, _AT_ONCE) - mean) / width)
        as_far += int(np.count_nonzero(dealt >= score - 1e-9))
        done += _AT_ONCE
    n = int(sum(each.own.sum() for each in counts))
    return Unlikeness(n, len(counts), float(whole.max()), (as_far + 1) / (done + 1))


def _worst(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of T₁ and T₂ in standard deviations, a row each, the one that is further beyond its yardstick."""
    import numpy as np

    found: NDArray[np.float64] = (z / np.array(_YARDSTICKS)[:, None]).max(axis=0)
    return found


def _dealt(counts: Sequence[ProbeCounts], rng: np.random.Generator, draws: int) -> NDArray[np.float64]:
    """T₁ and T₂, a row each, with the answers of every probe dealt anew so many times."""
    import numpy as np

    sums = np.zeros((len(_PARTS), draws))
    for each in counts:
        hands = rng.multivariate_hypergeometric(each.both, int(each.own.sum()), size=draws, method="marginals")
        sums += _unlike(hands, each)
    return sums


def _unlike(own: NDArray[np.int64], each: ProbeCounts) -> NDArray[np.float64]:
    """T₁ and T₂ of one probe, a row each, for every row of counts of one side."""
    import numpy as np

    both, mine = each.both, int(each.own.sum())
    theirs = int(both.sum()) - mine
    apart = np.square(own / mine - (both - own) / theirs)
    return np.stack([apart.sum(axis=1), (apart / (both / both.sum())).sum(axis=1)])


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
    # By run: T1 and T2, their means and their variances, summed over the probes.
    sums = np.sum([_mixed(each, share, rng) for each in counts], axis=0)
    z = (sums[:, 0] - sums[:, 1]) / np.sqrt(np.maximum(sums[:, 2], 1e-12))
    quantiles = np.array([_upper(level * part) for part in _PARTS])
    return float((z > quantiles).any(axis=1).mean())


def _mixed(each: ProbeCounts, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """T₁ and T₂ of one probe in runs with that share of another model's answers, their means and their variances under
    dealing anew: an array by run, by (value, mean, variance) and by statistic.

    The differences p − q have the covariance c · (diag(s) − s sᵀ), s the pooled shares, c = (1/m + 1/b) · n/(n − 1); of
    a quadratic form in them the mean is a trace and the variance, with many answers, twice that of the square. With
    rare tokens the variance is less, so that the power is not overstated.
    """
    import numpy as np

    usual = each.both / each.both.sum()
    mine, theirs = int(each.own.sum()), int(each.baseline.sum())
    n = mine + theirs
    scale = (1 / mine + 1 / theirs) * n / (n - 1)
    found = np.zeros((_RUNS, 3, len(_PARTS)))
    for run in range(_RUNS):
        mix = (1 - share) * usual + share * rng.permutation(usual)
        own, other = rng.multinomial(mine, mix), rng.multinomial(theirs, usual)
        seen = (own + other) > 0
        made = ProbeCounts(own[seen], other[seen])
        free = int(seen.sum()) - 1
        if not free:
            continue
        pooled = made.both / n
        square = float(np.square(pooled).sum())
        spread = square - 2 * float((pooled**3).sum()) + square**2
        found[run, 0] = _unlike(made.own[None], made)[:, 0]
        found[run, 1] = scale * (1 - square), scale * free
        found[run, 2] = 2 * scale**2 * spread, 2 * scale**2 * free
    return found


def _upper(level: float) -> float:
    """The normal quantile that is exceeded with this chance."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(1 - level) if 0 < level < 1 else math.inf
