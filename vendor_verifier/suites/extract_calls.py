"""Finds tool calls in an answer's text, in every layout models are known to use; it does not guess at prose.

Looked for, in this order; the first layout that holds a call wins:

1. the whole text is JSON: an array of calls, one call, ``{"tool_calls": [...]}``, or a whole answer of a known wire
   (chat completions, Responses, Anthropic, Gemini);
2. fenced blocks, whatever their language and however many: the calls of all of them in order;
3. ``<tool_call>`` markup, all of it in order;
4. JSON Lines: every line that is not blank is an array or object;
5. prose around exactly one JSON value that holds calls. Two of them are ambiguous and give a problem, not calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.suites.calls import WRAPPER_KEYS, Call, kind_of, read_call
from vendor_verifier.wire.payload import PayloadError, parse_json

MAX_FALSE_STARTS = 64
_FENCE = re.compile(r"`{3,}|~{3,}")
_INFO = re.compile(r"[^\n\[{]*")
_MARKUP = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
# Parts of an answer that stand beside calls and are none.
_OTHER_PARTS = frozenset({"text", "output_text", "thinking", "redacted_thinking", "reasoning", "message"})
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Extracted:
    """The calls found, in order, or why what was found cannot be used (None when there simply were none)."""

    calls: tuple[Call, ...] = ()
    problem: str | None = None


def extract_calls(text: object) -> Extracted:
    """The tool calls written in ``text``. Never raises; malformed calls are kept with their reason."""
    if not isinstance(text, str):
        return Extracted(problem=f"the answer is a text, read {kind_of(text)}")
    whole = calls_in(_json(text))
    if whole is not None:
        return _extracted(whole)
    found = _fenced(text) or _marked_up(text) or _lines(text)
    return _extracted(found) if found else _prose(text)


def calls_in(value: object) -> list[object] | None:
    """The objects that spell calls inside a JSON value, in order; None when the value is no list of calls."""
    if isinstance(value, list):
        return _members(value)
    if not isinstance(value, dict):
        return None
    for key in ("tool_calls", "output", "content", "parts"):
        if isinstance(value.get(key), list) and not isinstance(value.get("name"), str):
            return _members(value[key])
    for key in ("choices", "candidates"):
        if isinstance(value.get(key), list) and value[key]:
            return calls_in(value[key][0])
    for key in ("message", "content"):
        if isinstance(value.get(key), dict):
            return calls_in(value[key])
    return [value] if _spells_call(value) else None


def _members(items: list[object]) -> list[object]:
    found: list[object] = []
    for item in items:
        if isinstance(item, dict) and not _spells_call(item):
            inner = calls_in(item)
            if inner is not None:
                found.extend(inner)
            elif item.get("type") not in _OTHER_PARTS and set(item) != {"text"} and "role" not in item:
                found.append(item)
        else:
            found.append(item)
    return found


def _spells_call(value: Mapping[str, Any]) -> bool:
    named = isinstance(value.get("name"), str) and "role" not in value
    return named or any(isinstance(value.get(key), dict) for key in WRAPPER_KEYS)


def _extracted(spelled: Iterable[object]) -> Extracted:
    """A bare text is a name in an expectation, and only a text in an answer."""
    return Extracted(
        tuple(
            Call("", problem="a call is an object, read a text") if isinstance(item, str) else read_call(item)
            for item in spelled
        )
    )


def _holding(value: object) -> list[object]:
    """The calls in ``value`` if it holds at least one that looks like a call, else none."""
    found = calls_in(value) or []
    return found if any(isinstance(item, dict) and _spells_call(item) for item in found) else []


def _json(text: str) -> object:
    try:
        return parse_json(text)
    except PayloadError:
        return _NOTHING


def _fenced(text: str) -> list[object]:
    return [call for block in _blocks(text) for call in (_holding(_json(block)) or _lines(block))]


def _blocks(text: str) -> Iterator[str]:
    """What stands between a fence and the next one of its kind that is at least as long, or the end of the text."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence.group()[0] == opened.group()[0] and len(fence.group()) >= len(opened.group()):
            yield _without_info(text[opened.end() : fence.start()])
            opened = None
    if opened is not None:
        yield _without_info(text[opened.end() :])


def _without_info(block: str) -> str:
    info = _INFO.match(block)
    return block[info.end() :] if info else block


def _marked_up(text: str) -> list[object]:
    found: list[object] = []
    for match in _MARKUP.finditer(text):
        value = _json(match.group(1))
        found.extend(_lines(match.group(1)) or [None] if value is _NOTHING else calls_in(value) or [value])
    return found


def _lines(text: str) -> list[object]:
    values = [_json(line) for line in text.splitlines() if line.strip()]
    if not all(isinstance(value, (dict, list)) for value in values):
        return []
    found = [_holding(value) for value in values]
    return [call for calls in found for call in calls] if all(found) else []


def _prose(text: str) -> Extracted:
    found = [calls for calls in map(_holding, _values(text)) if calls]
    if len(found) > 1:
        return Extracted(problem=f"{len(found)} JSON values in prose hold calls; which one is meant is not said")
    return _extracted(item for calls in found for item in calls)


def _values(text: str) -> Iterator[object]:
    """The outermost JSON arrays and objects in prose, left to right; gives up after many brackets that open none."""
    decoder = json.JSONDecoder()
    position, false_starts = 0, 0
    while false_starts < MAX_FALSE_STARTS:
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        try:
            _, position = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            position = opening.end()
            false_starts += 1
            continue
        yield _json(text[opening.start() : position])
