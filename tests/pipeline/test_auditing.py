"""What is noted while records pass: the order of sending, and which prompts were sent but once."""

from __future__ import annotations

from vendor_verifier.pipeline.audit import Audits
from vendor_verifier.values.event import Usage
from vendor_verifier.values.record import Attempt, Record, Response, Timing, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, listed

ENTRIES = {("m", label): {"model": "m", "label": label, "model_id": "m"} for label in ("a", "b")}
SAMPLES = [Sample(name, Turn(({"role": "user", "content": name},))) for name in ("s1", "s2", "s3", "s4")]


def record(label: str, sample: str, second: int, *, repetition: int = 0, cached: int = 0) -> Record:
    timing = Timing(f"2026-01-01T00:00:{second:02}.000+00:00", 1)
    response = Response("Yes.", finish_reason="stop", usage=Usage(100, 2, cached=cached))
    turns = (TurnRecord((Attempt(1, timing, response),)),)
    return Record("run", "m", label, label, "trigger", sample, repetition, turns)


def test_samples_are_ordered_by_when_they_were_first_sent_to_anybody() -> None:
    """Neighbours in time stand together, whatever the data set's order; what was never sent goes last."""
    audits = Audits(ENTRIES, {"trigger": listed(SAMPLES)})
    for label, sample, second in (("a", "s1", 30), ("a", "s3", 10), ("b", "s1", 40), ("b", "s4", 5), ("a", "s4", 20)):
        audits.take(record(label, sample, second))
    [ordered] = audits.in_sending_order().values()
    assert [sample.id for sample in ordered] == ["s4", "s3", "s1", "s2"]


def test_only_prompts_that_were_sent_once_count_as_claims() -> None:
    """What was asked twice may well be cached."""
    audits = Audits(ENTRIES, {"trigger": listed(SAMPLES)})
    for each in (
        record("a", "s1", 1, cached=90),
        record("a", "s2", 2, cached=90),
        record("a", "s2", 3, repetition=1, cached=90),
        record("a", "s3", 4),
    ):
        audits.take(each)
    assert audits.of("m", "a").cached_once() == [("s1", 100, 90)]
