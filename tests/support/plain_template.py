"""A chat template that the simulated vendors read back: turns as raw prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from vendor_verifier.features.simulate.wires.completions import FAMILIES
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.base import Notes
from vendor_verifier.wire.history import PastMessage, TextPart, read_messages
from vendor_verifier.wire.payload import PayloadError, parse_json

_START, _END = "<|im_start|>", "<|im_end|>"
_MARKS = re.compile(r"<(\\*)(\||/?tool|/?think)")


def plain_template(family: str = "hermes") -> Callable[[Turn], str]:
    """A ``render`` for the product's raw-completions wire; ``family`` is the text format of calls in its prompt.

    Raises:
        KeyError: no such family.
    """
    example = FAMILIES[family].example

    def render(turn: Turn) -> str:
        history = read_messages(turn.messages, Notes())
        frames = [_frame("system", message.text) for message in history if message.role == "system"]
        if turn.tools:
            lines = "\n".join(_json(tool) for tool in turn.tools)
            text = f"# Tools\n\n<tools>\n{lines}\n</tools>\n\nCalls are written as {example}"
            frames.append(f"{_START}system\n{text}{_END}\n")
        frames += [_rendered(message) for message in history if message.role != "system"]
        return "".join(frames) + f"{_START}assistant\n"

    return render


def _rendered(message: PastMessage) -> str:
    words = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
    if message.role == "tool":
        return f"{_START}user\n<tool_response>\n{_escaped(words)}\n</tool_response>{_END}\n"
    calls = [f"<tool_call>\n{_json(_past_call(call.name, call.arguments))}\n</tool_call>" for call in message.calls]
    return f"{_START}{message.role}\n" + "\n".join([_escaped(words), *calls]) + f"{_END}\n"


def _frame(role: str, text: str) -> str:
    return f"{_START}{role}\n{_escaped(text)}{_END}\n"


def _past_call(name: str, arguments: str) -> dict[str, Any]:
    try:
        value = parse_json(arguments)
    except PayloadError:
        value = None
    return {"name": name, "arguments": value if isinstance(value, dict) else arguments}


def _json(value: object) -> str:
    """The value as JSON on one line without a mark of the family in it."""
    return json.dumps(value).replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return _MARKS.sub(r"<\\\1\2", text)
