"""One look at a record gives what its metrics give one by one."""

from __future__ import annotations

from any_turns import TURNS
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.metrics import POOLED, RECORD_METRICS
from vendor_verifier.metrics.base import read_answers
from vendor_verifier.metrics.measure import Measured, measured
from vendor_verifier.records.record import Record, TurnRecord


@given(TURNS, st.sampled_from([None, 1.5]))
def test_one_look_measures_what_every_metric_measures(turns: list[TurnRecord], offered_s: float | None) -> None:
    """For one turn or several, failed or not, timed or not, due at a moment or not, to the last bit."""
    record = Record("run", "m", "l", "v", "trigger", "s", 0, tuple(turns), offered_s=offered_s)
    values = tuple(metric.measure(record) for metric in RECORD_METRICS)
    sums = tuple(metric.over_turns(read_answers(record))[1] for metric in POOLED)
    assert measured(record, read_answers(record)) == Measured(values, sums)
