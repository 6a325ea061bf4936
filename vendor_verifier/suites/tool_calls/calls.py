"""Tool calls in one form, read from a data set, from a wire, or from the text of an answer."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from vendor_verifier.values.event import ToolCall
from vendor_verifier.wire.payload import PayloadError, parse_json

WRAPPER_KEYS = ("function", "functionCall", "function_call")
_OPENER = re.compile(r"```(?:json)?\s*\n")
_JSON_WORDS = {"true": True, "false": False, "null": None}
_NO_JSON = object()


class Call(msgspec.Struct, frozen=True):
    """One call. ``problem`` says why it cannot be read; it was made, so it counts, but nothing in it is right.

    Only expected calls have an ``output``, what a recorded tool answered, and ``any_parameters``, for a bare name.
    """

    name: str
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    problem: str | None = None
    output: Any = None
    any_parameters: bool = False


class Expectation(msgspec.Struct, frozen=True):
    """The calls that a sample expects, or the ``problem`` that leaves the sample out of every score."""

    calls: tuple[Call, ...] = ()
    problem: str | None = None


def kind_of(value: object) -> str:
    """The JSON type of a value, in words."""
    words = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "an array", dict: "an object"}
    return "nothing" if value is None else words.get(type(value), f"a {type(value).__name__}")


def read_call(value: object) -> Call:
    """A call in the spelling of any wire; a bare text is a name with any parameters. Never raises."""
    if isinstance(value, str) and value:
        return Call(value, any_parameters=True)
    if not isinstance(value, Mapping):
        return Call("", problem=f"a call is an object, read {kind_of(value)}")
    wrapped = [value[key] for key in WRAPPER_KEYS if isinstance(value.get(key), Mapping)]
    body = wrapped[0] if wrapped and not isinstance(value.get("name"), str) else value
    name = body.get("name")
    if not isinstance(name, str) or not name:
        return Call("", problem=f"a call has a text as its name, read {kind_of(name)}")
    keys = ("parameters", "arguments", "args", "input")
    given: Any = next((body[key] for key in keys if body.get(key) is not None), {})
    if isinstance(given, str):
        try:
            given = (parse_json(given) if given.strip() else None) or {}
        except PayloadError as error:
            return Call(name, problem=f"{name}: the parameters are not JSON: {error}")
    if not isinstance(given, Mapping):
        return Call(name, problem=f"{name}: the parameters are an object, read {kind_of(given)}")
    return Call(name, given, output=value.get("output"))


def read_native(call: ToolCall) -> Call:
    """A call that a wire delivered; no arguments at all are no parameters."""
    return read_call({"name": call.name, "arguments": call.arguments})


def read_expectation(value: object) -> Expectation:
    """The expected calls of a row: an array, one object, or either as JSON text. Never raises."""
    if isinstance(value, str) and value.strip():
        try:
            value = parse_json(value)
        except PayloadError as error:
            return Expectation(problem=f"the calls are not JSON: {error}")
    items = [value] if isinstance(value, Mapping) and value else value or []
    if not isinstance(items, (list, tuple)):
        return Expectation(problem=f"the calls are an array of objects, read {kind_of(value)}")
    calls = tuple(read_call(item) for item in items)
    problem = next((f"call {at}: {call.problem}" for at, call in enumerate(calls, 1) if call.problem), None)
    return Expectation(calls, problem)


def first_problem(calls: Sequence[Call]) -> str | None:
    """The problem of the first call that cannot be read, or None."""
    return next((f"call {at} is malformed: {call.problem}" for at, call in enumerate(calls, 1) if call.problem), None)


def calls_in_text(text: object) -> tuple[Call, ...]:
    """The calls in an answer's text as ToolBench reads them; never raises.

    The whole text is JSON, an array of calls or one call; else the first array or object in a fenced block counts. A
    fence, bare or of ``json``, ends at the next one of its kind that begins a line.
    """
    value = _json(text)
    if isinstance(value, list):
        return tuple(_text_call(item) for item in value if isinstance(item, dict))
    begin = 0
    while not isinstance(value, (list, dict)) and isinstance(text, str) and (opener := _OPENER.search(text, begin)):
        end = text.find("\n```", opener.end())
        if end < 0:
            return ()
        value, begin = _json(text[opener.end() : end]), end + 4
    items = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    return tuple(_text_call(item) for item in items)


def mcp_calls_in_text(text: object, tools: Collection[str] = ()) -> tuple[Call, ...]:
    """The calls in an answer's text as MCPToolBench++ reads them; never raises.

    The whole text is JSON, an array of calls or an object with ``tool_calls``. In a text that is not JSON a fenced
    block is read, else every call of these ``tools`` that is written as ``name(key="value")``.
    """
    value = _json(text)
    if value is _NO_JSON:
        return calls_in_text(text) or _written_calls(str(text), tools)
    found = value.get("tool_calls") if isinstance(value, dict) else value if isinstance(value, list) else None
    return tuple(_text_call(item) for item in (found if isinstance(found, list) else [found] if found else []))


def _json(text: object) -> Any:
    """The value that a text is, by the reader of the originals; ``_NO_JSON`` where it is none."""
    try:
        return json.loads(text) if isinstance(text, str) else _NO_JSON
    except (ValueError, RecursionError):
        return _NO_JSON


def _text_call(item: object) -> Call:
    """A call as the originals read it: ``name`` and ``parameters``, under no other key."""
    if not isinstance(item, dict):
        return Call("", problem=f"a call is an object, read {kind_of(item)}")
    name, given = item.get("name", ""), item.get("parameters", {})
    if isinstance(name, (list, dict)):
        return Call("", problem=f"a call has a text as its name, read {kind_of(name)}")
    name = name if isinstance(name, str) else ""
    if not isinstance(given, dict):
        return Call(name, problem=f"{name}: the parameters are an object, read {kind_of(given)}")
    return Call(name, given)


def _written_calls(text: str, tools: Collection[str]) -> tuple[Call, ...]:
    """The different calls that prose spells ``name(key="value")``; values are literals, and nothing is run."""
    names = "|".join(re.escape(name) for name in sorted(tools, key=len, reverse=True)) or "(?!)"
    found: dict[str, Call] = {}
    for match in re.finditer(rf"(?<![\w.-])({names})\(([^()]{{0,2000}})\)", text):
        try:
            call = ast.parse(f"call({match[2]})", mode="eval").body
            if not isinstance(call, ast.Call) or call.args or any(one.arg is None for one in call.keywords):
                raise SyntaxError("an argument has no name")
            found[match[0]] = Call(match[1], {str(one.arg): _literal(one.value) for one in call.keywords})
        except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
            found[match[0]] = Call(match[1], problem=f"{match[1]}: the arguments are not names with literals")
        # No right answer has so many; a hostile one costs no more.
        if len(found) >= 64:
            break
    return tuple(found.values())


def _literal(node: ast.expr) -> object:
    """The value of a literal of Python, or of one of JSON's words."""
    return _JSON_WORDS[node.id] if isinstance(node, ast.Name) and node.id in _JSON_WORDS else ast.literal_eval(node)


def same_value(one: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, true is not 1. Deep values cost no stack."""
    pending = [(one, other)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
            pending.extend((left[key], right[key]) for key in left)
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pending.extend(zip(left, right, strict=True))
        elif isinstance(left, (dict, list)) or (isinstance(left, bool) != isinstance(right, bool)) or left != right:
            return False
    return True


def right_parameters(wanted: Call, given: Call) -> int:
    """The number of expected parameters that were given with the expected value; an absent one is never right."""
    answered = given.parameters
    return sum(key in answered and same_value(value, answered[key]) for key, value in wanted.parameters.items())
