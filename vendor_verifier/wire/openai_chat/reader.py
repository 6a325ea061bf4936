"""Reads chat completions as OpenAI specified them and as two dozen other hosts really send them.

The reader never trusts one place for anything: usage may stand in the chunk or in its choice, reasoning under three
names, errors in four shapes, and a tool call's index may be absent. What departs from the standard is reported as an
:class:`Anomaly`; whether an answer is complete is decided later from ``Finish`` and ``StreamEnd``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Identity,
    ReasoningDelta,
    SseEvent,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from vendor_verifier.records.steps import Steps
from vendor_verifier.wire.assembler import Assembler
from vendor_verifier.wire.errors import read_fault
from vendor_verifier.wire.openai_chat.chat_chunk import ChatChunk, Names, events_of, identity_said, ordinary_chunk
from vendor_verifier.wire.openai_chat.fast_reader import read_chat_stream
from vendor_verifier.wire.payload import as_dict, as_list, as_text, as_whole, as_word
from vendor_verifier.wire.reader_support import (
    END_MARKER,
    IdentityChanges,
    body_object,
    chat_finish,
    chat_usage,
    event_object,
    identity_of,
)

_LONG = 64 * 1024
_DELTAS = (TextDelta, ReasoningDelta, ToolCallDelta)


class OpenAIChatReader:
    """Reads one answer. State: the identity last passed on, and whether any delta has come."""

    def __init__(self) -> None:
        self._identity = IdentityChanges()
        self._has_delta = False
        self._last_names: Names | None = None

    def read_stream(self, chunks: Sequence[tuple[int, bytes]], assembler: Assembler) -> Steps[bool]:
        """Read a whole stream by :mod:`vendor_verifier.wire.openai_chat.fast_reader`; subclasses do without."""
        return type(self) is OpenAIChatReader and (yield from read_chat_stream(chunks, assembler))

    def read(self, event: SseEvent) -> Iterable[StreamEvent]:
        # What is long is read once: nothing is gained by trying the quick way first.
        chunk = None if event.name or len(event.data) > _LONG else ordinary_chunk(event.data)
        return self._any_event(event) if chunk is None else self._ordinary(chunk)

    def _ordinary(self, chunk: ChatChunk) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        if chunk.names != self._last_names:
            self._last_names = chunk.names
            events += self._identity.changes(identity_said(chunk.names))
        found = events_of(chunk)
        self._has_delta = self._has_delta or bool(found and isinstance(found[0], _DELTAS))
        return events + found

    def _any_event(self, event: SseEvent) -> Iterator[StreamEvent]:
        self._last_names = None
        data = event.data.strip()
        if data == END_MARKER:
            yield StreamEnd()
        elif data:
            chunk = event_object(event.data, event.name)
            if isinstance(chunk, dict):
                yield from self._chunk(chunk, "delta")
            else:
                yield chunk

    def read_body(self, body: object) -> Iterator[StreamEvent]:
        answer = body_object(body, holding="choices")
        if isinstance(answer, Fault):
            yield answer
        else:
            yield from self._chunk(answer, "message")
            yield StreamEnd()

    def _chunk(self, chunk: dict[str, Any], part: str) -> Iterator[StreamEvent]:
        yield from self._identity.changes(identity_of(chunk))
        choice = next((as_dict(one) for one in as_list(chunk.get("choices")) if _is_first(as_dict(one))), {})
        fault = read_fault({"error": choice.get("error")})
        yield from self._message(choice, part)
        if fault is not None:
            yield fault
        yield from self._usage(chunk, choice)
        raw = as_text(choice.get("finish_reason"))
        if raw:
            native = as_text(choice.get("native_finish_reason"))
            if native:
                yield Identity(native_finish_reason=native)
            yield chat_finish(raw)

    def _message(self, choice: dict[str, Any], part: str) -> Iterator[StreamEvent]:
        message = as_dict(choice.get(part))
        whole = part == "message"
        if not message and not whole and not self._has_delta:
            # Some gateways put the whole message where a delta belongs.
            message = as_dict(choice.get("message"))
            whole = True
        for delta in _deltas(message, whole=whole):
            self._has_delta = True
            yield delta

    def _usage(self, chunk: dict[str, Any], choice: dict[str, Any]) -> Iterator[StreamEvent]:
        usage = as_dict(chunk.get("usage"))
        if not usage:
            usage = as_dict(choice.get("usage"))
            if usage:
                yield Anomaly("usage_in_choice")
        if usage:
            yield chat_usage(usage)


def _deltas(message: dict[str, Any], *, whole: bool) -> Iterator[StreamEvent]:
    reasoning = _reasoning_text(message)
    if reasoning:
        yield ReasoningDelta(reasoning)
    for key in ("content", "refusal"):
        text = _content_text(message.get(key))
        if text:
            yield TextDelta(text)
    calls = message.get("tool_calls")
    for position, item in enumerate([calls] if isinstance(calls, dict) else as_list(calls)):
        call = as_dict(item)
        function = as_dict(call.get("function")) or call
        name = as_word(function.get("name"))
        yield ToolCallDelta(
            index=position if whole else _index(call.get("index")),
            # Many hosts leave the id of all later pieces empty, which says nothing.
            id=as_text(call.get("id")) if name else as_word(call.get("id")),
            name=name,
            arguments=_arguments(function.get("arguments")),
        )
    legacy = as_dict(message.get("function_call"))
    if legacy:
        name, arguments = as_word(legacy.get("name")), _arguments(legacy.get("arguments"))
        yield ToolCallDelta(0, None, name, arguments, is_legacy=True)


def _is_first(choice: dict[str, Any]) -> bool:
    """Whether it is the choice we asked for; only a real, positive index says that it is another one."""
    index = choice.get("index")
    return not isinstance(index, int) or index <= 0


def _index(value: object) -> int | None:
    """A tool-call index, also when it is sent as text; ``None`` when absent or nonsense."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{1,10}", value) else None
    return as_whole(value)


def _arguments(value: object) -> str | Mapping[str, Any] | None:
    """Arguments as text or an object; a list, number or boolean is kept as its JSON text, to be judged as sent."""
    if value is None or isinstance(value, (str, dict)):
        return value
    return json.dumps(value)


def _content_text(content: object) -> str:
    """Text of a content field that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(as_text(as_dict(part).get("text")) or "" for part in as_list(content))


def _reasoning_text(message: dict[str, Any]) -> str:
    """Visible reasoning under whichever of its names carries it; hosts that send two send the same text twice."""
    for key in ("reasoning_content", "reasoning"):
        text = _content_text(message.get(key))
        if text:
            return text
    details = as_list(message.get("reasoning_details"))
    return "".join(
        as_text(as_dict(part).get("text")) or as_text(as_dict(part).get("summary")) or "" for part in details
    )
