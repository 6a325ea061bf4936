"""A chat template in plain Python for raw completions, both ways: a turn as a prompt, and a prompt as a turn.

The layout is that of the Hermes and Qwen templates: ``<|im_start|>ROLE⏎ … <|im_end|>``, tools as lines of JSON in a
system message, past calls between ``<tool_call>`` marks and results between ``<tool_response>`` marks in a user
message::

    <|im_start|>system
    Be brief.<|im_end|>
    <|im_start|>system
    # Tools

    <tools>
    {"type": "function", "function": {"name": "get_weather", "parameters": {…}}}
    </tools>

    Calls are written as <tool_call>{"name": …, "arguments": …}</tool_call><|im_end|>
    <|im_start|>user
    How is the weather in Bern?<|im_end|>
    <|im_start|>assistant
    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Bern"}}
    </tool_call><|im_end|>
    <|im_start|>user
    <tool_response>
    {"sky": "grey"}
    </tool_response><|im_end|>
    <|im_start|>assistant

Marks inside what somebody said get a backslash after their ``<`` and lose it when they are read, so nothing that is
said can end a message. No model was trained on this; it is for simulated vendors and tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from vendor_verifier.simulate.text_calls import FAMILIES, family_of
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.notes import Notes
from vendor_verifier.wire.parts import TextPart
from vendor_verifier.wire.payload import PayloadError, parse_json
from vendor_verifier.wire.translate import Said, read_messages

_START, _END = "<|im_start|>", "<|im_end|>"
_MARKS = re.compile(r"<(\\*)(\||/?tool|/?think)")
_ESCAPED_MARKS = re.compile(r"<\\(\\*)(\||/?tool|/?think)")
_FRAME = re.compile(r"<\|im_start\|>(\w+)\n(.*?)(?:<\|im_end\|>|\Z)", re.DOTALL)
_TOOLS = re.compile(r"<tools>\n(.*?)\n?</tools>", re.DOTALL)
_CALL = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)
_RESULT = re.compile(r"<tool_response>\n(.*?)\n</tool_response>", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


def plain_template(family: str = "hermes") -> Callable[[Turn], str]:
    """A ``render`` for the product's raw-completions wire; ``family`` is how the model is told to write calls.

    Raises:
        KeyError: no such family.
    """
    example = FAMILIES[family].example

    def render(turn: Turn) -> str:
        history = read_messages(turn.messages, Notes())
        frames = [_frame("system", said.text) for said in history if said.role == "system"]
        if turn.tools:
            lines = "\n".join(_json(tool) for tool in turn.tools)
            text = f"# Tools\n\n<tools>\n{lines}\n</tools>\n\nCalls are written as {example}"
            frames.append(f"{_START}system\n{text}{_END}\n")
        frames += [_rendered(said) for said in history if said.role != "system"]
        return "".join(frames) + f"{_START}assistant\n"

    return render


def read_prompt(prompt: str) -> tuple[Turn, str]:
    """Messages and tools of a prompt, and the family its calls are to be written in.

    A prompt without these marks is what one user says, without tools.
    """
    frames = [(frame[1], frame[2]) for frame in _FRAME.finditer(prompt)]
    if not frames:
        return Turn(({"role": "user", "content": prompt},)), "hermes"
    if not prompt.rstrip().endswith(_END):
        frames.pop()  # what the answer is to continue
    tools: list[Any] = []
    family = "hermes"
    messages: list[dict[str, Any]] = []
    for role, text in frames:
        declared = _TOOLS.search(text) if role == "system" else None
        if declared is not None:
            tools += _lines_of_json(declared[1])
            family = family_of(text[declared.end() :])
            text = text[: declared.start()].partition("# Tools")[0].rstrip()
            if not text:
                continue
        messages += _messages(role, text)
    return Turn(tuple(messages), tuple(tools)), family


def _rendered(said: Said) -> str:
    words = "\n".join(part.text for part in said.parts if isinstance(part, TextPart))
    if said.role == "tool":
        return f"{_START}user\n<tool_response>\n{_escaped(words)}\n</tool_response>{_END}\n"
    calls = [f"<tool_call>\n{_json(_past_call(call.name, call.arguments))}\n</tool_call>" for call in said.calls]
    return f"{_START}{said.role}\n" + "\n".join([_escaped(words), *calls]) + f"{_END}\n"


def _frame(role: str, text: str) -> str:
    return f"{_START}{role}\n{_escaped(text)}{_END}\n"


def _past_call(name: str, arguments: str) -> dict[str, Any]:
    try:
        value = parse_json(arguments)
    except PayloadError:
        value = None
    return {"name": name, "arguments": value if isinstance(value, dict) else arguments}


def _json(value: object) -> str:
    """On one line and without a mark in it."""
    return json.dumps(value).replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return _MARKS.sub(r"<\\\1\2", text)


def _unescaped(text: str) -> str:
    return _ESCAPED_MARKS.sub(r"<\1\2", text)


def _messages(role: str, text: str) -> Iterator[dict[str, Any]]:
    results = _RESULT.findall(text) if role in ("user", "tool") else []
    if results:
        for number, result in enumerate(results):
            yield {"role": "tool", "tool_call_id": f"call_{number}", "content": _unescaped(result)}
        return
    calls = [_call(inner) for inner in _CALL.findall(text)] if role == "assistant" else []
    words = _unescaped(_THOUGHT.sub("", _CALL.sub("", text)) if role == "assistant" else text)
    yield {"role": role, "content": words, "tool_calls": calls}


def _call(inner: str) -> dict[str, Any]:
    call: dict[str, Any] = next(_lines_of_json(inner), {})
    return {"type": "function", "function": {"name": call.get("name"), "arguments": call.get("arguments")}}


def _lines_of_json(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        try:
            value = parse_json(line)
        except PayloadError:
            continue
        if isinstance(value, dict):
            yield value
