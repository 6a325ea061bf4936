"""Reads the ordinary chat-completions chunk by its type, at a tenth of the lenient reader's cost; knows no quirk.

A chunk with any other field, any other type or an error is refused with ``None``, and the lenient reader has it. So
both readers hear the same of every chunk; this one only hears the common ones sooner.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from vendor_verifier.values.event import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta


class _Function(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct, forbid_unknown_fields=True):
    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, forbid_unknown_fields=True):
    delta: _Delta
    index: int | None = None
    finish_reason: str | None = None
    native_finish_reason: None = None
    logprobs: None = None
    stop_reason: None = None


class ChatChunk(msgspec.Struct, forbid_unknown_fields=True):
    """One chunk without usage, which comes once and is left to the lenient reader."""

    object: Literal["chat.completion.chunk"]
    choices: list[_Choice]
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    system_fingerprint: str | None = None
    created: int | None = None
    service_tier: str | None = None
    usage: None = None

    @property
    def identity(self) -> tuple[str | None, str | None, str | None, str | None]:
        """Model, provider, fingerprint and id, as :class:`vendor_verifier.values.event.Identity` takes them."""
        return (self.model or None, self.provider or None, self.system_fingerprint or None, self.id or None)

    @property
    def choice(self) -> _Choice | None:
        """The choice we asked for."""
        for one in self.choices:
            if one.index is None or one.index <= 0:
                return one
        return None


_decode = msgspec.json.Decoder(ChatChunk).decode


def ordinary_chunk(data: str) -> ChatChunk | None:
    """The chunk in ``data`` if it is an ordinary one."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def deltas(choice: _Choice) -> list[StreamEvent]:
    """What a choice adds to the answer, in the order in which the lenient reader says it."""
    delta = choice.delta
    found: list[StreamEvent] = []
    reasoning = delta.reasoning_content or delta.reasoning
    if reasoning:
        found.append(ReasoningDelta(reasoning))
    if delta.content:
        found.append(TextDelta(delta.content))
    for call in delta.tool_calls or ():
        function = call.function
        name, arguments = (None, None) if function is None else (function.name or None, function.arguments)
        found.append(ToolCallDelta(call.index, call.id or None, name, arguments))
    return found
