"""Asks for tool calls, natively or as text, asks again, and finds the calls in a text answer; it judges no answer.

Natively the sample's turn goes out as it is. As text no tools are declared: the question lists them with their schemas
and asks for a JSON array. ``agent_prompt`` replaces the wording in either format; in it ``{problem_statement}`` is the
query, followed in text format by the tools, which the model would otherwise never see.

Calls are read where they were asked for (``reading_of``): natively; in the text with ``answer_format: text``; and in
either place where ``answer_format`` is left at ``auto`` and the configured prompt asks for written calls, or the mode
is ``compat``, whose originals read nothing but text. Nobody else's text is read: a vendor that leaks calls fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import structs

from vendor_verifier.suites.tool_calls.calls import WRAPPER_KEYS, Call, Mode, kind_of, read_call
from vendor_verifier.suites.tool_calls.written_calls import written_calls
from vendor_verifier.values.record import Response
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import PayloadError, as_dict, parse_json

AnswerFormat = Literal["auto", "native", "text"]
# The places to read calls from; "either" means the text of an answer that makes no native call.
Reading = Literal["native", "text", "either"]
PLACEHOLDER = "{problem_statement}"
TEXT_PROMPT = """{problem_statement}

Answer with the tool calls that fulfil the request and with nothing else: one JSON array, in the order in which the \
tools are to be called. Each element is an object with "name", the tool, and "parameters", an object ({} for a tool \
without parameters). If no tool is needed, answer []."""
# This prompt mentions declared tools, so it is not sent where none are declared.
_TOOL_PARAMETERS = frozenset({"tool_choice", "parallel_tool_calls"})
NEUTRAL_RESULT = {"status": "ok"}
# A prompt that names a form calls are written in: JSON, tool_calls, or the keys of a call.
_WRITTEN_FORM = re.compile(
    r"json|tool_?calls?\b|[\"'`]name[\"'`].*[\"'`](parameters|arguments|args|input)[\"'`]", re.I | re.S
)


def asks_in_text(agent_prompt: str | None) -> bool:
    """Whether this wording of the question asks for calls written in the answer's text."""
    return agent_prompt is not None and _WRITTEN_FORM.search(agent_prompt) is not None


def reading_of(answer_format: AnswerFormat, agent_prompt: str | None, mode: Mode) -> Reading:
    """The place to read an answer's calls from; a format that was chosen always wins."""
    if answer_format != "auto":
        return answer_format
    return "either" if mode == "compat" or asks_in_text(agent_prompt) else "native"


def first_turn(turn: Turn, answer_format: AnswerFormat, agent_prompt: str | None) -> Turn:
    """The sample's turn in the wording and format asked for."""
    if answer_format != "text":
        return (
            turn if agent_prompt is None else structs.replace(turn, messages=_reworded(turn.messages, agent_prompt, ""))
        )
    parameters = {key: value for key, value in turn.parameters.items() if key not in _TOOL_PARAMETERS}
    return Turn(_reworded(turn.messages, agent_prompt or TEXT_PROMPT, _listed(turn.tools)), (), parameters)


def next_turn(turn: Turn, response: Response, calls: Sequence[Call], texts: Sequence[str], *, in_text: bool) -> Turn:
    """The turn after ``response``: what it called, natively or ``in_text``, and the tools' answers to it, in order."""
    if in_text:
        lines = [f"{call.name}: {text}" for call, text in zip(calls, texts, strict=True)]
        exchanged: list[Mapping[str, Any]] = [
            {"role": "assistant", "content": response.text},
            {"role": "user", "content": "\n".join(["Results of the tools:", *lines, "", _GO_ON])},
        ]
        return structs.replace(turn, messages=(*turn.messages, *exchanged))
    ids = [f"call_{len(turn.messages)}_{at}" for at in range(len(calls))]
    made = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.parameters, ensure_ascii=False)},
        }
        for call_id, call in zip(ids, calls, strict=True)
    ]
    answered = [{"role": "tool", "tool_call_id": one, "content": text} for one, text in zip(ids, texts, strict=True)]
    reply = {"role": "assistant", "content": response.text or None, "tool_calls": made}
    return structs.replace(turn, messages=(*turn.messages, reply, *answered))


