"""What an entry is asked next under a shaped load."""

from __future__ import annotations

from asking import queue_of, samples

from vendor_verifier.records.plan import Entry, LoadShape
from vendor_verifier.records.record import Attempt, Failure, Record, TurnRecord
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run.load_lane import Lane, LaneItems, Start, in_lanes


def entry(label: str) -> Entry:
    return Entry("model", label, "plain", Endpoint("http://h", "m"), "openai", label)


def items(count: int) -> LaneItems:
    """One entry's samples in their own order, once each."""
    return LaneItems(queue_of([entry("a")], samples(count)), range(count))


def record(start: Start, kind: str | None = None) -> Record:
    failure = Failure("skipped", "plan", "x") if kind else None
    item = start.item
    return Record(
        "r",
        "model",
        "a",
        "v",
        "trigger",
        item.sample.id,
        item.repetition,
        (TurnRecord((Attempt(1, failure=failure),)),),
    )


def asked(lane: Lane, times: list[float]) -> list[Start | None]:
    """What begins at each time, every play over before the next one begins."""
    found = []
    for now in times:
        start = lane.next(now)
        if start is not None:
            lane.ended(start, record(start))
        found.append(start)
    return found


def test_every_vendor_has_the_same_order_repetition_after_repetition() -> None:
    """Samples stand in one shuffled order for all, and none comes again before all others have been asked."""
    lanes = in_lanes(queue_of([entry("a"), entry("b")], samples(20), 2), seed=3)
    first, second = ([lane[place] for place in range(len(lane))] for lane in lanes)
    order = [item.sample.id for item in first]
    assert order == [item.sample.id for item in second]
    assert order[:20] == order[20:] != sorted(order[:20])
    assert [item.repetition for item in first] == [0] * 20 + [1] * 20
    assert [item.target.entry.label for item in (first[0], second[0])] == ["a", "b"]


def test_warm_up_counts_for_nothing_and_takes_what_is_asked_last() -> None:
    """The first N plays are warm-up with samples from the end of the order; then everything planned is asked."""
    lane = Lane(items(4), LoadShape(warmup=2))
    found = [start for start in asked(lane, [0.0] * 7) if start]
    assert [start.stage for start in found] == ["warmup"] * 2 + ["counted"] * 4
    assert [start.item.sample.id for start in found] == ["003-1", "002-1", "000-1", "001-1", "002-1", "003-1"]
    assert lane.begun == 4


def test_a_duration_counts_from_the_end_of_the_warm_up_and_asks_again_and_again() -> None:
    """S seconds after the first counted play nothing more counts; repetitions number how often a sample was asked."""
    lane = Lane(items(2), LoadShape(warmup=1, duration_s=3))
    found = asked(lane, [0, 10, 11, 12, 12.9, 13])
    assert [start and (start.stage, start.item.sample.id, start.item.repetition) for start in found] == [
        ("warmup", "001-1", 0),
        ("counted", "000-1", 0),
        ("counted", "001-1", 0),
        ("counted", "000-1", 1),
        ("counted", "001-1", 1),
        None,
    ]
    assert (lane.begun, lane.repetitions) == (4, 2)


def test_a_vendor_that_was_stopped_is_not_asked_again_and_again() -> None:
    """Once an answer was skipped a run by duration ends for its vendor; a planned one goes through what is left."""
    lane = Lane(items(2), LoadShape(duration_s=100))
    start = lane.next(0)
    assert start is not None
    lane.ended(start, record(start, "skipped"))
    assert lane.next(1) is None
    planned = Lane(items(2), LoadShape(warmup=5))
    warm = planned.next(0)
    assert warm is not None
    planned.ended(warm, record(warm, "skipped"))
    assert [start and start.stage for start in asked(planned, [0.0] * 3)] == ["counted", "counted", None]


def test_what_was_not_begun_is_not_planned() -> None:
    """A play that found the run closed is taken back."""
    lane = Lane(items(3), LoadShape(duration_s=100))
    first, second = lane.next(0), lane.next(0)
    assert first is not None
    assert second is not None
    lane.sent()
    lane.sent()
    lane.ended(first, record(first))
    lane.ended(second, None)
    assert lane.begun == 1
    assert lane.most_under_way == 2


def test_the_end_is_known_before_it_is_waited_for() -> None:
    """Past the duration, or with nothing left, nobody waits for the next moment."""
    timed = Lane(items(3), LoadShape(request_rate=0.1, duration_s=3, warmup=1))
    assert not timed.is_over_at(100.0)
    asked(timed, [100.0, 110.0])
    assert not timed.is_over_at(112.9)
    assert timed.is_over_at(113.0)
    planned = Lane(items(1), LoadShape(request_rate=0.1))
    assert not planned.is_over_at(0.0)
    asked(planned, [0.0])
    assert planned.is_over_at(10.0)
