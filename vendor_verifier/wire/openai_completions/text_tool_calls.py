"""Parses tool calls out of raw model text by the markers of the model families; it never repairs what a model wrote.

For raw completions, where the host's own parser is not in the way. Markers are found with plain searches, so the cost
is linear whatever the text. A call that stands open at the end of the text is a call: its end marker was the stop word,
or the budget ran out (``is_cut``), and then its arguments are left open too. Markup that makes no sense stays in the
text, where it is seen.

====================  ==================================================================================
Kimi                  ``<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>``
Hermes, Qwen          ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``
Qwen Coder            ``<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>``
GLM                   ``<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>``
DeepSeek V3, R1       ``<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME⏎```json⏎{…}⏎```<｜tool▁call▁end｜>``
DeepSeek V3.1         ``<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>``
DeepSeek V3.2         ``<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">VALUE</…></…>``
MiniMax               ``<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>``
====================  ==================================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.records.event import ToolCall
from vendor_verifier.wire.answer import Parsed
from vendor_verifier.wire.payload import PayloadError, as_dict, as_list, as_text, parse_json
from vendor_verifier.wire.tool_calls import MAX_CALLS

DeclaredValues = Mapping[str, Mapping[str, Any]]
"""Tool name → parameter name → declared schema."""


def declared_values(tools: Iterable[Mapping[str, Any]]) -> DeclaredValues:
    """The parameters of each tool; of a name declared twice the first counts."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        function = as_dict(tool.get("function")) or tool
        name = as_text(function.get("name"))
        if name:
            found.setdefault(name, as_dict(as_dict(function.get("parameters")).get("properties")))
    return found


def read_value(text: str, schema: object, is_text: bool | None = None) -> Any:
    """The value ``text`` stands for. ``is_text`` is the model's own statement, where its family can make one.

    A declared string stays text; anything else, undeclared values included, is JSON if it reads as JSON.
    """
    if is_text if is_text is not None else _is_text(schema, text):
        return text
    try:
        return parse_json(text)
    except PayloadError:
        return text


def _is_text(schema: object, text: str) -> bool:
    declared = as_dict(schema).get("type")
    types = declared if isinstance(declared, list) else [declared]
    if "string" in types:
        return not (text.strip() == "null" and "null" in types)
    choices = as_list(as_dict(schema).get("enum"))
    return bool(choices) and all(isinstance(choice, str) for choice in choices)


_END_OF_TURN = re.compile(
    r"(?:\s*(?:<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>|<\|user\|>|<\|observation\|>|\[EOS\]|\[EOT\]|"
    r"<｜end▁of▁sentence｜>|</s>))+\s*\Z"
)
_END_OF_TURN_WINDOW = 400


@dataclass(frozen=True, slots=True)
class _Marked:
    """The text between a start and an end marker. ``is_cut``: the end marker is missing because the budget ran out."""

    inner: str
    types: DeclaredValues
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Family:
    begin: str
    end: str
    wrappers: tuple[str, ...]
    read: Callable[[_Marked], ToolCall | None]


def parse_text(text: str, tools: Iterable[Mapping[str, Any]] = (), *, is_cut: bool = False) -> Parsed:
    """Split raw text into reasoning, calls and the text that is left.

    ``tools`` are the declared ones: where a family writes values without quotes, a declared string stays text and
    everything else is read as JSON if it is JSON. ``is_cut``: the output budget ran out.
    """
    reasoning, rest = _split_reasoning(text)
    rest = rest[:-_END_OF_TURN_WINDOW] + _END_OF_TURN.sub("", rest[-_END_OF_TURN_WINDOW:])
    family = _family_of(rest)
    if family is None:
        return Parsed(rest.strip() if reasoning else rest, reasoning)
    calls, left = _take_calls(rest, family, declared_values(tools), is_cut=is_cut)
    for wrapper in family.wrappers if calls else ():
        left = left.replace(wrapper, "")
    return Parsed(left.strip(), reasoning, tuple(calls[:MAX_CALLS]))


def _family_of(text: str) -> _Family | None:
    found = [(at, family) for family in _FAMILIES if (at := text.find(family.begin)) >= 0]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _split_reasoning(text: str) -> tuple[str, str]:
    """Thinking comes first; its begin marker may stand in the prompt, its end marker may be cut off."""
    before, end, after = text.partition("</think>")
    opened = before.lstrip().startswith("<think>")
    if not opened and (not end or "<think>" in before):
        return "", text
    return before.lstrip().removeprefix("<think>").strip() if opened else before.strip(), after


def _take_calls(text: str, family: _Family, types: DeclaredValues, *, is_cut: bool) -> tuple[list[ToolCall], str]:
    calls: list[ToolCall] = []
    left: list[str] = []
    at = 0
    for begin, inner, end in _marked(text, family.begin, family.end):
        is_open = end is None
        call = family.read(_Marked(inner, types, is_cut and is_open))
        left.append(text[at:begin])
        at = len(text) if end is None else end
        if call is not None:
            calls.append(call)
        elif not is_open:
            left.append(text[begin:at])
    return calls, "".join([*left, text[at:]])


def _marked(text: str, begin: str, end: str) -> Iterator[tuple[int, str, int | None]]:
    """(start, inner text, place after the end marker or None if there is none) of each marked stretch."""
    at = 0
    while (start := text.find(begin, at)) >= 0:
        inner_at = start + len(begin)
        stop = text.find(end, inner_at)
        if stop < 0:
            yield start, text[inner_at:], None
            return
        at = stop + len(end)
        yield start, text[inner_at:stop], at


