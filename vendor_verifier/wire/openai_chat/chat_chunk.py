"""One chunk of a chat-completions stream as typed fields, if there is nothing out of the ordinary in it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from vendor_verifier.records.event import (
    Identity,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.payload import as_amount, as_count
from vendor_verifier.wire.reader_support import chat_finish


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
    """The usage fields that :func:`vendor_verifier.wire.reader_support.chat_usage` reads, and their companions.

    Read by :func:`ordinary_usage`, a second copy of that rule; tests/wire/test_chat_chunk.py holds both against each
    other.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    prompt_cache_miss_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


Names: TypeAlias = tuple[str | None, str | None, str | None, str | None]
"""Model, provider, fingerprint and id as a chunk gives them, in the order of an identity's."""


class ChatChunk(msgspec.Struct, forbid_unknown_fields=True):
    """One chunk of a chat-completions stream."""

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
    def names(self) -> Names:
        """The names of the one that answers, which nearly all chunks of a stream say alike."""
        return (self.model, self.provider, self.system_fingerprint, self.id)


def identity_said(names: Names) -> Identity:
    """The identity that a chunk's names say."""
    return Identity(*[name or None for name in names])


_decode = msgspec.json.Decoder(ChatChunk).decode


def ordinary_chunk(data: str | bytes) -> ChatChunk | None:
    """The chunk in ``data`` if it is an ordinary one."""
    try:
        chunk = _decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    # Without a count there may have been nothing at all between the braces, which is not usage.
    return None if chunk.usage is not None and chunk.usage.prompt_tokens is None else chunk


def events_of(chunk: ChatChunk) -> list[StreamEvent]:
    """The events of a chunk but its identity, in the general reader's order: deltas, usage, finish."""
    found: list[StreamEvent] = []
    finish = None
    for choice in chunk.choices:
        if choice.index is None or choice.index <= 0:
            # The one we asked for.
            found, finish = _deltas(choice.delta), choice.finish_reason
            break
    if chunk.usage is not None:
        found.append(ordinary_usage(chunk.usage))
    if finish:
        found.append(chat_finish(finish))
    return found


def ordinary_usage(usage: ChatUsage) -> Usage:
    """As :func:`vendor_verifier.wire.reader_support.chat_usage`, of fields whose kinds are known."""
    inputs, outputs = usage.prompt_tokens_details, usage.completion_tokens_details
    cached = as_count(inputs.cached_tokens) if inputs is not None else None
    if cached is None:
        hits = as_count(usage.prompt_cache_hit_tokens)
        cached = as_count(usage.cached_tokens) if hits is None else hits
    return Usage(
        as_count(usage.prompt_tokens),
        as_count(usage.completion_tokens),
        cached,
        as_count(outputs.reasoning_tokens) if outputs is not None else None,
        None if usage.cost is None else as_amount(usage.cost),
    )


def _deltas(delta: _Delta) -> list[StreamEvent]:
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
