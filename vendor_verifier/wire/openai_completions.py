"""Raw completions: the prompt is rendered and the calls are parsed here, without the host's template and parser.

This wire measures the model as served. ``render`` applies the chat template, which needs files. Whatever asks a host to
do more than generate text (forced tool choice, structured output) makes a turn untranslatable.

Text is timed as it streams and read once, when the answer is over, by the markers of the model families. Nothing is
repaired. Plain searches find the markers in linear time. A call that is open at the end of the text counts: its end
marker was the stop word, or the budget ran out (``is_cut``), and then its arguments stay open. Other markup stays text.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from vendor_verifier.records.record import ToolCall
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.answer import Parsed
from vendor_verifier.wire.base import Notes, join_url
from vendor_verifier.wire.history import ImagePart, read_parts
from vendor_verifier.wire.openai_chat import OpenAIChatReader
from vendor_verifier.wire.payload import PayloadError, as_dict, as_list, as_text, parse_json
from vendor_verifier.wire.request_support import budget_or, headers_of, lay_over, note_leftovers, post, switched
from vendor_verifier.wire.tool_calls import MAX_CALLS

DEFAULT_MAX_TOKENS = 4096
# Ask for more than one text.
_MORE = frozenset({
    "tool_choice", "parallel_tool_calls", "response_format", "modalities", "n", "functions", "function_call", "audio",
})  # fmt: skip
# Not sent as they are; the chat template reads the first two.
_NOT_SENT = _MORE | {"chat_template_kwargs", "reasoning_effort", "max_tokens", "max_completion_tokens"}

Render = Callable[[Turn], str]


class CannotRender(ValueError):
    """Raised when the chat template has no words for this turn; the message has the reason."""


@dataclass(frozen=True, slots=True)
class OpenAICompletions:
    """The wire.

    ``render`` turns messages and tools into the prompt and raises :class:`CannotRender` where it cannot; without it
    nothing can be asked. ``keep_special_tokens`` asks the host to leave the markers in the text and to add none to the
    prompt, which has its own; off for hosts that refuse these two fields. ``default_max_tokens`` is sent where the turn
    sets no budget, because hosts otherwise stop after 16 tokens.
    """

    render: Render | None = None
    name: str = "openai_completions"
    path: str = "/completions"
    stream_usage: bool = True
    keep_special_tokens: bool = True
    default_max_tokens: int = DEFAULT_MAX_TOKENS

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        notes = Notes()
        switched(None, turn, notes)
        body: dict[str, Any] = {"model": endpoint.model_id, "prompt": self._prompt(turn, notes)}
        body.update(self._settings(turn.parameters, notes))
        if self.keep_special_tokens:
            body.update(skip_special_tokens=False, add_special_tokens=False)
        body["stream"] = turn.stream
        if turn.stream and self.stream_usage:
            body["stream_options"] = {"include_usage": True}
        lay_over(body, endpoint.body)
        return post(join_url(endpoint.base_url, self.path), headers_of(turn, endpoint), body, notes)

    def reader(self, tools: Sequence[Mapping[str, Any]] = (), /) -> CompletionsReader:
        """A fresh reader; ``tools`` tell declared strings from other values in families that write no quotes."""
        return CompletionsReader(tools)

    def _prompt(self, turn: Turn, notes: Notes) -> str:
        for message in turn.messages:
            if not isinstance(message, Mapping):
                notes.cannot("message that is not an object")
                continue
            if any(isinstance(part, ImagePart) for part in read_parts(message.get("content"), notes)):
                notes.cannot("image part")
        if self.render is None:
            notes.cannot("prompt: no chat template was loaded")
        if self.render is None or notes.untranslatable:
            return ""
        try:
            return self.render(turn)
        except CannotRender as error:
            notes.cannot(f"prompt: {error}")
            return ""

    def _settings(self, parameters: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
        settings: dict[str, Any] = {"max_tokens": budget_or(self.default_max_tokens, parameters, notes)}
        note_leftovers({name: value for name, value in parameters.items() if name in _MORE}, (), notes)
        for name, value in parameters.items():
            if name in ("logprobs", "top_logprobs"):
                if value:
                    notes.rewrote(f"dropped:{name}")
            elif name not in _NOT_SENT:
                settings[name] = value
        return settings


class CompletionsReader(OpenAIChatReader):
    """Reads one answer: chat completions with ``text`` where a delta or message would be."""

    def __init__(self, tools: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(reads_text=True)
        self._tools = tuple(tools)

    def interpret(self, text: str, is_cut: bool) -> Parsed:
        """The calls and the reasoning in the text of an answer that is over; ``is_cut``: the budget ran out."""
        return parse_text(text, self._tools, is_cut=is_cut)


def _declared_values(tools: Iterable[Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Tool name → parameter name → declared schema; of a name declared twice the first counts."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        function = as_dict(tool.get("function")) or tool
        name = as_text(function.get("name"))
        if name:
            found.setdefault(name, as_dict(as_dict(function.get("parameters")).get("properties")))
    return found


def read_value(text: str, schema: object, is_text: bool | None = None) -> Any:
    """The value that ``text`` means. ``is_text`` is the model's own statement, where its family can make one.

    A declared string stays text; anything else, undeclared values included, is JSON if it reads as JSON.
    """
    declared, choices = as_dict(schema).get("type"), as_list(as_dict(schema).get("enum"))
    types = declared if isinstance(declared, list) else [declared]
    if is_text is None and "string" in types:
        is_text = not (text.strip() == "null" and "null" in types)
    elif is_text is None:
        is_text = bool(choices) and all(isinstance(choice, str) for choice in choices)
    try:
        return text if is_text else parse_json(text)
    except PayloadError:
        return text


_END_OF_TURN = re.compile(
    r"(?:\s*(?:<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>|<\|user\|>|<\|observation\|>|\[EOS\]|\[EOT\]|"
    r"<｜end▁of▁sentence｜>|</s>))+\s*\Z"
)
_END_OF_TURN_WINDOW = 400


class _Found(NamedTuple):
    """A call as its family writes it: arguments as JSON text, or as pairs (key, value, and the model's own statement
    whether the value is text)."""

    name: str
    arguments: str | list[tuple[str, str, bool | None]]
    id: str | None = None


class _Family(NamedTuple):
    begin: str
    end: str
    wrappers: tuple[str, ...]
    read: Callable[[str], _Found | None]


def parse_text(text: str, tools: Iterable[Mapping[str, Any]] = (), *, is_cut: bool = False) -> Parsed:
    """Split raw text into reasoning, calls and the text that is left. ``tools`` are the declared ones: where a family
    writes values without quotes, a declared string stays text. ``is_cut``: the output budget ran out."""
    reasoning, rest = _split_reasoning(text)
    rest = rest[:-_END_OF_TURN_WINDOW] + _END_OF_TURN.sub("", rest[-_END_OF_TURN_WINDOW:])
    places = [(at, family) for family in _FAMILIES if (at := rest.find(family.begin)) >= 0]
    if not places:
        return Parsed(rest.strip() if reasoning else rest, reasoning)
    _, family = min(places, key=lambda pair: pair[0])
    types, calls, left, at = _declared_values(tools), list[ToolCall](), list[str](), 0
    for begin, inner, end in _marked(rest, family.begin, family.end):
        found = family.read(inner)
        left.append(rest[at:begin])
        at = len(rest) if end is None else end
        if found is not None and found.name:
            calls.append(_call(found, types, is_cut=is_cut and end is None))
        elif end is not None:
            left.append(rest[begin:at])
    unread = "".join([*left, rest[at:]])
    for wrapper in family.wrappers if calls else ():
        unread = unread.replace(wrapper, "")
    return Parsed(unread.strip(), reasoning, tuple(calls[:MAX_CALLS]))


def _call(found: _Found, types: Mapping[str, Mapping[str, Any]], *, is_cut: bool) -> ToolCall:
    """The call, with pairs as JSON text, which is left open if the budget cut it."""
    if isinstance(found.arguments, str):
        return ToolCall(found.name, found.arguments, found.id)
    declared = types.get(found.name, {})
    values = {key: read_value(value, declared.get(key), is_text) for key, value, is_text in found.arguments}
    text = json.dumps(values, ensure_ascii=False)
    return ToolCall(found.name, text[:-1] if is_cut else text, found.id)


def _split_reasoning(text: str) -> tuple[str, str]:
    """Thinking comes first; its begin marker may be in the prompt, its end marker may be cut off."""
    before, end, after = text.partition("</think>")
    opened = before.lstrip().startswith("<think>")
    if not opened and (not end or "<think>" in before):
        return "", text
    return before.lstrip().removeprefix("<think>").strip() if opened else before.strip(), after


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


def _read_kimi(inner: str) -> _Found | None:
    call_id, separator, arguments = inner.partition("<|tool_call_argument_begin|>")
    call_id = call_id.strip()
    name = re.sub(r":\d{1,9}\Z", "", call_id.removeprefix("functions."))
    # The call's own end marker may be missing while that of its section is there.
    arguments = arguments.partition("<|tool_calls_section_end|>")[0].strip()
    return _Found(name, arguments, call_id) if separator else None


def _read_deepseek(inner: str) -> _Found | None:
    left, separator, right = inner.partition("<｜tool▁sep｜>")
    name, arguments = left.strip(), right.strip()
    if name == "function" and not arguments.startswith("{"):
        name, _, arguments = arguments.partition("\n")
        arguments = arguments.strip().removeprefix("```json").removesuffix("```")
    arguments = arguments.partition("<｜tool▁calls▁end｜>")[0]
    return _Found(name.strip(), arguments.strip()) if separator else None


def _read_tool_call(inner: str) -> _Found | None:
    """A call in ``<tool_call>``, which three families share; its inside shows which."""
    inner = inner.strip()
    if inner.startswith("{"):
        return _read_json_call(inner)
    if inner.startswith("<function="):
        name, separator, body = inner.removeprefix("<function=").partition(">")
        pairs = _pairs(body, "<parameter=", ">", "</parameter>", trim="\n")
        return _Found(name.strip(), [(key, value, None) for key, value in pairs]) if separator else None
    name = inner.partition("<arg_key>")[0].strip()
    if any(character in "<>{}" or character.isspace() for character in name):
        return None
    pairs = _pairs(inner, "<arg_key>", "</arg_key>", "</arg_value>")
    return _Found(name, [(key, value.lstrip().removeprefix("<arg_value>"), None) for key, value in pairs])


def _read_json_call(inner: str) -> _Found | None:
    try:
        call = as_dict(parse_json(inner))
    except PayloadError:
        # It is still a call; its arguments are whatever is in their place.
        found = re.search(r'"name"\s*:\s*"([^"\n]{1,200})"', inner[:2_000])
        place = re.search(r'"(?:arguments|parameters)"\s*:\s*', inner)
        written = inner[place.end() :].rstrip() if place else ""
        if written.endswith("}") and written.count("}") > written.count("{"):
            # The last brace closes the call, not the arguments.
            written = written.removesuffix("}")
        return _Found(found.group(1), written) if found else None
    name = as_text(call.get("name")) or ""
    arguments = call.get("arguments", call.get("parameters", ""))
    return _Found(name, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))


def _reader_of_invocations(mark: str) -> Callable[[str], _Found | None]:
    def read(inner: str) -> _Found | None:
        name, separator, body = inner.partition('">')
        pairs = _pairs(body, f'<{mark}parameter name="', ">", f"</{mark}parameter>", trim="\n" if not mark else "")
        return _Found(name.strip(), [_attributes(key, value) for key, value in pairs]) if separator else None

    return read


def _attributes(key: str, value: str) -> tuple[str, str, bool | None]:
    """``KEY" string="true`` → key, value, and the model's own statement whether the value is text."""
    name, _, attributes = key.partition('"')
    is_text = True if 'string="true"' in attributes else False if 'string="false"' in attributes else None
    return name, value, is_text


def _pairs(text: str, begin: str, middle: str, end: str, *, trim: str = "") -> Iterator[tuple[str, str]]:
    """(key, value) of each ``begin KEY middle VALUE end``."""
    for _, inner, closed in _marked(text, begin, end):
        key, separator, value = inner.partition(middle)
        if separator and closed is not None:
            yield key.strip(), value.removeprefix(trim).removesuffix(trim) if trim else value


_FAMILIES = (
    _Family("<|tool_call_begin|>", "<|tool_call_end|>",
            ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"), _read_kimi),
    # Hermes, Qwen and GLM.
    _Family("<tool_call>", "</tool_call>", (), _read_tool_call),
    _Family("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>",
            ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"), _read_deepseek),
    _Family('<｜DSML｜invoke name="', "</｜DSML｜invoke>",
            tuple(f"<{slash}｜DSML｜{word}>" for slash in ("", "/") for word in ("function_calls", "tool_calls")),
            _reader_of_invocations("｜DSML｜")),
    _Family('<invoke name="', "</invoke>",
            ("<minimax:tool_call>", "</minimax:tool_call>"), _reader_of_invocations("")),
)  # fmt: skip