def _read_kimi(marked: _Marked) -> ToolCall | None:
    call_id, separator, arguments = marked.inner.partition("<|tool_call_argument_begin|>")
    call_id = call_id.strip()
    name = re.sub(r":\d{1,9}\Z", "", call_id.removeprefix("functions."))
    return ToolCall(name, _without_wrapper(arguments), call_id) if separator and name else None


def _without_wrapper(arguments: str) -> str:
    """Arguments of a call whose own end marker is missing while that of its section is there."""
    return arguments.partition("<|tool_calls_section_end|>")[0].strip()


def _read_deepseek(marked: _Marked) -> ToolCall | None:
    left, separator, right = marked.inner.partition("<｜tool▁sep｜>")
    name, arguments = left.strip(), right.strip()
    if name == "function" and not arguments.startswith("{"):
        name, _, arguments = arguments.partition("\n")
        arguments = arguments.strip().removeprefix("```json").removesuffix("```")
    arguments = arguments.partition("<｜tool▁calls▁end｜>")[0]
    return ToolCall(name.strip(), arguments.strip()) if separator and name.strip() else None


def _read_tool_call(marked: _Marked) -> ToolCall | None:
    """A call in ``<tool_call>``, which three families share; its inside tells them apart."""
    inner = marked.inner.strip()
    if inner.startswith("{"):
        return _read_json_call(inner)
    if inner.startswith("<function="):
        name, separator, body = inner.removeprefix("<function=").partition(">")
        if not separator:
            return None
        pairs = _pairs(body, "<parameter=", ">", "</parameter>", trim="\n")
        return _written(name, ((key, value, None) for key, value in pairs), marked)
    name = inner.partition("<arg_key>")[0].strip()
    if not name or any(character in "<>{}" or character.isspace() for character in name):
        return None
    return _written(
        name, ((key, value, None) for key, value in _pairs(inner, "<arg_key>", "</arg_key>", "</arg_value>")), marked
    )


def _read_json_call(inner: str) -> ToolCall | None:
    try:
        call = as_dict(parse_json(inner))
    except PayloadError:
        return _read_broken_json_call(inner)
    name = as_text(call.get("name"))
    arguments = call.get("arguments", call.get("parameters", ""))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(name, text) if name else None


def _read_broken_json_call(inner: str) -> ToolCall | None:
    """A call that is not JSON is still a call; its arguments are whatever stands in their place."""
    name = re.search(r'"name"\s*:\s*"([^"\n]{1,200})"', inner[:2_000])
    if name is None:
        return None
    place = re.search(r'"(?:arguments|parameters)"\s*:\s*', inner)
    arguments = inner[place.end() :].rstrip() if place else ""
    return ToolCall(name.group(1), arguments.removesuffix("}") if _closes_twice(arguments) else arguments)


def _closes_twice(arguments: str) -> bool:
    """Whether the last brace closes the call, not the arguments."""
    return arguments.endswith("}") and arguments.count("}") > arguments.count("{")


def _reader_of_invocations(mark: str) -> Callable[[_Marked], ToolCall | None]:
    def read(marked: _Marked) -> ToolCall | None:
        name, separator, body = marked.inner.partition('">')
        if not separator:
            return None
        pairs = _pairs(body, f'<{mark}parameter name="', ">", f"</{mark}parameter>", trim="\n" if not mark else "")
        return _written(name, (_attributes(key, value) for key, value in pairs), marked)

    return read


def _attributes(key: str, value: str) -> tuple[str, str, bool | None]:
    """``KEY" string="true`` → key, value, and the model's own statement whether the value is text."""
    name, _, attributes = key.partition('"')
    is_text = True if 'string="true"' in attributes else False if 'string="false"' in attributes else None
    return name, value, is_text


def _pairs(text: str, begin: str, middle: str, end: str, *, trim: str = "") -> Iterator[tuple[str, str]]:
    """(key, value) of each ``begin KEY middle VALUE end``; GLM's value has a begin marker of its own."""
    for _, inner, closed in _marked(text, begin, end):
        if closed is None:
            return
        key, separator, value = inner.partition(middle)
        if separator:
            value = value.lstrip().removeprefix("<arg_value>") if begin == "<arg_key>" else value
            yield key.strip(), value.removeprefix(trim).removesuffix(trim) if trim else value


def _written(name: str, pairs: Iterable[tuple[str, str, bool | None]], marked: _Marked) -> ToolCall | None:
    """A call whose arguments were written as pairs, as the JSON text every other family would have written."""
    name = name.strip()
    types = marked.types.get(name, {})
    arguments = {key: read_value(value, types.get(key), is_text) for key, value, is_text in pairs}
    text = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(name, text[:-1] if marked.is_cut else text) if name else None


_FAMILIES = (
    _Family(
        "<|tool_call_begin|>",
        "<|tool_call_end|>",
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        _read_kimi,
    ),
    # Hermes, Qwen and GLM.
    _Family("<tool_call>", "</tool_call>", (), _read_tool_call),
    _Family(
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        _read_deepseek,
    ),
    _Family(
        '<｜DSML｜invoke name="',
        "</｜DSML｜invoke>",
        tuple(f"<{slash}｜DSML｜{word}>" for slash in ("", "/") for word in ("function_calls", "tool_calls")),
        _reader_of_invocations("｜DSML｜"),
    ),
    _Family(
        '<invoke name="',
        "</invoke>",
        ("<minimax:tool_call>", "</minimax:tool_call>"),
        _reader_of_invocations(""),
    ),
)