_GO_ON = "Go on in the same format with the calls that are still needed; answer [] if there are none."


def tool_results(expected: Sequence[Call], earlier: Sequence[Call], calls: Sequence[Call]) -> list[str]:
    """The result of each of ``calls`` as JSON: the recorded output of the expected call it repeats, else a success.

    Of several expected calls of one tool the n-th call of it, ``earlier`` ones counted, gets the n-th output.
    """
    outputs: dict[str, list[object]] = {}
    for call in expected:
        outputs.setdefault(call.name, []).append(NEUTRAL_RESULT if call.output is None else call.output)
    for call in earlier:
        _take(outputs, call.name)
    return [json.dumps(_take(outputs, call.name), ensure_ascii=False) for call in calls]


def _take(outputs: Mapping[str, list[object]], name: str) -> object:
    left = outputs.get(name)
    return left.pop(0) if left else NEUTRAL_RESULT


def _reworded(messages: tuple[Mapping[str, Any], ...], prompt: str, tools: str) -> tuple[Mapping[str, Any], ...]:
    """The messages with the last user message in other words; a question without one gets one."""
    at = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "user"), len(messages))
    asked = messages[at] if at < len(messages) else {"role": "user", "content": ""}
    content = asked.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content if content else ""}]
    query = "\n".join(str(part.get("text", "")) for part in parts if _is_text(part))
    text = prompt.replace(PLACEHOLDER, "\n\n".join(piece for piece in (query, tools) if piece))
    others = [part for part in parts if not _is_text(part)]
    reworded = {**asked, "content": [{"type": "text", "text": text}, *others] if others else text}
    return (*messages[:at], reworded, *messages[at + 1 :])


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text"


def _listed(tools: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for tool in tools:
        function = as_dict(tool.get("function")) or tool
        shown = {key: function[key] for key in ("name", "description", "parameters") if key in function}
        lines.append(json.dumps(shown, ensure_ascii=False))
    return "\n".join(["Available tools, one JSON object per line:", *lines]) if lines else ""


MAX_FALSE_STARTS = 64
_FENCE = re.compile(r"`{3,}|~{3,}")
_INFO = re.compile(r"[^\n\[{]*")
_MARKUP = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
# Parts of an answer that stand beside calls and are none.
_OTHER_PARTS = frozenset({"text", "output_text", "thinking", "redacted_thinking", "reasoning", "message"})
_NOTHING = object()


class Extracted(msgspec.Struct, frozen=True):
    """The calls found, in order, or why what was found cannot be used (None when there simply were none)."""

    calls: tuple[Call, ...] = ()
    problem: str | None = None


def extract_calls(text: object, tools: Collection[str] = ()) -> Extracted:
    """The tool calls written in ``text``, as JSON or, of these ``tools``, as ``name(key="value")``.

    Never raises; malformed calls are kept with their reason.
    """
    if not isinstance(text, str):
        return Extracted(problem=f"the answer is a text, read {kind_of(text)}")
    whole = calls_in(_json(text))
    if whole is not None:
        return _extracted(whole)
    found = _fenced(text) or _marked_up(text) or _lines(text)
    if found:
        return _extracted(found)
    prose = _prose(text)
    return prose if prose.calls or prose.problem else Extracted(written_calls(text, tools))


def names_of(tools: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The names of declared tools."""
    names = ((as_dict(tool.get("function")) or tool).get("name") for tool in tools)
    return frozenset(name for name in names if isinstance(name, str) and name)


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
    """The texts between a fence and the next one of its kind that is at least as long, or the end of the text."""
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
