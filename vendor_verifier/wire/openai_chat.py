"""OpenAI Chat Completions: sends a turn as it is, but for a vendor's declared quirks, and reads the answers.

Usage may be in the chunk or in its choice, reasoning in four places, errors in four shapes, and a tool call's index may
be absent. A chunk is decoded into typed fields. One whose objects and lists are not where they belong is decoded to
plain values, and what fits is put into the same fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.base import Notes, body_object, chat_finish, event_object, join_url, read_usage
from vendor_verifier.wire.errors import read_fault
from vendor_verifier.wire.payload import MAX_DEPTH, as_dict, as_list, as_text, as_whole, as_word, may_be_deep
from vendor_verifier.wire.request_support import ThinkingSwitch, headers_of, lay_over, post, switched
from vendor_verifier.wire.sse import SseEvent
from vendor_verifier.wire.tool_calls import Arguments


class _Function(msgspec.Struct, gc=False):
    name: Any = None
    arguments: Any = None


class _Call(msgspec.Struct, gc=False):
    """``name`` and ``arguments`` are for hosts that leave out ``function``."""

    index: Any = None
    id: Any = None
    function: _Function | None = None
    name: Any = None
    arguments: Any = None


class _Message(msgspec.Struct, gc=False):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct, gc=False):
    """One choice of a chunk or body; ``text`` is that of raw completions."""

    index: Any = None
    delta: _Message | None = None
    message: _Message | None = None
    text: Any = None
    finish_reason: Any = None
    native_finish_reason: Any = None
    usage: Any = None
    error: Any = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None
    error: Any = None
    base_resp: Any = None
    object: Any = None
    type: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode
# What is shorter cannot be nested too deep.
_LONG = 2 * MAX_DEPTH


class OpenAIChatReader:
    """Reads one answer. ``reads_text``: a choice has its ``text`` where others have a delta or message."""

    def __init__(self, *, reads_text: bool = False) -> None:
        self._reads_text = reads_text
        # Hosts repeat them in every event.
        self._names: tuple[str | None, ...] = ()

    def read(self, event: SseEvent, answer: Answer) -> None:
        data = event.data
        if not event.name and (len(data) < _LONG or not may_be_deep(data)):
            try:
                chunk = _decode(data)
            except (msgspec.MsgspecError, UnicodeError):
                pass
            else:
                if not (chunk.error or chunk.base_resp or chunk.object == "error" or chunk.type == "error"):
                    self._chunk(chunk, answer)
                    return
        fields = event_object(event, answer)
        if fields is not None:
            self._chunk(_shaped(fields), answer)

    def read_body(self, body: object, answer: Answer) -> None:
        fields = body_object(body, answer, holding="choices")
        if fields is not None:
            self._chunk(_shaped(fields), answer, True)
            answer.end()

    def _chunk(self, chunk: _Chunk, answer: Answer, is_whole: bool = False) -> None:
        names = (chunk.model, chunk.provider, chunk.system_fingerprint, chunk.id)
        if names != self._names:
            self._names = names
            answer.identity(*names)
        for choice in chunk.choices or ():
            # Only a real, positive index says that it is another choice than the one we asked for.
            if not choice.index or not isinstance(choice.index, int) or choice.index < 0:
                break
        else:
            choice = _NO_CHOICE
        if self._reads_text and isinstance(choice.text, str):
            answer.text(choice.text)
        elif choice.delta is not None and not is_whole:
            _read_message(choice.delta, answer)
        # Some gateways put the whole message where a delta belongs; after deltas it is a repetition.
        if choice.message is not None and (is_whole or not answer.token_moments):
            _read_message(choice.message, answer, True)
        fault = read_fault({"error": choice.error}) if choice.error else None
        if fault is not None:
            answer.failed(fault)
        if chunk.usage or choice.usage:
            usage = as_dict(chunk.usage)
            if not usage and as_dict(choice.usage):
                answer.anomaly("usage_in_choice")
                usage = choice.usage
            if usage:
                answer.usage(read_usage(usage))
        raw = choice.finish_reason
        if raw and isinstance(raw, str):
            answer.finish(chat_finish(raw), raw, as_text(choice.native_finish_reason))


_NO_CHOICE = _Choice()


def _read_message(message: _Message, answer: Answer, is_whole: bool = False) -> None:
    """Read a delta, or a message that is the whole answer: its calls are numbered by position."""
    content = message.content
    if message.reasoning_content or message.reasoning or message.reasoning_details or content.__class__ is list:
        reasoning = _reasoning_text(message)
        if reasoning:
            answer.reasoning(reasoning)
    if content:
        answer.text(content if content.__class__ is str else _content_text(content))
    if message.refusal:
        answer.text(_content_text(message.refusal))
    if message.tool_calls:
        _read_calls(message.tool_calls, answer, is_whole)
    legacy = message.function_call
    if legacy is not None and (legacy.name or legacy.arguments is not None):
        answer.call(0, None, as_word(legacy.name), _arguments(legacy.arguments), is_legacy=True)


def _read_calls(calls: list[_Call], answer: Answer, is_whole: bool) -> None:
    for position, call in enumerate(calls):
        function = call.function
        if function is None or (function.name is None and function.arguments is None):
            function = _Function(call.name, call.arguments)
        name = as_word(function.name)
        answer.call(
            position if is_whole else _index(call.index),
            # Many hosts leave the id of all later pieces empty, which says nothing.
            as_text(call.id) if name else as_word(call.id),
            name,
            _arguments(function.arguments),
        )


def _index(value: object) -> int | None:
    """A tool-call index, also when it is sent as text; ``None`` when absent or nonsense."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{1,10}", value) else None
    return as_whole(value)


