"""Tool calls as model families write them into their text; it chooses no call and reads none back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vendor_verifier.simulate.answer import Answer, Call
from vendor_verifier.wire.payload import PayloadError, parse_json


@dataclass(frozen=True, slots=True)
class Family:
    """How a family writes: a call (finished or not) with its number, what stands around all calls, one to show.

    ``signs`` are marks in a prompt that tell that its model is of this family.
    """

    call: Callable[[Call, int, bool], str]
    begin: str
    end: str
    example: str
    signs: Sequence[str]


def family_of(prompt: str) -> str:
    """The family whose marks stand in ``prompt``, Hermes unless another's do."""
    return next((name for name, family in FAMILIES.items() if any(sign in prompt for sign in family.signs)), "hermes")


def written(answer: Answer, family: str) -> str:
    """The answer as one text. A call that the output budget cut off stays open, as does all that stands around it."""
    style = FAMILIES[family]
    if not answer.calls:
        return answer.text
    is_cut = answer.finish == "length"
    last = len(answer.calls) - 1
    calls = [style.call(call, index, not (is_cut and index == last)) for index, call in enumerate(answer.calls)]
    words = f"{answer.text}\n" if answer.text else ""
    return words + style.begin + "".join(calls) + ("" if is_cut else style.end)


def _hermes(call: Call, index: int, finished: bool) -> str:  # noqa: ARG001 only some families number their calls
    # A model that forgets a brace of the arguments writes one brace too few, not two.
    brace = "}" if finished and _object(call) is not None else ""
    text = f'<tool_call>\n{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {call.arguments}{brace}'
    return f"{text}\n</tool_call>\n" if finished else text


def _kimi(call: Call, index: int, finished: bool) -> str:
    text = f"<|tool_call_begin|>functions.{call.name}:{index}<|tool_call_argument_begin|>{call.arguments}"
    return f"{text}<|tool_call_end|>" if finished else text


def _deepseek(call: Call, index: int, finished: bool) -> str:  # noqa: ARG001 only some families number their calls
    text = f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{call.arguments}"
    return f"{text}<｜tool▁call▁end｜>" if finished else text


def _glm(call: Call, index: int, finished: bool) -> str:  # noqa: ARG001 only some families number their calls
    """Pairs of key and value: text as it is, everything else as JSON. Arguments that are no JSON leave it open."""
    arguments = _object(call)
    pairs = [
        f"<arg_key>{key}</arg_key>\n<arg_value>{_value(value)}</arg_value>\n"
        for key, value in (arguments or {}).items()
    ]
    text = f"<tool_call>{call.name}\n" + "".join(pairs)
    return f"{text}</tool_call>\n" if finished and arguments is not None else text


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _object(call: Call) -> dict[str, Any] | None:
    try:
        value = parse_json(call.arguments)
    except PayloadError:
        return None
    return value if isinstance(value, dict) else None


FAMILIES: Mapping[str, Family] = {
    "kimi": Family(
        _kimi,
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>",
        ("<|tool_call_begin|>", "<|im_middle|>"),
    ),
    "deepseek": Family(
        _deepseek,
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>",
        ("<｜tool▁call▁begin｜>", "<｜Assistant｜>"),
    ),
    "glm": Family(
        _glm,
        "",
        "",
        "<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>",
        ("<arg_key>", "[gMASK]"),
    ),
    "hermes": Family(_hermes, "", "", '<tool_call>{"name": …, "arguments": …}</tool_call>', ("<tool_call>",)),
}
