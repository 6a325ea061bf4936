"""Tool calls gone wrong: spoilt against their own schema, or written into text; nothing here decides how often."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from vendor_verifier.simulate.answer import Call
from vendor_verifier.simulate.dice import generator
from vendor_verifier.simulate.question import Question
from vendor_verifier.wire.payload import as_dict, as_list

_WRONG_VALUES: dict[str, Any] = {
    "string": {"unexpected": True},
    "integer": "many",
    "number": "many",
    "boolean": "maybe",
    "array": "one, two",
    "object": "none",
}


def spoilt(question: Question, call: Call, seed: int, index: int) -> Call:
    """The call with one fault that a validator must notice: wrong type, missing key, invalid JSON or unknown tool."""
    dice = generator(seed, question.digest, "spoil", index)
    faults: list[Callable[[Question, Call], Call | None]] = [_wrong_type, _without_required, _invalid_json, _unknown]
    dice.shuffle(faults)
    return next(found for fault in faults if (found := fault(question, call)) is not None)


def markup(calls: Iterable[Call], *, sections: bool) -> str:
    """Calls as a server with the wrong parser leaks them: section markers, or one ``<tool_call>`` element each."""
    if not sections:
        return "".join(
            f'\n<tool_call>\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n</tool_call>'
            for call in calls
        )
    inner = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{index}<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
        for index, call in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def _wrong_type(question: Question, call: Call) -> Call | None:
    properties = as_dict(as_dict(question.tools.get(call.name)).get("properties"))
    arguments = json.loads(call.arguments)
    for key in arguments:
        kind = as_dict(properties.get(key)).get("type")
        if isinstance(kind, str) and kind in _WRONG_VALUES:
            return Call(call.name, json.dumps({**arguments, key: _WRONG_VALUES[kind]}, ensure_ascii=False))
    return None


def _without_required(question: Question, call: Call) -> Call | None:
    arguments = json.loads(call.arguments)
    required = [key for key in as_list(as_dict(question.tools.get(call.name)).get("required")) if isinstance(key, str)]
    present = [key for key in required if key in arguments]
    if not present:
        return None
    del arguments[present[-1]]
    return Call(call.name, json.dumps(arguments, ensure_ascii=False))


def _invalid_json(question: Question, call: Call) -> Call:  # noqa: ARG001 the faults share one shape
    return Call(call.name, call.arguments[:-1])


def _unknown(question: Question, call: Call) -> Call | None:
    name = f"{call.name}_v2"
    return None if name in question.tools else Call(name, call.arguments)
