"""A permutation test of two groups whose labels were drawn: are the values of the first one larger?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

DRAWS = 10_000
_AT_ONCE, _ENOUGH = 1_000, 100


def larger_in_first(first: Sequence[float], second: Sequence[float], rng: np.random.Generator) -> float:
    """The share of random labellings in which the first group's sum is as large, the labelling itself counted in.

    Drawing ends early once ``_ENOUGH`` are as large: the p-value is large then, and stays valid (Besag, Clifford 1991).
    """
    import numpy as np

    values, whole = np.array([*first, *second]), float(np.sum(first))
    as_far = done = 0
    while done < DRAWS and as_far < _ENOUGH:
        shuffled = rng.permuted(np.broadcast_to(values, (_AT_ONCE, values.size)), axis=1)
        as_far += int(np.count_nonzero(shuffled[:, : len(first)].sum(axis=1) >= whole - 1e-9))
        done += _AT_ONCE
    return (as_far + 1) / (done + 1)
