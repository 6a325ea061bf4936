"""Facts of many records in little space: numbers in columns, and everything else once for all rows that share it.

A row that is asked for by key is made anew. Whoever walks over all asks for :meth:`Rows.entries` and for columns, which
make none. It counts and sums up nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import fields, replace
from itertools import zip_longest
from operator import attrgetter
from typing import Any

from vendor_verifier.compare.facts import Facts
from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.decoding import Decoding

Key = tuple[str, str, int]
"""Suite, sample and repetition."""

_NUMBERS = ("values", "decoding", "delivery")
_SHARED = tuple(field.name for field in fields(Facts) if field.name not in _NUMBERS)
_shared_of = attrgetter(*_SHARED)
_ABSENT, _WHOLE, _REAL = range(3)
_POSITION = {metric.name: position for position, metric in enumerate(METRICS)}


class Column:
    """One number a row, or ``None``; whole numbers stay whole."""

    def __init__(self) -> None:
        self._numbers = array("d")
        self._kinds = bytearray()

    def put(self, place: int, value: float | None) -> None:
        """Set the number at ``place``, which is at most the next one."""
        number = 0.0 if value is None else value
        kind = _ABSENT if value is None else _WHOLE if isinstance(value, int) else _REAL
        if place == len(self._kinds):
            self._numbers.append(number)
            self._kinds.append(kind)
        else:
            self._numbers[place], self._kinds[place] = number, kind

    def at(self, place: int) -> float | None:
        """The number at ``place``."""
        kind, number = self._kinds[place], self._numbers[place]
        return number if kind == _REAL else int(number) if kind else None

    def known(self, places: Iterable[int]) -> list[float]:
        """The numbers at ``places`` that there are."""
        kinds, numbers = self._kinds, self._numbers
        return [numbers[at] if kind == _REAL else int(numbers[at]) for at in places if (kind := kinds[at])]


class _Sums:
    """Tokens and seconds of every row that measured them."""

    def __init__(self) -> None:
        self._tokens, self._seconds = Column(), Column()

    def put(self, place: int, sums: Decoding | None) -> None:
        self._tokens.put(place, None if sums is None else sums.tokens)
        self._seconds.put(place, None if sums is None else sums.seconds)

    def at(self, place: int) -> Decoding | None:
        tokens, seconds = self._tokens.at(place), self._seconds.at(place)
        return None if tokens is None or seconds is None else Decoding(tokens, seconds)


class Rows(MutableMapping[Key, Facts]):
    """Facts by key, in the order in which keys came."""

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._shared: list[Facts] = []
        self._known: dict[tuple[Any, ...], Facts] = {}
        self._numbers = tuple(Column() for _ in METRICS)
        self.decoding = _Sums()
        self.delivery = _Sums()

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
            values=tuple(column.at(place) for column in self._numbers),
            decoding=self.decoding.at(place),
            delivery=self.delivery.at(place),
        )

    def __setitem__(self, key: Key, facts: Facts) -> None:
        shared = self._without_numbers(facts)
        place = self._places.setdefault(key, len(self._shared))
        if place == len(self._shared):
            self._shared.append(shared)
        else:
            self._shared[place] = shared
        for column, value in zip_longest(self._numbers, facts.values):
            column.put(place, value)
        self.decoding.put(place, facts.decoding)
        self.delivery.put(place, facts.delivery)

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

    def column(self, metric: str) -> Column:
        """The numbers of one of ``METRICS``."""
        return self._numbers[_POSITION[metric]]

    def shared_at(self, key: Key) -> Facts | None:
        """What the row of ``key`` is without its numbers."""
        place = self._places.get(key)
        return None if place is None else self._shared[place]

    def _without_numbers(self, facts: Facts) -> Facts:
        told = _shared_of(facts)
        known = self._known.get(told)
        if known is None:
            known = self._known[told] = replace(facts, values=(), decoding=None, delivery=None)
        return known
