"""Tool calls in one form, read from a data set, from a wire, or from the text of an answer."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from vendor_verifier.records.record import ToolCall
from vendor_verifier.wire.payload import PayloadError, as_dict, parse_json

WRAPPER_KEYS = ("function", "functionCall", "function_call")
# The names of a call's parameters, in data sets and on the wires.
_PARAMETER_KEYS = ("parameters", "arguments", "args", "input")
_FENCE = re.compile(r"```(?:json)?\s*\n")
_JSON_WORDS = {"true": True, "false": False, "null": None}
# No right answer writes more calls in prose; a hostile one costs no more.
_MOST_WRITTEN = 64


class Call(msgspec.Struct, frozen=True):
    """One call. ``problem`` says why it cannot be read; it was made, so it counts, but nothing in it is right.

    Only expected calls have an ``output``, what a recorded tool answered, and ``any_parameters``, for a bare name.
    """

    name: str
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    problem: str | None = None
    output: Any = None
    any_parameters: bool = False


def read_call(value: object) -> Call:
    """A call in the spelling of any wire; a bare text is a name with any parameters. Never raises."""
    if isinstance(value, str) and value:
        return Call(value, any_parameters=True)
    if isinstance(value, ToolCall):
        value = {"name": value.name, "arguments": value.arguments}
    if not isinstance(value, Mapping):
        return Call("", problem=f"a call is an object, read {value!r:.60}")
    wrapped = [value[key] for key in WRAPPER_KEYS if isinstance(value.get(key), Mapping)]
    body = wrapped[0] if wrapped and not isinstance(value.get("name"), str) else value
    name = body.get("name")
    given: Any = next((body[key] for key in _PARAMETER_KEYS if body.get(key) is not None), {})
    if isinstance(given, str):
        try:
            given = (parse_json(given) if given.strip() else None) or {}
        except PayloadError as error:
            return Call(str(name), problem=f"{name}: the parameters are not JSON: {error}")
    return _checked(name, given, value.get("output"))


def _checked(name: object, parameters: object, output: object = None) -> Call:
    if not isinstance(name, str) or not name:
        return Call("", problem=f"a call has a text as its name, read {name!r:.60}")
    if not isinstance(parameters, Mapping):
        return Call(name, problem=f"{name}: the parameters are an object, read {parameters!r:.60}")
    return Call(name, parameters, output=output)


def read_calls(value: object) -> tuple[Call, ...]:
    """The calls of a row: an array, one object, or either as JSON text. Never raises: see :func:`first_problem`."""
    if isinstance(value, str):
        try:
            value = parse_json(value) if value.strip() else None
        except PayloadError as error:
            return (Call("", problem=f"it is not JSON: {error}"),)
    if isinstance(value, (list, tuple)):
        return tuple(map(read_call, value))
    return (read_call(value),) if value else ()


def first_problem(calls: Sequence[Call]) -> str | None:
    """The problem of the first call that cannot be read, or None."""
    return next((f"call {at} is malformed: {call.problem}" for at, call in enumerate(calls, 1) if call.problem), None)


def calls_in_text(text: object, tools: Collection[str] | None = None) -> tuple[Call, ...]:
    """The calls in an answer's text; never raises.

    The whole text is JSON: an array of calls, or an object that is a call; else the first array or object in a fenced
    block counts. A fence, bare or of ``json``, ends at the next one that begins a line. With ``tools`` the text is read
    as by MCPToolBench++: an object has ``tool_calls``, and without JSON every call of these tools that is written as
    ``name(key="value")`` counts.
    """
    value = _json(text)
    if tools is not None and value is not None:
        return _text_calls(value.get("tool_calls") if isinstance(value, dict) else value)
    if isinstance(value, list):
        return _text_calls([item for item in value if isinstance(item, dict)])
    begin = 0
    while not isinstance(value, (list, dict)) and isinstance(text, str) and (fence := _FENCE.search(text, begin)):
        end = text.find("\n```", fence.end())
        if end < 0:
            break
        value, begin = _json(text[fence.end() : end]), end + 4
    found = _text_calls([value] if isinstance(value, dict) else value)
    if found or not tools:
        return found
    names = "|".join(re.escape(name) for name in sorted(tools, key=len, reverse=True))
    matches = re.finditer(rf"(?<![\w.-])({names})\(([^()]{{0,2000}})\)", str(text))
    return tuple(
        _written_call(*each) for each in dict.fromkeys(match.groups() for match in islice(matches, _MOST_WRITTEN))
    )


def _json(text: object) -> Any:
    """The value that a text is, None where it is none."""
    try:
        return parse_json(text) if isinstance(text, str) else None
    except PayloadError:
        return None


def _text_calls(items: object) -> tuple[Call, ...]:
    """Calls as the originals read them in a text: ``name`` and ``parameters``, under no other key."""
    found = items if isinstance(items, list) else []
    return tuple(_checked(as_dict(item).get("name"), as_dict(item).get("parameters", {})) for item in found)


def _written_call(name: str, arguments: str) -> Call:
    """A call that prose spells; its values are literals of Python or JSON, and nothing is run."""
    try:
        call = ast.parse(f"call({arguments})", mode="eval").body
        assert isinstance(call, ast.Call)
        given: dict[str, Any] = {}
        for each in call.keywords:
            word = each.value.id if isinstance(each.value, ast.Name) else None
            given[str(each.arg)] = _JSON_WORDS[word] if word in _JSON_WORDS else ast.literal_eval(each.value)
        if call.args or None in (each.arg for each in call.keywords):
            raise SyntaxError("an argument has no name")
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return Call(name, problem=f"{name}: the arguments are not names with literals")
    return Call(name, given)


def reply_with_calls(
    text: str, calls: Sequence[tuple[str, str, Mapping[str, Any]]], results: Sequence[str]
) -> list[dict[str, Any]]:
    """A reply's messages as the next request has them: its calls (id, name, arguments) and the tools' results."""
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False)}}
        for id, name, given in calls
    ]
    told = [{"role": "tool", "tool_call_id": id, "content": one} for (id, *_), one in zip(calls, results, strict=True)]
    return [{"role": "assistant", "content": text or None, "tool_calls": made}, *told]


def same_value(one: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, true is neither."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def right_parameters(wanted: Call, given: Call) -> int:
    """The number of expected parameters that were given with the expected value; an absent one is never right."""
    answered = given.parameters
    return sum(key in answered and same_value(value, answered[key]) for key, value in wanted.parameters.items())
