"""A simulated vendor's side of raw completions: a prompt read back as a turn, and calls as their family's markup.

A host of raw completions knows nothing of tool choice or formats. The chat template works both ways; its layout is that
of the Hermes and Qwen templates: ``<|im_start|>ROLE⏎ … <|im_end|>``, tools as lines of JSON in a system message, past
calls between ``<tool_call>`` marks and results between ``<tool_response>`` marks in a user message::

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

Marks inside a message's text get a backslash after their ``<`` and lose it when they are read, so no text can end a
message. No model was trained on this; it is for simulated vendors and tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.features.simulate.answer import Answer, Call, pieces
from vendor_verifier.features.simulate.performance import Performance
from vendor_verifier.features.simulate.question import BadQuestion, question_of
from vendor_verifier.features.simulate.wires import (
    Asked,
    OpenAIChunks,
    OpenAIWire,
    StreamedAnswer,
    arguments_object,
    is_streamed,
    model_of,
    request_object,
)
from vendor_verifier.values.event import TextDelta
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import PayloadError, as_dict, parse_json


class Family(msgspec.Struct, frozen=True):
    """The text format of a model family: a call (finished or not) with its number, the frame of all calls, an example.

    ``signs`` are marks in a prompt that show that its model is of this family.
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
    brace = "}" if finished and arguments_object(call) is not None else ""
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
    arguments = arguments_object(call)
    pairs = [
        f"<arg_key>{key}</arg_key>\n<arg_value>{_value(value)}</arg_value>\n"
        for key, value in (arguments or {}).items()
    ]
    text = f"<tool_call>{call.name}\n" + "".join(pairs)
    return f"{text}</tool_call>\n" if finished and arguments is not None else text


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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


_END = "<|im_end|>"
_ESCAPED_MARKS = re.compile(r"<\\(\\*)(\||/?tool|/?think)")
_FRAME = re.compile(r"<\|im_start\|>(\w+)\n(.*?)(?:<\|im_end\|>|\Z)", re.DOTALL)
_TOOLS = re.compile(r"<tools>\n(.*?)\n?</tools>", re.DOTALL)
_CALL = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)
_RESULT = re.compile(r"<tool_response>\n(.*?)\n</tool_response>", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


def read_prompt(prompt: str) -> tuple[Turn, str]:
    """Messages and tools of a prompt, and the family its calls are to be written in.

    A prompt without these marks is one user message without tools.
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


_PARAMETERS = ("max_tokens", "temperature", "top_p", "stop", "n")
DEFAULT_MAX_TOKENS = 16


class SimulatedCompletions(OpenAIWire):
    """``POST …/v1/completions``."""

    name, path = "openai_completions", "/v1/completions"

    def read(self, body: bytes, target: str = "") -> Asked:  # noqa: ARG002 the body says it all
        request = request_object(body)
        model, stream = model_of(request), is_streamed(request)
        prompt = request.get("prompt")
        if not isinstance(prompt, str) or not prompt:
            raise BadQuestion("prompt must be a text", "prompt")
        turn, family = read_prompt(prompt)
        given = {key: request[key] for key in _PARAMETERS if request.get(key) is not None}
        question = question_of(structs.replace(turn, parameters={"max_tokens": DEFAULT_MAX_TOKENS, **given}))
        include_usage = as_dict(request.get("stream_options")).get("include_usage") is True
        return Asked(question, model, stream, include_usage, request, style=family)

    def stream(self, asked: Asked, performance: Performance, created: int) -> StreamedAnswer:
        chunks = OpenAIChunks(asked, performance, created, "text_completion", "cmpl-")
        text = structs.replace(performance.answer, text=written(performance.answer, asked.style), calls=())
        parts = [piece.text for piece in pieces(text, performance.piece_count, ()) if isinstance(piece, TextDelta)]
        events = [chunks.event(_choice(part)) for part in parts]
        return StreamedAnswer(opening=b"", pieces=events, closing=chunks.closing(_choice("", _finish(performance))))

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:
        chunks = OpenAIChunks(asked, performance, created, "text_completion", "cmpl-")
        return chunks.whole(_choice(written(performance.answer, asked.style), _finish(performance)))


def _choice(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}


def _finish(performance: Performance) -> str:
    """No parser looks at the text, so a call is a stop like any other."""
    return "length" if performance.answer.finish == "length" else "stop"
