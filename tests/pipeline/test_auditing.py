"""What is noted while records pass: the order of sending, and which prompts were sent but once."""

from __future__ import annotations

from observed import observed, table_of

from vendor_verifier.audit.billing import sent_once
from vendor_verifier.pipeline.judge import in_sending_order
from vendor_verifier.records.event import Usage
from vendor_verifier.records.record import Attempt, Record, Response, Timing, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.scoring.observation_table import ObservationTable

SAMPLES = [Sample(name, Turn(({"role": "user", "content": name},))) for name in ("s1", "s2", "s3", "s4")]


def record(label: str, sample: str, second: int, *, repetition: int = 0, cached: int = 0) -> Record:
    timing = Timing(f"2026-01-01T00:00:{second:02}.000+00:00", 1)
    response = Response("Yes.", finish_reason="stop", usage=Usage(100, 2, cached=cached))
    turns = (TurnRecord((Attempt(1, timing, response),)),)
    return Record("run", "m", label, label, "trigger", sample, repetition, turns)


def table(*records: Record) -> ObservationTable:
    by_id = {sample.id: sample for sample in SAMPLES}
    return table_of(observed(each, by_id[each.sample]) for each in records)


def test_samples_are_ordered_by_when_they_were_first_sent_to_anybody() -> None:
    """Neighbours in time stand together, whatever the data set's order; what was never sent goes last."""
    one = table(record("a", "s1", 30), record("a", "s3", 10), record("a", "s4", 20))
    other = table(record("b", "s1", 40), record("b", "s4", 5))
    [ordered] = in_sending_order({"trigger": listed(SAMPLES)}, [one, other]).values()
    assert [sample.id for sample in ordered] == ["s4", "s3", "s1", "s2"]


def test_only_prompts_that_were_sent_once_count_as_claims() -> None:
    """What was asked twice may well be cached."""
    found = table(
        record("a", "s1", 1, cached=90),
        record("a", "s2", 2, cached=90),
        record("a", "s2", 3, repetition=1, cached=90),
        record("a", "s3", 4),
    )
    claims = [("s1", 100, 90), ("s2", 100, 90), ("s2", 100, 90), ("s3", 100, 0)]
    assert sent_once(claims, found) == [("s1", 100, 90)]
