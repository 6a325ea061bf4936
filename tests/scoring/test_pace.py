"""Requests in flight on average, and answers a second, from records alone."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta

import pytest
from observed import observed, table_of

from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.vendor_figures import pace as pace_of

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("m", "a")


def attempt(at_s: float, seconds: float, failed: bool = False) -> Attempt:
    """One that was sent so long after the beginning and took so long."""
    sent_at = (BEGAN + timedelta(seconds=at_s)).isoformat(timespec="milliseconds")
    failure = Failure("timeout_total", "stream", "late") if failed else None
    return Attempt(1, Timing(sent_at, int(seconds * 1e9)), None if failed else Response("x"), failure)


def under_way(*records: tuple[Attempt, ...]) -> ObservationTable:
    """What is observed of one sample each."""
    return table_of(
        observed(Record("run", *KEY, "v", "trigger", "s", number, (TurnRecord(attempts),)))
        for number, attempts in enumerate(records)
    )


def test_full_places_are_counted_as_full() -> None:
    """Two places, each with one request of a second after another: two in flight, two answers a second."""
    found = under_way(*[(attempt(at, 1.0),) for at in range(11) for _ in range(2)])
    pace = pace_of([found], 2, waited_for_turns=False)
    assert pace is not None
    assert (pace.in_flight, pace.answers_per_s, pace.seconds, pace.places) == pytest.approx((2.0, 2.0, 10.0, 2))


def test_what_ends_after_the_last_sample_was_sent_does_not_count() -> None:
    """A request that is never answered holds one place; the minute that it outlasts the others changes nothing."""
    found = under_way((attempt(0, 60.0, failed=True),), *[(attempt(at, 1.0),) for at in range(11)])
    pace = pace_of([found], 2, waited_for_turns=False)
    assert pace is not None
    assert (pace.in_flight, pace.answers_per_s, pace.seconds) == pytest.approx((2.0, 1.0, 10.0))


def test_a_pause_lowers_both() -> None:
    """Ten seconds in which nothing was sent are the vendor's, unless others had their turn meanwhile."""
    found = under_way((attempt(0, 1.0),), (attempt(1, 1.0),), (attempt(12, 1.0),), (attempt(13, 1.0),))
    paused, in_turns = (pace_of([found], 1, waited_for_turns=each) for each in (False, True))
    assert paused is not None
    assert in_turns is not None
    assert (paused.in_flight, paused.answers_per_s) == pytest.approx((3 / 13, 3 / 13))
    assert (in_turns.in_flight, in_turns.answers_per_s) == pytest.approx((1.0, 1.0))


def test_a_retry_is_in_flight_but_sends_no_sample() -> None:
    """The second try of a sample uses a place; the time ends when the last sample was sent for the first time."""
    found = under_way((attempt(0, 1.0, failed=True), attempt(5, 1.0)), (attempt(1, 1.0),), (attempt(2, 1.0),))
    pace = pace_of([found], 1, waited_for_turns=False)
    assert pace is not None
    assert (pace.in_flight, pace.answers_per_s, pace.seconds) == pytest.approx((1.0, 0.5, 2.0))


def test_a_run_that_was_sent_at_once_is_taken_whole() -> None:
    """With fewer samples than places nothing ends before the last is sent."""
    pace = pace_of([under_way((attempt(0, 1.0),), (attempt(0, 2.0),))], 5, waited_for_turns=False)
    assert pace is not None
    assert (pace.in_flight, pace.answers_per_s, pace.seconds) == pytest.approx((1.5, 1.0, 2.0))


def test_the_peak_is_the_most_at_one_moment() -> None:
    """One that begins when another ends takes its place; three overlap for half a second."""
    found = under_way((attempt(0, 1.0),), (attempt(1, 1.0),), (attempt(1.5, 1.0),), (attempt(1.9, 1.0),))
    pace = pace_of([found], None, waited_for_turns=False)
    assert pace is not None
    assert (pace.peak_in_flight, pace.requests_per_s) == (3, pytest.approx(3 / 1.9))


def test_two_places_are_never_three_in_flight() -> None:
    """Moments of sending are stored without their part of a millisecond, and what is cut off is no request more."""
    dice = random.Random(3)
    places, attempts = [0.0, 0.0], []
    for _ in range(200):
        free = min(range(2), key=places.__getitem__)
        seconds = dice.uniform(0.01, 0.1)
        stored_s = math.floor(places[free] * 1000) / 1000
        attempts.append(attempt(stored_s, seconds))
        places[free] += seconds
    pace = pace_of([under_way(*[(each,) for each in attempts])], 2, waited_for_turns=False)
    assert pace is not None
    assert pace.peak_in_flight == 2


def test_the_course_adds_up_to_the_whole() -> None:
    """Over all stretches: as many seconds in flight, requests and answers as there were."""
    lengths = [0.3 + (number * 7 % 11) / 10 for number in range(60)]
    found = under_way(*[(attempt(number / 5, length),) for number, length in enumerate(lengths)])
    pace = pace_of([found], None, waited_for_turns=False)
    assert pace is not None
    course = pace.over_time
    assert course is not None
    assert len(course.in_flight) == 15
    assert sum(course.in_flight) * course.step_s == pytest.approx(sum(lengths), rel=2e-3)
    assert sum(course.requests_per_s) * course.step_s == pytest.approx(60, rel=2e-3)
    assert sum(course.answers_per_s) * course.step_s == pytest.approx(60, rel=2e-3)
    assert course.tokens_per_s is None
    # A vendor that stops answering shows: its requests pile up and then all come at once.
    stalled = [(attempt(number / 5, max(1.0, 12 - number / 5)),) for number in range(60)]
    piled = pace_of([under_way(*stalled)], None, waited_for_turns=False)
    assert piled is not None
    assert piled.over_time is not None
    assert max(piled.over_time.in_flight) > 5 * piled.over_time.in_flight[0]


def test_nobody_has_a_pace_who_was_sent_nothing() -> None:
    """Neither a skipped sample nor a stored answer of unknown time is anything in flight."""
    skipped = Attempt(1, failure=Failure("skipped", "plan", "stopped"))
    untimed = Attempt(1, Timing("", 5), Response("x"))
    assert pace_of([under_way((skipped,), (untimed,))], 5, waited_for_turns=False) is None
