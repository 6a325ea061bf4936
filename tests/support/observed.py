"""Records as scoring observes them."""

from __future__ import annotations

from collections.abc import Iterable

from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.scoring.observation import Observation, observe
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.suites import Suite
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite

SAMPLE = Sample("s", Turn(({"role": "user", "content": "hi"},)))


def observed(
    record: Record, sample: Sample = SAMPLE, suite: Suite | None = None, *, defective: bool = False
) -> Observation:
    """The row of one record, judged by the trigger suite if by no other."""
    return observe(record, judged(record, suite or TriggerSuite(), sample, KeptCheckers()), sample, defective=defective)


def table_of(rows: Iterable[Observation]) -> ObservationTable:
    """A table of these rows."""
    found = ObservationTable()
    for row in rows:
        found.add(row)
    return found
