"""Bounded samples of unbounded streams: the items with the smallest digests, and counts in bins.

Bottom-k sampling: of all keys those with the smallest digests are kept, so the same run gives the same sample however
its records are ordered, and no random numbers are needed.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

import msgspec

from vendor_verifier.records.details import Histogram

T = TypeVar("T")
_RATIO = 1.08
_LOG_RATIO = math.log(_RATIO)
_MAX_BINS = 48
_ANY = 2**64


def key_digest(*parts: Hashable) -> int:
    """A 64-bit digest of the parts, the same in every process."""
    return int.from_bytes(hashlib.blake2b(f"{parts!r}".encode(errors="replace"), digest_size=8).digest(), "big")


class Draw(msgspec.Struct, Generic[T]):
    """The ``most`` items with the smallest digests; a digest stands for its key."""

    most: int
    kept: dict[int, T] = msgspec.field(default_factory=dict)
    _largest: list[int] = msgspec.field(default_factory=list)
    # No greater digest is kept.
    _bound: int = _ANY

    def __post_init__(self) -> None:
        self._bound = _ANY if self.most > 0 else -1

    def wants(self, digest: int) -> bool:
        """Whether :meth:`add` would keep an item, so that callers need not build the many that it would drop."""
        return digest <= self._bound

    def add(self, digest: int, item: T) -> None:
        """Keep ``item`` if its digest is small enough; it replaces an item with the same digest."""
        if digest not in self.kept:
            heappush(self._largest, -digest)
        self.kept[digest] = item
        while len(self.kept) > self.most:
            self.kept.pop(-heappop(self._largest), None)
        if len(self.kept) == self.most > 0:
            self._bound = -self._largest[0]

    def discard(self, digest: int) -> None:
        """Remove the item with this digest, if there is one."""
        if self.kept.pop(digest, None) is not None:
            self._largest.remove(-digest)
            self._largest.sort()
            self._bound = _ANY

    def items(self) -> list[T]:
        """The kept items, smallest digest first."""
        return [self.kept[digest] for digest in sorted(self.kept)]


class LogCounts(msgspec.Struct):
    """Counts of positive numbers in bins whose edges are a constant ratio apart; others are left out."""

    bins: Counter[int] = msgspec.field(default_factory=Counter)

    def add(self, value: float) -> None:
        if 0 < value < math.inf:
            self.bins[math.floor(math.log(value) / _LOG_RATIO)] += 1

    def histogram(self) -> Histogram | None:
        """At most 48 bins over what occurred, neighbours merged as needed; None when nothing was counted."""
        if not self.bins:
            return None
        first, last, width = min(self.bins), max(self.bins), 1
        while (last - first) // width + 1 > _MAX_BINS:
            width *= 2
        counts = [0] * ((last - first) // width + 1)
        for position, number in self.bins.items():
            counts[(position - first) // width] += number
        edges = tuple(_RATIO ** (first + width * step) for step in range(len(counts) + 1))
        return Histogram(edges, tuple(counts))
