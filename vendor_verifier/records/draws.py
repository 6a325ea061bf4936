"""Draws that follow from a text, the same on every machine and with every version of Python."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


class Draws:
    """A row of draws; the same ``seed`` gives the same row."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._made = 0

    def below(self, end: int) -> int:
        """A whole number from 0 on, below ``end``."""
        self._made += 1
        digest = hashlib.blake2b(f"{self._seed} {self._made}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % end

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``."""
        return low + self.below(high - low + 1)

    def one_of(self, things: Sequence[Thing]) -> Thing:
        """One of them."""
        return things[self.below(len(things))]

    def shuffled(self, things: Iterable[Thing]) -> list[Thing]:
        """All of them in another order."""
        return [thing for _, thing in sorted(((self.below(2**62), thing) for thing in things), key=lambda one: one[0])]
