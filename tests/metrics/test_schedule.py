"""Times from a schedule: who came at that moment waited for everything."""

from __future__ import annotations

from vendor_verifier.metrics.latency import e2e_from_schedule_ms, schedule_lag_ms, ttft_from_schedule_ms
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord

MS = 1_000_000


def timing(scheduled_ms: int, first_ms: int, end_ms: int, connect_ms: int | None = None) -> Timing:
    return Timing(
        "2026-01-01T00:00:00+00:00",
        end_ms * MS,
        scheduled_ns=scheduled_ms * MS,
        first_token_ns=first_ms * MS,
        connect_ns=None if connect_ms is None else connect_ms * MS,
    )


def record(*turns: TurnRecord, offered_s: float | None = 2.0) -> Record:
    return Record("r", "m", "a", "v", "trigger", "s", 0, turns, offered_s=offered_s)


REFUSED = Attempt(1, timing(-30, 0, 10, connect_ms=20), failure=Failure("http_5xx", "headers", "no"))
ANSWERED = Attempt(2, timing(-500, 100, 300), Response(text="x", finish_reason="stop"))
FOLLOWING = Attempt(1, timing(-900, 50, 400), Response(text="y", finish_reason="stop"))


def test_failed_attempts_waits_and_turns_before_are_inside() -> None:
    """TTFT is the first turn's and E2E the last one's, both from the moment the record was due; the lag is ours alone:
    until the first attempt was sent, without what connecting took."""
    whole = record(TurnRecord((REFUSED, ANSWERED)), TurnRecord((FOLLOWING,)))
    assert ttft_from_schedule_ms(whole) == 600
    assert e2e_from_schedule_ms(whole) == 1300
    assert schedule_lag_ms(whole) == 10


def test_a_failure_has_a_lag_and_no_times() -> None:
    """How late we were does not depend on the answer."""
    failed = record(TurnRecord((REFUSED,)))
    assert ttft_from_schedule_ms(failed) is None
    assert e2e_from_schedule_ms(failed) is None
    assert schedule_lag_ms(failed) == 10


def test_a_closed_loop_has_no_schedule() -> None:
    """There the wait for a place is nobody's time."""
    closed = record(TurnRecord((ANSWERED,)), offered_s=None)
    assert [ttft_from_schedule_ms(closed), e2e_from_schedule_ms(closed), schedule_lag_ms(closed)] == [None] * 3
