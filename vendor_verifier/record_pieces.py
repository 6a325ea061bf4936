"""Encodes a long record piece by piece, so that an event loop may serve others between any two of them.

To encode a million characters that all have to be escaped takes ten milliseconds, in which no other stream is read.
What is long is encoded by itself and put into holes of what is encoded around it, each a byte that JSON never holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Record, Response, TurnRecord
from vendor_verifier.records.steps import Steps
from vendor_verifier.records.tool_use import ToolResult

# So many characters take half a millisecond at most.
_PIECE = 64 * 1024
# The name and the id of a call may be as long together, whatever its arguments are.
_CALL = 1024
_HOLE = msgspec.Raw(b"\0")

Pieces = list[bytes]


def is_long(record: Record) -> bool:
    """Whether the texts of a record are more than one piece."""
    characters = 0
    for turn in record.turns:
        for attempt in turn.attempts:
            if attempt.response is not None:
                characters += _characters(attempt.response)
        for result in turn.tool_results:
            characters += _CALL + len(result.text)
    return characters > _PIECE


def _characters(response: Response) -> int:
    calls = sum([_CALL + len(call.arguments) for call in response.tool_calls]) if response.tool_calls else 0
    return len(response.text) + len(response.reasoning) + calls


def pieces_of(record: Record) -> Steps[Pieces]:
    """The JSON of a record in pieces, which together are what it is encoded to at once.

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate.
    """
    turns: list[TurnRecord] = []
    filling: list[Pieces] = []
    for turn in record.turns:
        attempts = []
        for attempt in turn.attempts:
            attempts.append((yield from _attempt(attempt)))
            yield
        results = yield from _each(turn.tool_results, "text")
        filling += [*attempts, *results]
        turns.append(structs.replace(turn, attempts=_holes(attempts), tool_results=_holes(results)))
    return _filled(structs.replace(record, turns=tuple(turns)), filling)


def _attempt(attempt: Attempt) -> Steps[Pieces]:
    response = attempt.response
    if response is None:
        return [msgspec.json.encode(attempt)]
    text = yield from _text(response.text)
    reasoning = yield from _text(response.reasoning)
    calls = yield from _each(response.tool_calls, "arguments")
    hollow = structs.replace(response, text=_HOLE, reasoning=_HOLE, tool_calls=_holes(calls))
    return _filled(structs.replace(attempt, response=hollow), [text, reasoning, *calls])


def _each(parts: Sequence[ToolCall | ToolResult], name: str) -> Steps[list[Pieces]]:
    """The pieces of each call or result, of which the text in the field ``name`` may be long."""
    found, characters = [], 0
    for part in parts:
        characters += _CALL + len(getattr(part, name))
        if characters > _PIECE:
            characters = 0
            yield
        if len(getattr(part, name)) > _PIECE:
            text = yield from _text(getattr(part, name))
            found.append(_filled(structs.replace(part, **{name: _HOLE}), [text]))
        else:
            found.append([msgspec.json.encode(part)])
    return found


def _text(text: str) -> Steps[Pieces]:
    """The pieces of a text, of which JSON encodes each character by itself."""
    found = [b'"']
    for start in range(0, len(text), _PIECE):
        if start:
            yield
        found.append(msgspec.json.encode(text[start : start + _PIECE])[1:-1])
    return [*found, b'"']


def _holes(parts: Sequence[Pieces]) -> tuple[msgspec.Raw, ...]:
    return (_HOLE,) * len(parts)


def _filled(hollow: Any, filling: Sequence[Pieces]) -> Pieces:
    """The pieces of a value, given those that fill its holes in their order."""
    first, *others = msgspec.json.encode(hollow).split(b"\0")
    found = [first]
    for pieces, after in zip(filling, others, strict=True):
        found += [*pieces, after]
    return found
