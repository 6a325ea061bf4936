"""A record encoded piece by piece is the same line as one encoded at once, and no step of it is long."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier import record_pieces
from vendor_verifier.record_pieces import is_long, pieces_of
from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.steps import at_once
from vendor_verifier.records.tool_use import ToolResult
from vendor_verifier.store import decode_record, encode_record, encode_record_in_steps

# Whatever JSON escapes or leaves, one to four bytes wide, and the byte that stands for a hole.
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\/\0\x01\x1f\x7f\b\n\r\t\u2028é長😀'), max_size=60)
CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, st.none() | TEXTS, st.just(("an anomaly",))), max_size=4)
RESPONSES = st.builds(
    Response, text=TEXTS, reasoning=TEXTS, tool_calls=CALLS.map(tuple), served_model=st.none() | TEXTS
)
ATTEMPTS = st.builds(
    Attempt,
    st.integers(0, 9),
    st.none() | st.builds(Timing, TEXTS, st.integers(0, 9), gaps_ns=st.lists(st.integers(0, 9)).map(tuple)),
    st.none() | RESPONSES,
    st.none() | st.builds(Failure, st.just("dns"), st.just("dns"), TEXTS),
)
RESULTS = st.lists(st.builds(ToolResult, TEXTS, st.just("ok"), TEXTS, st.integers(0, 9)), max_size=3)
TURNS = st.builds(
    TurnRecord, st.lists(ATTEMPTS, max_size=3).map(tuple), st.just(("a note",)), tool_results=RESULTS.map(tuple)
)
RECORDS = st.builds(Record, TEXTS, *map(st.just, "mlvsx"), st.just(0), st.lists(TURNS, max_size=3).map(tuple))
M = 1024 * 1024


def answered(text: str = "", reasoning: str = "", calls: tuple[ToolCall, ...] = ()) -> Record:
    attempt = Attempt(1, None, Response(text, reasoning, calls))
    return Record("r", "m", "l", "v", "s", "x", 0, (TurnRecord((attempt,)),))


@given(record=RECORDS, characters=st.integers(1, 20))
def test_pieces_are_the_line(record: Record, characters: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_pieces, "_PIECE", characters)
        assert b"".join(at_once(pieces_of(record))) == msgspec.json.encode(record)
        assert encode_record(record) == msgspec.json.encode(record) + b"\n"


def test_half_a_pair_in_a_long_text_costs_itself_alone() -> None:
    """Wherever it stands; two halves that stand beside each other are a character."""
    record = answered("a" * M + "\ud800b\ud83d\ude00")
    read = decode_record(encode_record(record))
    assert read.final is not None
    assert read.final.response is not None
    assert read.final.response.text == "a" * M + "\ufffdb😀"


LONG = {
    "an answer": answered("\x01" * M),
    "reasoning": answered(reasoning="\x01" * M),
    "arguments": answered(calls=(ToolCall("f", "\x01" * M),)),
    "many calls": answered(calls=(ToolCall("f" * 400, "\x01" * 500, "\x01" * 500),) * 1024),
    "results": Record(
        *"rmlvsx", 0, (TurnRecord((), tool_results=(ToolResult("f", "ok", "\x01" * 9999),) * 100),)
    ),
    "a text of every try": Record(
        *"rmlvsx", 0, (TurnRecord(tuple(Attempt(n, None, Response("\x01" * 60_000)) for n in range(9))),)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LONG)
def test_no_step_takes_long(what: str) -> None:
    """The least of some tries is what our own code takes of the processor."""
    least_s = min(longest_step_s(LONG[what]) for _ in range(10))
    assert least_s < 0.005


def longest_step_s(record: Record) -> float:
    steps, longest_s = encode_record_in_steps(record), 0.0
    while True:
        began_s = time.thread_time()
        is_over = next(steps, "over") == "over"
        longest_s = max(longest_s, time.thread_time() - began_s)
        if is_over:
            return longest_s


def test_a_short_record_is_encoded_at_once() -> None:
    assert not is_long(answered("a" * 60_000))
    assert list(encode_record_in_steps(answered("a" * 60_000))) == []
