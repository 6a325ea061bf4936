"""Tool calls joined from pieces: a row of ``calls.jsonl`` for each way in which hosts number, repeat or split them.

A piece is index, id, name and arguments; an expected call is name, arguments, id and anomalies.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.record import ToolCall
from vendor_verifier.wire import tool_calls
from vendor_verifier.wire.payload import parse_json
from vendor_verifier.wire.tool_calls import MAX_CALLS, MAX_PARSED, CallPiece, ToolCalls

ROWS = [json.loads(line) for line in (Path(__file__).parent / "calls.jsonl").read_bytes().splitlines()]


def joined(*pieces: CallPiece) -> tuple[ToolCall, ...]:
    calls = ToolCalls()
    for piece in pieces:
        calls.add(piece)
    return calls.joined()


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_pieces_make_the_calls_that_were_meant(row: dict[str, Any]) -> None:
    """Whatever a host repeats, leaves out or numbers oddly; nothing is repaired."""
    calls = joined(*(CallPiece(*piece) for piece in row["pieces"]))
    assert [[call.name, call.arguments, call.id, list(call.anomalies)] for call in calls] == row["expected"]


def test_number_of_calls_is_bounded() -> None:
    """A host that begins calls without end gets a fixed number of them."""
    assert len(joined(*(CallPiece(index, f"id{index}", "f", "{}") for index in range(MAX_CALLS + 500)))) == MAX_CALLS


def test_looking_for_the_end_of_a_call_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of pieces may each look like a new call after long arguments: few characters are parsed."""
    parsed: list[int] = []

    def counted(text: str, most: int) -> Any:
        parsed.append(len(text))
        return parse_json(text, most=most)

    monkeypatch.setattr(tool_calls, "parse_json", counted)
    long = '{"a": "' + "x" * 2_000_000 + '"} }'
    assert len(joined(CallPiece(None, None, "f", long), *[CallPiece(None, None, "f", "{}")] * 5_000)) == 1
    assert MAX_PARSED < sum(parsed) <= MAX_PARSED + len(long) + 2 * 5_000


NAMES = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_.-]{0,12}\Z")
OBJECTS = st.dictionaries(
    st.text(max_size=5), st.integers() | st.text(max_size=8) | st.lists(st.booleans(), max_size=3)
)
CALLS = st.lists(st.tuples(NAMES, OBJECTS.map(json.dumps)), min_size=1, max_size=4)


@given(CALLS, st.data(), st.booleans(), st.booleans())
def test_random_splits_of_calls_come_together_again(
    calls: list[tuple[str, str]], data: st.DataObject, has_index: bool, repeats: bool
) -> None:
    """Interleaved by index, with or without repeated names; or one after the other without any index."""
    queues: list[list[CallPiece]] = []
    for number, (name, arguments) in enumerate(calls):
        places = sorted(data.draw(st.lists(st.integers(0, len(arguments)), max_size=6)))
        parts = [arguments[start:end] for start, end in zip([0, *places], [*places, len(arguments)], strict=True)]
        index = number if has_index else None
        later = (f"id{number}", name if repeats else None) if has_index else (None, None)
        pieces = [CallPiece(index, *(later if at else (f"id{number}", name)), part) for at, part in enumerate(parts)]
        queues.append(pieces)
    sent = [queue.pop(0) for queue in queues] if has_index else []
    while any(queues):
        waiting = [queue for queue in queues if queue]
        sent.append((data.draw(st.sampled_from(waiting)) if has_index else waiting[0]).pop(0))
    assert [(call.name, call.arguments) for call in joined(*sent)] == calls


PIECES = st.builds(
    CallPiece,
    st.none() | st.integers(),
    st.none() | st.sampled_from(["", "a", "b"]),
    st.none() | st.sampled_from(["", "f", "get_", "\ud800"]),
    st.none()
    | st.sampled_from(["", "{", "}", "{}", '{"a":1}', "]"])
    | st.dictionaries(st.text(), st.integers(), max_size=2),
)


@given(st.lists(PIECES, max_size=30))
def test_no_order_of_pieces_raises_or_loses_text(pieces: list[CallPiece]) -> None:
    """Every character of text arguments ends up in some call."""
    sent = sum(len(piece.arguments) for piece in pieces if isinstance(piece.arguments, str))
    assert sum(len(call.arguments) for call in joined(*pieces)) >= sent
