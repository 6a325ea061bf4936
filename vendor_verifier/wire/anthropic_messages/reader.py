"""Reads Anthropic Messages, from Anthropic and from the gateways that imitate it.

Theory of operation: content comes in numbered blocks. A ``tool_use`` block opens a tool call under a number of our own,
because gateways reuse theirs; its arguments come as JSON fragments, or whole in the opening event, or, for a tool
without arguments, as nothing at all, which stands for ``{}``. Blocks of tools that the host itself runs are no calls of
ours. Usage is cumulative and spread over two events, with zeros where a gateway did not know better: the last positive
number of each kind wins. The end is ``message_stop``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Finish,
    FinishReason,
    ReasoningDelta,
    SseEvent,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.history import argument_text
from vendor_verifier.wire.payload import as_amount, as_count, as_dict, as_text, as_whole, as_word
from vendor_verifier.wire.reader_support import (
    END_MARKER,
    IdentityChanges,
    body_object,
    event_object,
    identity_of,
    total,
)

STOP_REASONS: Mapping[str, FinishReason] = {
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_COUNTS = (*_INPUT_COUNTS, "output_tokens")


@dataclass(slots=True)
class _Block:
    """A content block under way; ``call`` is our number of a client tool call, ``None`` for every other kind."""

    kind: str
    id: str | None = None
    call: int | None = None
    input: Mapping[str, Any] | str | None = None
    has_arguments: bool = False
    stopped: bool = False


class AnthropicReader:
    """Reads one answer. State: the blocks started and the token counts so far."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._last = -1
        self._calls = 0
        self._counts: dict[str, int] = {}
        self._identity = IdentityChanges()

    def read(self, event: SseEvent) -> Iterator[StreamEvent]:
        if event.data.strip() == END_MARKER:
            yield Anomaly("foreign_end_marker")
            yield StreamEnd()
            return
        payload = event_object(event.data, event.name)
        if isinstance(payload, dict):
            yield from self._event(as_text(payload.get("type")) or event.name, payload)
        elif event.name == "error" and isinstance(payload, Anomaly):
            yield Fault(event.data)
        else:
            yield payload

    def read_body(self, body: object) -> Iterator[StreamEvent]:
        answer = body_object(body, holding="content")
        if isinstance(answer, Fault):
            yield answer
        else:
            yield from self._message_start(answer)
            for block in answer["content"]:
                yield from self._whole_block(as_dict(block))
            yield from _finish(answer)
            yield StreamEnd()

    def _event(self, kind: str, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        match kind:
            case "message_start":
                yield from self._message_start(as_dict(payload.get("message")))
            case "content_block_start":
                yield from self._block_start(payload)
            case "content_block_delta":
                yield from self._block_delta(payload)
            case "content_block_stop":
                yield from self._block_stop(self._number(payload))
            case "message_delta":
                yield from self._usage(payload.get("usage"))
                for finish in _finish(as_dict(payload.get("delta"))):
                    yield from self._stop_all()
                    yield finish
            case "message_stop":
                yield from self._stop_all()
                yield StreamEnd()
            case _:
                return  # ping, and whatever is invented next

    def _message_start(self, message: dict[str, Any]) -> Iterator[StreamEvent]:
        yield from self._identity.changes(identity_of(message))
        yield from self._usage(message.get("usage"))

    def _number(self, payload: dict[str, Any]) -> int:
        """The block an event speaks of; the latest one when the event does not say."""
        number = as_whole(payload.get("index"))
        return self._last if number is None else number

    def _block_start(self, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        number = self._number(payload) if "index" in payload else self._last + 1
        content = as_dict(payload.get("content_block"))
        block = _Block(as_text(content.get("type")) or "", as_text(content.get("id")))
        known = self._blocks.get(number)
        if known is not None:
            if block.kind == "tool_use" and known.kind == block.kind and block.id and known.id == block.id:
                yield Anomaly("block_repeated")
                return
            yield Anomaly("index_reused")
            yield from self._block_stop(number)
        self._blocks[number] = block
        self._last = number
        if block.kind == "tool_use":
            block.call, self._calls = self._calls, self._calls + 1
            given = content.get("input")
            block.input = given if isinstance(given, (dict, str)) else None
            yield ToolCallDelta(block.call, block.id, as_word(content.get("name")))
        else:
            yield from _spoken(content)

    def _block_delta(self, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        delta = as_dict(payload.get("delta"))
        match delta.get("type"):
            case "text_delta":
                yield from _text(delta.get("text"))
            case "thinking_delta":
                yield from _reasoning(delta.get("thinking"))
            case "input_json_delta":
                yield from self._arguments(self._number(payload), delta.get("partial_json"))
            case _:
                return  # signatures, citations

    def _arguments(self, number: int, fragment: object) -> Iterator[StreamEvent]:
        block = self._blocks.get(number)
        if block is None:
            # A call whose beginning was lost: it has no name, and the answer must show that.
            block = self._blocks[number] = _Block("tool_use", call=self._calls)
            self._calls += 1
            yield Anomaly("block_not_started")
        if block.call is None or not isinstance(fragment, (str, dict)) or not fragment:
            return
        block.has_arguments = True
        yield ToolCallDelta(block.call, arguments=fragment)

    def _stop_all(self) -> Iterator[StreamEvent]:
        """Stop every open block, for gateways that forget ``content_block_stop``."""
        for number in self._blocks:
            yield from self._block_stop(number)

    def _block_stop(self, number: int) -> Iterator[StreamEvent]:
        block = self._blocks.get(number)
        if block is None or block.stopped:
            return
        block.stopped = True
        if block.call is None or block.has_arguments:
            return
        if block.input:
            yield Anomaly("input_in_block_start")
        yield ToolCallDelta(block.call, arguments=_argument_text(block.input))

    def _whole_block(self, block: dict[str, Any]) -> Iterator[StreamEvent]:
        if block.get("type") == "tool_use":
            name, arguments = as_word(block.get("name")), _argument_text(block.get("input"))
            yield ToolCallDelta(self._calls, as_text(block.get("id")), name, arguments)
            self._calls += 1
        else:
            yield from _spoken(block)

    def _usage(self, reported: object) -> Iterator[StreamEvent]:
        usage = as_dict(reported)
        if not usage:
            return
        thinking = as_dict(usage.get("output_tokens_details")).get("thinking_tokens")
        for key, value in {**{key: usage.get(key) for key in _COUNTS}, "thinking_tokens": thinking}.items():
            count = as_count(value)
            if count is not None:
                self._counts[key] = count or self._counts.get(key, 0)
        counts = self._counts
        yield Usage(
            input=total(counts, *_INPUT_COUNTS),
            output=counts.get("output_tokens"),
            cached=counts.get("cache_read_input_tokens"),
            reasoning=counts.get("thinking_tokens"),
            cost_usd=as_amount(usage.get("cost")),
        )


def _argument_text(given: object) -> str:
    """The JSON text of arguments given whole: an object by the protocol, text by some gateways, nothing for none."""
    return given if isinstance(given, str) and given else argument_text(as_dict(given))


def _spoken(block: dict[str, Any]) -> Iterator[StreamEvent]:
    """The text of a block that is no call of ours; of kinds without text an anomaly that names them."""
    match block.get("type"):
        case "text":
            yield from _text(block.get("text"))
        case "thinking":
            yield from _reasoning(block.get("thinking"))
        case "redacted_thinking":
            return
        case other:
            yield Anomaly("host_tool_block" if isinstance(other, str) and "tool" in other else "unknown_block")


def _text(value: object) -> Iterator[StreamEvent]:
    if isinstance(value, str) and value:
        yield TextDelta(value)


def _reasoning(value: object) -> Iterator[StreamEvent]:
    if isinstance(value, str) and value:
        yield ReasoningDelta(value)


def _finish(message: dict[str, Any]) -> Iterator[StreamEvent]:
    raw = as_text(message.get("stop_reason"))
    if raw:
        yield Finish(STOP_REASONS.get(raw, "unknown"), raw)
