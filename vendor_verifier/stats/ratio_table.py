"""What the statistics take in: one entry's outcomes by (sample, repetition), every metric a ratio of sums.

It judges nothing. F1 needs the baseline's decisions too and therefore stands apart, as decisions per repetition.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.outcome import call_validity
from vendor_verifier.scoring.observation_table import Columns, compared
from vendor_verifier.scoring.trigger_f1 import Run
from vendor_verifier.values.score import SchemaPolicy

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


TRIGGER = "trigger"
# Metric → the column it is the mean of; speeds are ratios of sums and stand below.
MEANS: Mapping[str, str] = {
    "avg_tokens": "total_tokens",
    "avg_ttft_ms": "ttft_ms",
    **{metric.name: metric.name for metric in METRICS if metric.name not in ("success", "tps", "e2e_tps")},
}
# What is judged whether or not a threshold names it: two that rank, and one that bills are read by.
JUDGED_MEANS: tuple[str, ...] = ("avg_tokens", "avg_ttft_ms", "input_tokens")


@dataclass(frozen=True, slots=True)
class Trials:
    """One entry.

    ``runs``: decision by sample id, one mapping per repetition. ``ratios``: metric → (sample id, repetition) →
    (numerator, denominator), so that the metric is Σ numerators ÷ Σ denominators; a unit that did not measure is
    absent. Rates are (0 or 1, 1), means (value, 1), ``tps`` (tokens, seconds), ``schema_accuracy`` (valid, counted
    calls), a cost per valid call (cost, valid calls). ``sent``: when each unit was first sent (seconds since the
    epoch, as numerators); ``None`` where nobody knows.
    """

    label: str
    runs: tuple[Run, ...] = ()
    ratios: Mapping[str, Mapping[Unit, Part]] = field(default_factory=dict)
    sent: RatioColumn | None = None


def trials_of(
    label: str,
    columns: Columns,
    planned: Mapping[str, Sequence[str]],
    *,
    repeat: int,
    complete: bool,
    policy: SchemaPolicy = "lenient",
    main: Mapping[str, str] | None = None,
    begun: int | None = None,
    each: int = 0,
    means: Collection[str] = tuple(MEANS),
) -> Trials:
    """The entry's columns as trials.

    ``planned``: suite → sample ids; ``repeat`` is this entry's own number of repetitions. In a ``complete`` run a
    planned unit without a record counts as failed and undecided. ``main`` names per suite the score to be judged.
    ``begun`` as in ``EntryInfo``, with ``each`` records in a repetition: then nothing is missing. ``means`` are the
    metrics of ``MEANS`` that somebody will ask for: each costs a row a record.
    """
    complete = complete and begun is None
    numbers = compared(repeat, begun, each)
    lost = _lost(columns, planned, repeat) if complete and columns.rows else []
    missing = planned.get(TRIGGER, ()) if complete and columns.rows else ()
    ratios = _Ratios()
    rows = columns.rows
    asked = [(metric, MEANS[metric]) for metric in means if not columns.is_lost(MEANS[metric])]
    speeds = [each for each in (("tps", rows.decoding), ("e2e_tps", rows.delivery)) if not columns.is_lost(each[0])]
    for (suite, sample, repetition), facts, place in rows.entries():
        if not facts.charged:
            continue
        unit = ratios.units.place_of((sample, repetition))
        moment = rows.sent_s(place)
        if moment is not None:
            ratios.sent.put_first(unit, moment)
        ratios.add_outcome(unit, succeeded=facts.succeeded, at_first=facts.succeeded_first_try)
        valid, counted = call_validity(facts.classes, policy)
        if counted:
            ratios.add("schema_accuracy", unit, valid, counted)
        for metric, column in asked:
            value = rows.value(column, place)
            if value is not None:
                ratios.add(metric, unit, value, 1.0)
        for metric, sums in speeds:
            pooled = sums(place)
            if pooled is not None:
                ratios.add(metric, unit, pooled.tokens, pooled.seconds)
        score = dict(facts.scores).get((main or {}).get(suite, ""))
        if score is not None:
            ratios.add(suite, unit, score, 1.0)
    for sample, repetition in lost:
        ratios.add_outcome(ratios.units.place_of((sample, repetition)), succeeded=False, at_first=False)
    runs = tuple(columns.run(TRIGGER, number, missing) for number in numbers) if TRIGGER in planned else ()
    return Trials(label, runs, ratios.by_metric, ratios.sent)


def _lost(columns: Columns, planned: Mapping[str, Sequence[str]], repeat: int) -> list[Unit]:
    return [
        (sample, number)
        for suite, ids in planned.items()
        for sample in ids
        for number in range(repeat)
        if not columns.knows((suite, sample, number))
    ]


class _Ratios:
    """Columns by metric, in the order in which metrics were first measured."""

    def __init__(self) -> None:
        self.units = Units()
        self.by_metric: dict[str, RatioColumn] = {}
        self.sent = RatioColumn(self.units)

    def add(self, metric: str, unit: int, numerator: float, denominator: float) -> None:
        """``unit`` is a place in ``units``."""
        column = self.by_metric.get(metric)
        if column is None:
            column = self.by_metric[metric] = RatioColumn(self.units)
        column.add(unit, numerator, denominator)

    def add_outcome(self, unit: int, *, succeeded: bool, at_first: bool) -> None:
        self.add("success_rate", unit, succeeded, 1.0)
        self.add("first_attempt_success_rate", unit, at_first, 1.0)
