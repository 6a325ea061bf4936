"""Facts of many records in little space: numbers in columns, and everything else once for all rows that share it.

A row that is asked for by key is made anew. Whoever walks over all asks for :meth:`Rows.entries` and for columns, which
make none. It counts and sums up nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from vendor_verifier.compare.facts import Facts
from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.decoding import Decoding

Key = tuple[str, str, int]
"""Suite, sample and repetition."""

_NUMBERS = ("values", "decoding", "delivery", "sent_s")
_SHARED = tuple(field.name for field in fields(Facts) if field.name not in _NUMBERS)
_shared_of = attrgetter(*_SHARED)
_KINDS: Mapping[type, int] = {type(None): 0, int: 1, bool: 1, float: 2}
_REAL = _KINDS[float]
# Of METRICS in their order, then tokens and seconds of decoding, and of delivery, and the moment of sending.
_WIDTH = len(METRICS) + 5
_POSITION = {metric.name: position for position, metric in enumerate(METRICS)}


class Numbers:
    """Rows of as many numbers each, any of which may be ``None``; whole numbers stay whole."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._numbers = array("d")
        self._kinds = bytearray()

    def __len__(self) -> int:
        return len(self._kinds) // self._width

    def put(self, place: int, row: Sequence[float | None]) -> None:
        """Set the row at ``place``, which is at most the next one."""
        numbers = [0.0 if value is None else value for value in row]
        kinds = map(_KINDS.__getitem__, map(type, row))
        begin = place * self._width
        if begin == len(self._kinds):
            self._numbers.fromlist(numbers)
            self._kinds.extend(kinds)
        else:
            self._numbers[begin : begin + self._width] = array("d", numbers)
            self._kinds[begin : begin + self._width] = bytes(kinds)

    def at(self, place: int, column: int) -> float | None:
        """One number."""
        at = place * self._width + column
        kind = self._kinds[at]
        return self._numbers[at] if kind == _REAL else int(self._numbers[at]) if kind else None

    def row(self, place: int) -> tuple[float | None, ...]:
        """All numbers of a row."""
        return tuple([self.at(place, column) for column in range(self._width)])

    def known(self, places: Iterable[int], column: int) -> list[float]:
        """The numbers of one column at ``places`` that there are."""
        kinds, numbers, width = self._kinds, self._numbers, self._width
        return [
            numbers[at] if kind == _REAL else int(numbers[at])
            for place in places
            if (kind := kinds[at := place * width + column])
        ]


class Rows(MutableMapping[Key, Facts]):
    """Facts by key, in the order in which keys came."""

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._shared: list[Facts] = []
        self._known: dict[tuple[Any, ...], Facts] = {}
        self._numbers = Numbers(_WIDTH)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __getitem__(self, key: Key) -> Facts:
        place = self._places[key]
        return replace(
            self._shared[place],
            values=tuple(self._numbers.at(place, column) for column in range(len(METRICS))),
            decoding=self.decoding(place),
            delivery=self.delivery(place),
            sent_s=self.sent_s(place),
        )

    def __setitem__(self, key: Key, facts: Facts) -> None:
        shared = self._without_numbers(facts)
        place = self._places.setdefault(key, len(self._shared))
        if place == len(self._shared):
            self._shared.append(shared)
        else:
            self._shared[place] = shared
        values = facts.values or (None,) * len(METRICS)
        self._numbers.put(place, (*values, *_told(facts.decoding), *_told(facts.delivery), facts.sent_s))

    def __delitem__(self, key: Key) -> None:
        # Its numbers stay behind unseen: few rows are ever taken out.
        del self._places[key]

    def entries(self) -> Iterator[tuple[Key, Facts, int]]:
        """Key, what the row is without its numbers, and their place, of every row."""
        shared = self._shared
        return ((key, shared[place], place) for key, place in self._places.items())

    def shared(self) -> Iterator[Facts]:
        """What every row is without its numbers."""
        return map(self._shared.__getitem__, self._places.values())

    def places(self) -> Iterable[int]:
        """Where the numbers of every row are."""
        return self._places.values()

    def value(self, metric: str, place: int) -> float | None:
        """What was measured there of one of ``METRICS``."""
        return self._numbers.at(place, _POSITION[metric])

    def values_of(self, metric: str, places: Iterable[int]) -> list[float]:
        """What was measured of one of ``METRICS`` at those of ``places`` that measured it."""
        return self._numbers.known(places, _POSITION[metric])

    def decoding(self, place: int) -> Decoding | None:
        """Tokens and seconds of decoding there."""
        return self._sums(place, len(METRICS))

    def delivery(self, place: int) -> Decoding | None:
        """Tokens and seconds from sending on there."""
        return self._sums(place, len(METRICS) + 2)

    def sent_s(self, place: int) -> float | None:
        """When the row there was first sent, in seconds since the epoch."""
        return self._numbers.at(place, len(METRICS) + 4)

    def _sums(self, place: int, column: int) -> Decoding | None:
        tokens, seconds = self._numbers.at(place, column), self._numbers.at(place, column + 1)
        return None if tokens is None or seconds is None else Decoding(tokens, seconds)

    def shared_at(self, key: Key) -> Facts | None:
        """What the row of ``key`` is without its numbers."""
        place = self._places.get(key)
        return None if place is None else self._shared[place]

    def _without_numbers(self, facts: Facts) -> Facts:
        told = _shared_of(facts)
        known = self._known.get(told)
        if known is None:
            known = self._known[told] = replace(facts, values=(), decoding=None, delivery=None, sent_s=None)
        return known


def _told(sums: Decoding | None) -> tuple[float | None, float | None]:
    return (None, None) if sums is None else (sums.tokens, sums.seconds)
