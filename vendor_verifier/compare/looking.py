"""What several parts of scoring find in one record, found once while it passes; no earlier record is remembered."""

from __future__ import annotations

from vendor_verifier.metrics.measuring import Measured, measured
from vendor_verifier.suites.base import Suite, judged
from vendor_verifier.values.record import Record
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score


class Look:
    """Shared by those who look at every record of one pass, one record at a time."""

    def __init__(self) -> None:
        self._record: Record | None = None
        self._score: Score | None = None
        self._measured: Measured | None = None

    def score(self, record: Record, suite: Suite, sample: Sample) -> Score:
        """As :func:`vendor_verifier.suites.base.judged`; ``suite`` and ``sample`` are those of the record."""
        self._turn_to(record)
        if self._score is None:
            self._score = judged(record, suite, sample)
        return self._score

    def measured(self, record: Record) -> Measured:
        """As :func:`vendor_verifier.metrics.measuring.measured`."""
        self._turn_to(record)
        if self._measured is None:
            self._measured = measured(record)
        return self._measured

    def _turn_to(self, record: Record) -> None:
        if record is not self._record:
            self._record, self._score, self._measured = record, None, None
