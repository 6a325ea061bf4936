"""The normal form of a tool call, expected or answered, in any of its spellings.

``{name, parameters}`` is read from a plain object, from chat-completions (``function: {name, arguments}``), Responses,
Anthropic (``input``) and Gemini (``functionCall: {name, args}``) calls. A call that cannot be read is kept with the
reason: it was made, so it counts, but it can be right in nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from vendor_verifier.errors import UsageError
from vendor_verifier.values.event import ToolCall
from vendor_verifier.wire.payload import PayloadError, parse_json

PARAMETER_KEYS = ("parameters", "arguments", "args", "input")
WRAPPER_KEYS = ("function", "functionCall", "function_call")


class Call(msgspec.Struct, frozen=True):
    """One call. ``problem`` says why it is malformed; ``name`` is then "" if it had none and ``parameters`` are empty.

    Only expected calls have an ``output``, what a recorded tool answered, and ``any_parameters``, for a bare name.
    """

    name: str
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    problem: str | None = None
    output: Any = None
    any_parameters: bool = False


class Expectation(msgspec.Struct, frozen=True):
    """The calls that a sample expects, or the ``problem`` that makes it unusable and leaves it out of every score."""

    calls: tuple[Call, ...] = ()
    problem: str | None = None


def read_call(value: object) -> Call:
    """The call an object spells; a bare text is a name with any parameters. Never raises."""
    if isinstance(value, str) and value:
        return Call(value, any_parameters=True)
    if not isinstance(value, Mapping):
        return Call("", problem=f"a call is an object, read {kind_of(value)}")
    body = unwrapped(value)
    name = body.get("name")
    if not isinstance(name, str) or not name:
        return Call("", problem=f"a call has a text as its name, read {kind_of(name)}")
    spelled = next((body[key] for key in PARAMETER_KEYS if body.get(key) is not None), None)
    parameters, problem = _read_parameters(spelled)
    return Call(name, parameters, f"{name}: {problem}" if problem else None, value.get("output"))


def read_native(call: ToolCall) -> Call:
    """The normal form of a call that a wire has read; no arguments at all are no parameters."""
    return read_call({"name": call.name, "arguments": call.arguments})


def read_expectation(value: object) -> Expectation:
    """The expected calls of a row: an array, one object, or either as JSON text. Never raises."""
    if isinstance(value, str) and value.strip():
        try:
            value = parse_json(value)
        except PayloadError as error:
            return Expectation(problem=f"the expected calls are not JSON: {error}")
    if isinstance(value, Mapping) and value:
        value = [value]
    if not value:
        return Expectation()
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return Expectation(problem=f"the expected calls are an array of objects, read {kind_of(value)}")
    calls = tuple(read_call(item) for item in value)
    problem = next((f"expected call {at}: {call.problem}" for at, call in enumerate(calls, 1) if call.problem), None)
    return Expectation(calls, problem)


def unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that holds name and parameters: the one inside a wire's wrapper, unless the name is outside."""
    if not isinstance(value.get("name"), str):
        for key in WRAPPER_KEYS:
            inner = value.get(key)
            if isinstance(inner, Mapping):
                return inner
    return value


def first_problem(calls: Sequence[Call]) -> str | None:
    """The problem of the first malformed call, or None when all can be read."""
    return next((f"call {at} is malformed: {call.problem}" for at, call in enumerate(calls, 1) if call.problem), None)


def kind_of(value: object) -> str:
    """A value's JSON type, in words."""
    words: tuple[tuple[type, str], ...] = (
        (bool, "a boolean"), (int, "a number"), (float, "a number"), (str, "a text"), (list, "an array"),
        (Mapping, "an object"),
    )  # fmt: skip
    if value is None:
        return "nothing"
    if value == "":
        return "an empty text"
    return next((word for kind, word in words if isinstance(value, kind)), f"a {type(value).__name__}")


def _read_parameters(spelled: object) -> tuple[Mapping[str, Any], str | None]:
    if spelled is None:
        return {}, None
    if isinstance(spelled, str):
        if not spelled.strip():
            return {}, None
        try:
            spelled = parse_json(spelled)
        except PayloadError as error:
            return {}, f"the parameters are not JSON: {error}"
        if spelled is None:
            return {}, None
    if not isinstance(spelled, Mapping):
        return {}, f"the parameters are an object, read {kind_of(spelled)}"
    return spelled, None


Mode = Literal["strict", "compat"]
# The kind of row that a difficulty stands for in a data set that parts rows by the number of their calls.
CALL_TYPES = {"easy": "single", "single": "single", "hard": "multi", "multi": "multi", "medium": "multi"}


def is_compat(mode: str) -> bool:
    """Whether ``mode`` asks for the original's arithmetic.

    Raises:
        UsageError: neither mode; a misspelled one must not pass for strict.
    """
    if mode not in ("strict", "compat"):
        raise UsageError(f"mode is strict or compat, read {mode!r}")
    return mode == "compat"


def several(wanted: Sequence[str]) -> Sequence[str]:
    """The values of a filter; a bare text is one value, not its letters."""
    return (wanted,) if isinstance(wanted, str) else wanted


def lowered(task: Mapping[str, Any], key: str) -> str:
    """A field as lower-case text; "" when it is absent or no text."""
    value = task.get(key)
    return value.lower() if isinstance(value, str) else ""


def has_tags(task: Mapping[str, Any], tags: Sequence[str]) -> bool:
    """Every tag is part of some name or description among the row's tools; case does not matter."""
    words = [word.lower() for word in _described(task.get("tools"))]
    return all(any(tag.lower() in word for word in words) for tag in tags)


def has_id(task: Mapping[str, Any], keys: Sequence[str], wanted: Sequence[str]) -> bool:
    """The first of ``keys`` that the row has is one of the ids wanted, compared as text."""
    found = next((task[key] for key in keys if task.get(key) is not None), None)
    return found is not None and str(found) in {str(one) for one in wanted}


def first(tasks: list[dict[str, Any]], sample_size: int | None) -> list[dict[str, Any]]:
    """The first ``sample_size`` rows, all of them for None."""
    return tasks if sample_size is None else tasks[: max(sample_size, 0)]


def _described(tools: object) -> Iterator[str]:
    """The texts under names and descriptions, and bare texts in lists; keys and types are not descriptions."""
    pending = [tools]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
        elif isinstance(item, Mapping):
            for key, value in item.items():
                describes = str(key).lower().endswith(("name", "description"))
                if describes or not isinstance(value, (str, list, tuple)) or any(map(_is_object, value)):
                    pending.append(value)


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)
