"""Feeds the tables of every entry with the records of a plan, each of which is judged and observed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from vendor_verifier.loaders.parameters import parameter_defects
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Record
from vendor_verifier.records.record_blocks import blocks_of
from vendor_verifier.records.sample import Sample, listed, sample_in
from vendor_verifier.records.score import PlayedTask, Score
from vendor_verifier.scoring.observation import Observation, observe, observe_check
from vendor_verifier.scoring.observation_table import ObservationTable, Standing
from vendor_verifier.suites import TRIGGER, Suite, replay
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite

EntryKey = tuple[str, str]
Listener = Callable[[Record, Sample, Score, Observation, Standing], None]


class Tables(msgspec.Struct, frozen=True):
    """Observation tables by (model, label): ``rows`` for ranked tasks, ``apart`` for tasks outside the ranking."""

    rows: dict[EntryKey, ObservationTable] = msgspec.field(default_factory=dict)
    apart: dict[EntryKey, ObservationTable] = msgspec.field(default_factory=dict)

    def of(self, key: EntryKey) -> tuple[ObservationTable, ObservationTable]:
        """The entry's table of ranked tasks and its table of tasks outside the ranking."""
        return self.rows[key], self.apart[key]


def collect(
    tables: Tables,
    entries: Sequence[EntryInfo],
    tasks: Mapping[str, PlayedTask],
    records: Iterable[Record],
    suites: Mapping[str, Suite],
    repeat: int,
    listener: Listener | None = None,
) -> int:
    """Fill ``tables`` from ``records`` and return the number of records that do not belong to the plan.

    ``listener`` is called with every record that joins the figures, its score, its observation and how that stands.
    """
    for entry in entries:
        tables.rows[entry.model, entry.label] = ObservationTable()
        tables.apart[entry.model, entry.label] = ObservationTable()
        tables.rows[entry.model, entry.label].cap = entry.cap
    asked = {task.suite: listed(task.samples) for task in tasks.values()}
    trigger = suites.get(TRIGGER)
    checkers = trigger.checkers if isinstance(trigger, TriggerSuite) else KeptCheckers()
    repeats = {(entry.model, entry.label): repeat if entry.repeat is None else entry.repeat for entry in entries}
    ignored = 0
    for block in blocks_of(records):
        taken: list[tuple[Record, Sample, Suite]] = []
        for record in block:
            key = (record.model, record.label)
            sample, suite = sample_in(asked, record.suite, record.sample), suites.get(record.suite)
            if sample is None or suite is None or not 0 <= record.repetition < repeats.get(key, 0):
                ignored += 1
            elif tasks[record.suite].apart:
                tables.apart[key].add(observe_check(record, replay(suite.play(sample), record.turns), sample))
            else:
                taken.append((record, sample, suite))
        scores = [judged(record, suite, sample, checkers) for record, sample, suite in taken]
        rows = [
            observe(record, score, sample, defective=not record.succeeded and _is_defective(sample, checkers))
            for (record, sample, _), score in zip(taken, scores, strict=True)
        ]
        standings = [
            tables.rows[record.model, record.label].add(row) for (record, _, _), row in zip(taken, rows, strict=True)
        ]
        if listener is not None:
            for (record, sample, _), score, row, standing in zip(taken, scores, rows, standings, strict=True):
                listener(record, sample, score, row, standing)
    return ignored


def _is_defective(sample: Sample, checkers: KeptCheckers) -> bool:
    """Whether nobody can take the sample, which explains a refusal and nothing else."""
    return bool(checkers(sample).may_be_refused or parameter_defects(sample.turn.parameters))