def _arguments(value: object) -> Arguments:
    """Arguments as text or an object; a list, number or boolean is kept as its JSON text, to be judged as sent."""
    if value is None or isinstance(value, (str, dict)):
        return value
    return json.dumps(value)


def _content_text(content: object) -> str:
    """Text of a content field that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(as_text(as_dict(part).get("text")) or "" for part in as_list(content))


def _reasoning_text(message: _Message) -> str:
    """Visible reasoning under whichever of its names carries it; hosts that send two send the same text twice."""
    details = map(as_dict, as_list(message.reasoning_details))
    # Mistral's is in parts of the content, which have parts of their own.
    thinking = (as_dict(part).get("thinking") for part in as_list(message.content))
    return (
        _content_text(message.reasoning_content)
        or _content_text(message.reasoning)
        or "".join(as_text(part.get("text")) or as_text(part.get("summary")) or "" for part in details)
        or "".join(map(_content_text, thinking))
    )


Shape = TypeVar("Shape", bound=msgspec.Struct)


def _filled(shape: type[Shape], fields: Mapping[str, Any], **parts: Any) -> Shape:
    """The struct with those of ``fields`` that it knows, and ``parts`` instead of what they name."""
    return shape(**{name: parts[name] if name in parts else fields.get(name) for name in shape.__struct_fields__})


def _shaped(fields: Mapping[str, Any]) -> _Chunk:
    """A chunk or body of any shape: what is not where it belongs counts as absent."""
    words = {name: as_text(fields.get(name)) for name in ("id", "model", "provider", "system_fingerprint")}
    choices = [
        _filled(_Choice, choice, delta=_message(choice.get("delta")), message=_message(choice.get("message")))
        for choice in map(as_dict, as_list(fields.get("choices")))
    ]
    return _filled(_Chunk, fields, choices=choices, **words)


def _message(value: object) -> _Message | None:
    if not isinstance(value, dict):
        return None
    calls = value.get("tool_calls")
    shaped = [
        _filled(_Call, call, function=_function(call.get("function")))
        for call in map(as_dict, [calls] if isinstance(calls, dict) else as_list(calls))
    ]
    return _filled(_Message, value, tool_calls=shaped, function_call=_function(value.get("function_call")))


def _function(value: object) -> _Function | None:
    return _filled(_Function, value) if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """The wire; its fields are the quirks a vendor may declare.

    ``max_tokens_field``: what the vendor calls the output budget. ``stream_usage``: off for hosts that refuse
    ``stream_options``. ``tool_choices``: the only words the vendor takes (``function`` means a named tool), where
    that is not all of them; other turns are untranslatable. ``extra``: body fields every request to it carries.
    ``thinking``: what switches reasoning on and off, where the vendor has such a switch.
    """

    name: str = "openai"
    path: str = "/chat/completions"
    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    tool_choices: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    thinking: ThinkingSwitch | None = None

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        body: dict[str, Any] = {"model": endpoint.model_id, "messages": list(turn.messages)}
        if turn.tools:
            body["tools"] = list(turn.tools)
        body.update(turn.parameters)
        if "max_tokens" in body and self.max_tokens_field != "max_tokens":
            body[self.max_tokens_field] = body.pop("max_tokens")
        body["stream"] = turn.stream
        if turn.stream and self.stream_usage:
            body["stream_options"] = {"include_usage": True}
        body.update(self.extra)
        notes = Notes()
        if turn.parameters.get("stream", turn.stream) is not turn.stream:
            notes.rewrote("dropped:stream")
        body.update(switched(self.thinking, turn, notes))
        lay_over(body, endpoint.body)
        choice = turn.parameters.get("tool_choice")
        word = choice if isinstance(choice, str) else "function"
        # Sent all the same, it would be refused or silently ignored.
        if choice is not None and self.tool_choices is not None and word not in self.tool_choices:
            notes.cannot(f"tool_choice {word}")
        return post(join_url(endpoint.base_url, self.path), headers_of(turn, endpoint), body, notes)

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> OpenAIChatReader:
        return OpenAIChatReader()
