"""Reads Anthropic Messages, from Anthropic and from the gateways that imitate it.

Theory of operation: content comes in numbered blocks. A ``tool_use`` block opens a tool call under a number of our own,
because gateways reuse theirs; its arguments come as JSON fragments, or whole in the opening event, or, for a tool
without arguments, as nothing at all, which stands for ``{}``. Blocks of tools that the host itself runs are no calls of
ours. Usage is cumulative and spread over two events, with zeros where a gateway did not know better: the last positive
number of each kind wins. The end is ``message_stop``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.records.event import FinishReason, Usage
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.history import argument_text
from vendor_verifier.wire.payload import as_amount, as_count, as_dict, as_text, as_whole, as_word
from vendor_verifier.wire.reader_support import END_MARKER, body_object, event_object, read_identity, total
from vendor_verifier.wire.sse import SseEvent

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

    def read(self, event: SseEvent, answer: Answer) -> None:
        if event.data.strip() == END_MARKER:
            answer.anomaly("foreign_end_marker")
            answer.end()
            return
        payload = event_object(event, answer)
        if payload is not None:
            self._event(as_text(payload.get("type")) or event.name, payload, answer)

    def read_body(self, body: object, answer: Answer) -> None:
        message = body_object(body, answer, holding="content")
        if message is None:
            return
        self._message_start(message, answer)
        for block in map(as_dict, message["content"]):
            if block.get("type") == "tool_use":
                arguments = _argument_text(block.get("input"))
                answer.call(self._next_call(), as_text(block.get("id")), as_word(block.get("name")), arguments)
            else:
                _read_words(block, answer)
        _finish(message, answer)
        answer.end()

    def _event(self, kind: str, payload: dict[str, Any], answer: Answer) -> None:
        match kind:
            case "message_start":
                self._message_start(as_dict(payload.get("message")), answer)
            case "content_block_start":
                self._block_start(payload, answer)
            case "content_block_delta":
                self._block_delta(payload, answer)
            case "content_block_stop":
                self._block_stop(self._number(payload), answer)
            case "message_delta":
                self._usage(payload.get("usage"), answer)
                delta = as_dict(payload.get("delta"))
                if as_word(delta.get("stop_reason")):
                    self._stop_all(answer)
                    _finish(delta, answer)
            case "message_stop":
                self._stop_all(answer)
                answer.end()
            case _:
                return  # ping, and whatever is invented next

    def _message_start(self, message: dict[str, Any], answer: Answer) -> None:
        read_identity(message, answer)
        self._usage(message.get("usage"), answer)

    def _next_call(self) -> int:
        self._calls += 1
        return self._calls - 1

    def _number(self, payload: dict[str, Any]) -> int:
        """The block an event speaks of; the latest one when the event does not say."""
        number = as_whole(payload.get("index"))
        return self._last if number is None else number

    def _block_start(self, payload: dict[str, Any], answer: Answer) -> None:
        number = self._number(payload) if "index" in payload else self._last + 1
        content = as_dict(payload.get("content_block"))
        block = _Block(as_text(content.get("type")) or "", as_text(content.get("id")))
        known = self._blocks.get(number)
        if known is not None:
            if block.kind == "tool_use" and known.kind == block.kind and block.id and known.id == block.id:
                answer.anomaly("block_repeated")
                return
            answer.anomaly("index_reused")
            self._block_stop(number, answer)
        self._blocks[number] = block
        self._last = number
        if block.kind == "tool_use":
            block.call = self._next_call()
            given = content.get("input")
            block.input = given if isinstance(given, (dict, str)) else None
            answer.call(block.call, block.id, as_word(content.get("name")))
        else:
            _read_words(content, answer)

    def _block_delta(self, payload: dict[str, Any], answer: Answer) -> None:
        delta = as_dict(payload.get("delta"))
        match delta.get("type"):
            case "text_delta":
                answer.text(as_text(delta.get("text")) or "")
            case "thinking_delta":
                answer.reasoning(as_text(delta.get("thinking")) or "")
            case "input_json_delta":
                self._arguments(self._number(payload), delta.get("partial_json"), answer)
            case _:
                return  # signatures, citations

    def _arguments(self, number: int, fragment: object, answer: Answer) -> None:
        block = self._blocks.get(number)
        if block is None:
            # A call whose beginning was lost: it has no name, and the answer must show that.
            block = self._blocks[number] = _Block("tool_use", call=self._next_call())
            answer.anomaly("block_not_started")
        if block.call is not None and isinstance(fragment, (str, dict)) and fragment:
            block.has_arguments = True
            answer.call(block.call, arguments=fragment)

    def _stop_all(self, answer: Answer) -> None:
        """Stop every open block, for gateways that forget ``content_block_stop``."""
        for number in self._blocks:
            self._block_stop(number, answer)

    def _block_stop(self, number: int, answer: Answer) -> None:
        block = self._blocks.get(number)
        if block is None or block.stopped:
            return
        block.stopped = True
        if block.call is None or block.has_arguments:
            return
        if block.input:
            answer.anomaly("input_in_block_start")
        answer.call(block.call, arguments=_argument_text(block.input))

    def _usage(self, reported: object, answer: Answer) -> None:
        usage = as_dict(reported)
        if not usage:
            return
        thinking = as_dict(usage.get("output_tokens_details")).get("thinking_tokens")
        for key, value in {**{key: usage.get(key) for key in _COUNTS}, "thinking_tokens": thinking}.items():
            count = as_count(value)
            if count is not None:
                self._counts[key] = count or self._counts.get(key, 0)
        counts = self._counts
        report = Usage(
            input=total(counts, *_INPUT_COUNTS),
            output=counts.get("output_tokens"),
            cached=counts.get("cache_read_input_tokens"),
            reasoning=counts.get("thinking_tokens"),
            cost_usd=as_amount(usage.get("cost")),
        )
        answer.usage(report)


def _argument_text(given: object) -> str:
    """The JSON text of arguments given whole: an object by the protocol, text by some gateways, nothing for none."""
    return given if isinstance(given, str) and given else argument_text(as_dict(given))


def _read_words(block: dict[str, Any], answer: Answer) -> None:
    """Read a block that is no call of ours; a kind without words is an anomaly that names it."""
    match block.get("type"):
        case "text":
            answer.text(as_text(block.get("text")) or "")
        case "thinking":
            answer.reasoning(as_text(block.get("thinking")) or "")
        case "redacted_thinking":
            return
        case other:
            answer.anomaly("host_tool_block" if isinstance(other, str) and "tool" in other else "unknown_block")


def _finish(message: dict[str, Any], answer: Answer) -> None:
    raw = as_word(message.get("stop_reason"))
    if raw:
        answer.finish(STOP_REASONS.get(raw, "unknown"), raw)
