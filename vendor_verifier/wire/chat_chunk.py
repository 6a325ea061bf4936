"""Reads the ordinary chat-completions chunk by its type, at a tenth of the lenient reader's cost; knows no quirk.

A chunk with any other field, any other type or an error is refused with ``None``, and the lenient reader has it. So
both readers hear the same of every chunk; this one only hears the common ones sooner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from vendor_verifier.values.event import FinishReason, ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta, Usage
from vendor_verifier.wire.usage import chat_usage

FINISH_REASONS: Mapping[str, FinishReason] = {
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "error": "error",
    "abort": "error",
    "network_error": "error",
    "insufficient_system_resource": "error",
}


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
    function_call: None = None


class _Choice(msgspec.Struct, forbid_unknown_fields=True):
    delta: _Delta
    index: int | None = None
    finish_reason: str | None = None
    native_finish_reason: None = None
    logprobs: None = None
    stop_reason: None = None


class _InputDetails(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    cached_tokens: int | None = None
    audio_tokens: int | None = None


class _OutputDetails(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    reasoning_tokens: int | None = None
    audio_tokens: int | None = None
    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None


class ChatUsage(msgspec.Struct, forbid_unknown_fields=True):
    """Usage in the fields that :func:`vendor_verifier.wire.usage.chat_usage` reads, and those that come with them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    prompt_cache_miss_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


class ChatChunk(msgspec.Struct, forbid_unknown_fields=True):
    """One chunk."""

    object: Literal["chat.completion.chunk"]
    choices: list[_Choice]
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    system_fingerprint: str | None = None
    created: int | None = None
    service_tier: str | None = None
    usage: ChatUsage | None = None

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


def ordinary_chunk(data: str | bytes) -> ChatChunk | None:
    """The chunk in ``data`` if it is an ordinary one."""
    try:
        chunk = _decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    # Without a count there may have been nothing at all between the braces, which is not usage.
    return None if chunk.usage is not None and chunk.usage.prompt_tokens is None else chunk


def usage_of(usage: ChatUsage) -> Usage:
    """The token counts of a chunk's usage."""
    return chat_usage(msgspec.to_builtins(usage))


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
        found.append(ToolCallDelta(call.index, call.id if name else call.id or None, name, arguments))
    return found
