"""Whether a stored record's numbers can have been measured; a damaged or forged line must not spoil a whole report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from vendor_verifier.values.record import Attempt, Record

# Beyond it JSON's readers disagree on what a number is; as nanoseconds it is a hundred days.
MAX_NUMBER = 2**53
_OF_RECORD = ("repetition", "block")
# Before the request was sent they are negative.
_MOMENTS = (
    "end_ns", "scheduled_ns", "connect_ns", "headers_ns", "first_event_ns", "first_token_ns", "first_answer_ns",
    "last_token_ns",
)  # fmt: skip
_LENGTHS = ("first_chunk_share", "dns_ns", "tcp_ns", "tls_ns")
_USAGE = ("input", "output", "cached", "reasoning", "cost_usd")
_FAILURE = ("status", "retry_after_s")
_of_record, _moments, _lengths = attrgetter(*_OF_RECORD), attrgetter(*_MOMENTS), attrgetter(*_LENGTHS)
_usage, _failure = attrgetter(*_USAGE), attrgetter(*_FAILURE)

# Names, their numbers, and the least that each can be.
_Group = tuple[Sequence[str], Sequence[float | None], int]


def implausible(record: Record) -> str | None:
    """The first number that no run can have measured, in words, or None."""
    for names, values, least in _groups(record):
        for place, value in enumerate(values):
            # Not "<": a float that is no number is in no range.
            if value is not None and not least <= value <= MAX_NUMBER:
                return f"{names[place]} is {str(value)[:24]}; expected a number from {least} to 2^53"
    return None


def _groups(record: Record) -> Iterator[_Group]:
    yield _OF_RECORD, _of_record(record), 0
    if record.offered_s is not None:
        yield ("offered_s",), (record.offered_s,), -MAX_NUMBER
    for turn in record.turns:
        for attempt in turn.attempts:
            yield from _of_attempt(attempt)
    if record.score is not None:
        yield tuple(record.score.values), tuple(record.score.values.values()), 0


def _of_attempt(attempt: Attempt) -> Iterator[_Group]:
    timing, response, failure = attempt.timing, attempt.response, attempt.failure
    yield ("number",), (attempt.number,), 0
    if timing is not None:
        yield _MOMENTS, _moments(timing), -MAX_NUMBER
        yield _LENGTHS, _lengths(timing), 0
        if timing.gaps_ns:
            yield ("gaps_ns", "gaps_ns"), (min(timing.gaps_ns), max(timing.gaps_ns)), 0
    if response is not None and response.usage is not None:
        yield _USAGE, _usage(response.usage), 0
    if failure is not None:
        yield _FAILURE, _failure(failure), 0
