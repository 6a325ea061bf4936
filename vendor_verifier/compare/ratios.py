"""One metric by unit, each a part of a ratio of sums, in little space: units are shared by all metrics of an entry."""

from __future__ import annotations

import math
from array import array
from collections.abc import ItemsView, Iterator, Mapping

Unit = tuple[str, int]
"""Sample and repetition."""
Part = tuple[float, float]
"""Numerator and denominator."""


class Units:
    """Every unit once, with the place of its parts in each column."""

    def __init__(self) -> None:
        self._places: dict[Unit, int] = {}
        self.listed: list[Unit] = []

    def place_of(self, unit: Unit) -> int:
        """The unit's place; a new one gets the next."""
        place = self._places.setdefault(unit, len(self.listed))
        if place == len(self.listed):
            self.listed.append(unit)
        return place

    def known(self, unit: Unit) -> int | None:
        """The unit's place, if it has one."""
        return self._places.get(unit)


class RatioColumn(Mapping[Unit, Part]):
    """The units that measured one metric, in the order in which they first did."""

    def __init__(self, units: Units) -> None:
        self._units = units
        # By place of the unit: where its part stands, counted from 1.
        self._slots = array("Q")
        self._order = array("Q")
        self.numerators = array("d")
        self.denominators = array("d")

    def add(self, place: int, numerator: float, denominator: float) -> None:
        """Add to what the unit at ``place`` has: a sample that several suites ask is one unit."""
        missing = place + 1 - len(self._slots)
        if missing > 0:
            self._slots.frombytes(bytes(self._slots.itemsize * missing))
        elif slot := self._slots[place]:
            self.numerators[slot - 1] += numerator
            self.denominators[slot - 1] += denominator
            return
        self._order.append(place)
        self.numerators.append(numerator)
        self.denominators.append(denominator)
        self._slots[place] = len(self._order)

    def put_first(self, place: int, numerator: float) -> None:
        """Set what the unit at ``place`` has, unless it has something."""
        if place >= len(self._slots) or not self._slots[place]:
            self.add(place, numerator, 1.0)

    def aligned(self, other: RatioColumn) -> array[float]:
        """The numerators of ``other`` at the units of this one, which share their places; NaN where it has none."""
        slots = (other._slots[place] if place < len(other._slots) else 0 for place in self._order)
        return array("d", (other.numerators[slot - 1] if slot else math.nan for slot in slots))

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Unit]:
        return map(self._units.listed.__getitem__, self._order)

    def __getitem__(self, unit: Unit) -> Part:
        place = self._units.known(unit)
        slot = self._slots[place] if place is not None and place < len(self._slots) else 0
        if not slot:
            raise KeyError(unit)
        return self.numerators[slot - 1], self.denominators[slot - 1]

    def items(self) -> ItemsView[Unit, Part]:
        return _Items(self)

    def parts(self) -> Iterator[tuple[Unit, Part]]:
        """Units and their parts, none of which is looked up."""
        return zip(self, zip(self.numerators, self.denominators, strict=True), strict=True)


class _Items(ItemsView[Unit, Part]):
    """Mapping's own view looks every value up."""

    _mapping: RatioColumn

    def __iter__(self) -> Iterator[tuple[Unit, Part]]:
        return self._mapping.parts()
