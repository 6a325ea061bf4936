"""The log-probability test: do two sides state the same probabilities for the first token of their answers?

x is what one answer states for one token. Of every probe the means of both sides are compared, token by token:

    Q = Σ over tokens (mean of x of the vendor − mean of x of the baseline)²        T = Σ over probes Q ÷ E(Q)

E(Q) is the mean of Q where the answers of the probe are dealt to both sides anew, so that a probe whose numbers jitter
counts no more than one whose numbers stand still. Under one model on one stack it does not matter which side stated a
number: T is held against itself with all answers dealt anew within their probes. What kernels and batching do to the
numbers of an honest host is in both sides alike; see ``LEAST_SHIFT`` for what other hardware does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Nats that say nothing: bfloat16 has 8 significant bits, so that a logit from 16 to 32 is off by up to 0.0625, with a
# standard deviation of 0.036, and two kernels that round otherwise differ by 0.05.
LEAST_SHIFT = 0.05
DRAWS = 10_000
_AT_ONCE, _ENOUGH = 1_000, 50
_LEAST_EACH = 2
# Less likely than e to the power of it, hosts state anything (OpenAI: −9999).
_FLOOR = -20.0
_STILL = 1e-12
_POWER, _LEVEL = 0.8, 0.01

Listed = Mapping[str, float]
"""Log-probabilities by token, as one answer states them."""


class StatedLogprobs(msgspec.Struct, frozen=True):
    """The answers to one probe: a row each, a column a token, from the vendor (``own``) and from the baseline."""

    own: NDArray[np.float64]
    baseline: NDArray[np.float64]


class Shift(msgspec.Struct, frozen=True):
    """The test over ``n`` answers of the vendor to ``probes`` probes.

    ``z``: how far T is from its mean by chance, in standard deviations; ``p_value`` is one-sided. ``nats`` is the root
    mean square of the differences between both sides' means, what chance alone adds taken off; ``seen`` is the one that
    would be found at 1 % in 8 of 10 such runs, if no less than ``LEAST_SHIFT``.
    """

    n: int
    probes: int
    z: float
    p_value: float
    nats: float
    seen: float


def tabled(own: Mapping[str, Sequence[Listed]], baseline: Mapping[str, Sequence[Listed]]) -> list[StatedLogprobs]:
    """The tables of all probes that both sides answered at least twice, over the tokens that half of all answers list.

    Where an answer does not list one of them, it is as likely as the last that it lists, at most.
    """
    import numpy as np

    found = []
    for probe in sorted(own.keys() & baseline.keys()):
        mine, theirs = ([each for each in side[probe] if each] for side in (own, baseline))
        if min(len(mine), len(theirs)) < _LEAST_EACH:
            continue
        times = Counter(token for each in (*mine, *theirs) for token in each)
        tokens = [token for token, count in times.items() if 2 * count >= len(mine) + len(theirs)]
        if tokens:
            sides = (np.array([_row(each, tokens) for each in side]) for side in (mine, theirs))
            found.append(StatedLogprobs(*sides))
    return found


def _row(listed: Listed, tokens: Sequence[str]) -> list[float]:
    last = min(listed.values())
    return [min(0.0, max(_FLOOR, listed.get(token, last))) for token in tokens]


def shift(tables: Sequence[StatedLogprobs], rng: np.random.Generator, draws: int = DRAWS) -> Shift:
    """The test. Drawing ends early once ``_ENOUGH`` draws are as far apart (Besag, Clifford 1991).

    Where every answer states the same numbers nothing differs: the p-value is 1.
    """
    import numpy as np

    n = sum(len(each.own) for each in tables)
    telling = [each for each in tables if _expected(each) > _STILL]
    if not telling:
        return Shift(n, len(tables), 0.0, 1.0, 0.0, LEAST_SHIFT)
    whole = sum(float(_apart(each.own.sum(axis=0)[None], each)[0]) / _expected(each) for each in telling)
    first = _dealt(telling, rng)
    mean, width = float(first.mean()), max(float(first.std()), _STILL)
    as_far = done = 0
    while done < draws and as_far < _ENOUGH:
        as_far += int(np.count_nonzero(_dealt(telling, rng) >= whole - 1e-9))
        done += _AT_ONCE
    far = float(np.quantile(first, 1 - _LEVEL)) - mean
    return Shift(
        n, len(tables), (whole - mean) / width, (as_far + 1) / (done + 1), _nats(tables), _seen(telling, far, width)
    )


def _dealt(tables: Sequence[StatedLogprobs], rng: np.random.Generator) -> NDArray[np.float64]:
    """T with the answers of every probe dealt anew so many times."""
    import numpy as np

    total = np.zeros(_AT_ONCE)
    for each in tables:
        both = np.concatenate([each.own, each.baseline])
        lots = rng.random((_AT_ONCE, len(both)))
        last = np.partition(lots, len(each.own) - 1, axis=1)[:, len(each.own) - 1 : len(each.own)]
        hands = (lots <= last).astype(np.float64)
        total += _apart(hands @ both, each) / _expected(each)
    return total


def _apart(sums: NDArray[np.float64], each: StatedLogprobs) -> NDArray[np.float64]:
    """Q of one probe for every row of sums over one side's answers."""
    import numpy as np

    both = each.own.sum(axis=0) + each.baseline.sum(axis=0)
    apart: NDArray[np.float64] = np.square(sums / len(each.own) - (both - sums) / len(each.baseline)).sum(axis=1)
    return apart


def _expected(each: StatedLogprobs) -> float:
    """E(Q) under dealing anew."""
    import numpy as np

    spread = np.concatenate([each.own, each.baseline]).var(axis=0, ddof=1).sum()
    return float(spread) * (1 / len(each.own) + 1 / len(each.baseline))


def _nats(tables: Sequence[StatedLogprobs]) -> float:
    """The root mean square difference of means over all tokens, without the variance of these means."""
    import numpy as np

    squares = [
        np.square(each.own.mean(axis=0) - each.baseline.mean(axis=0))
        - each.own.var(axis=0, ddof=1) / len(each.own)
        - each.baseline.var(axis=0, ddof=1) / len(each.baseline)
        for each in tables
    ]
    return math.sqrt(max(0.0, float(np.concatenate(squares).mean())))


def _seen(tables: Sequence[StatedLogprobs], far: float, width: float) -> float:
    """The shift that raises T by ``far``, beyond chance, and by as many of its own deviations more as the power takes.

    δ nats on every token add tokens · δ² to Q, and less to E(Q); such a shifted Q varies by more the larger it is.
    """
    raised = far
    for _ in range(20):
        raised = far + NormalDist().inv_cdf(_POWER) * width * math.sqrt(1 + 2 * raised / len(tables))
    gains = sum(each.own.shape[1] / _expected(each) for each in tables)
    answers = min(len(each.own) + len(each.baseline) for each in tables)
    return max(LEAST_SHIFT, math.sqrt(raised / gains * (answers - 1) / (answers - 2)))
