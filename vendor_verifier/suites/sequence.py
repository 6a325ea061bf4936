"""How much of one sequence is found in another in the same order; weights are the caller's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def longest_common(expected: Sequence[str], called: Sequence[str]) -> int:
    """Length of the longest common subsequence of two name lists."""
    return round(heaviest_common(expected, called, lambda one, other: float(one == other)))


def heaviest_common(expected: Sequence[Item], called: Sequence[Item], weight: Callable[[Item, Item], float]) -> float:
    """Greatest total weight of pairs (expected, called) that are in the same order on both sides.

    With weights 0 and 1 this is the length of the longest common subsequence (Wagner and Fischer 1974).
    """
    best = [0.0] * (len(called) + 1)
    for wanted in expected:
        above = best[:]
        for at, got in enumerate(called, 1):
            best[at] = max(above[at], best[at - 1], above[at - 1] + weight(wanted, got))
    return best[-1]
