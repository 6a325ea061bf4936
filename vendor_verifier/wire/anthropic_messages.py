"""Anthropic Messages: translates a chat-completions turn into its words, and never changes the question silently.

The protocol wants one ``system`` text, user and assistant in turns, tool results first, unique ids and an output
budget. It has no seed, no penalties, no log probabilities and no audio, and it takes a final assistant message for the
beginning of the answer: such turns are untranslatable.

Answers come in numbered blocks. A ``tool_use`` block opens a call under a number of our own, because gateways reuse
theirs; its arguments come as JSON fragments, or whole in the opening event, or as nothing at all, which means ``{}``.
Blocks of tools that the host itself runs are no calls of ours. Usage is cumulative and spread over two events, with
zeros where a gateway did not know better: the last positive number of each kind wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vendor_verifier.records.record import FinishReason, Usage
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire import request_support as support
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.base import Notes, body_object, event_object, keep_counts, messages_url, read_identity, total
from vendor_verifier.wire.history import (
    Part,
    PastMessage,
    TextPart,
    argument_object,
    argument_text,
    in_turns,
    system_text,
)
from vendor_verifier.wire.payload import as_amount, as_dict, as_text, as_whole, as_word
from vendor_verifier.wire.sse import SseEvent

DEFAULT_MAX_TOKENS = 4096
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 128
_LONGEST_ID = 256
_AS_IS = ("temperature", "top_p", "top_k", "thinking", "output_config")
_KNOWN = frozenset({*_AS_IS, "max_tokens", "max_completion_tokens", "stop", "tool_choice", "parallel_tool_calls"})
_ROOT_COMBINATORS = ("anyOf", "oneOf", "allOf")

Auth = Literal["x-api-key", "bearer", "both"]


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """The wire. ``auth`` is the header that carries the key (MiniMax's Chinese host refuses ``x-api-key``),
    ``default_max_tokens`` the budget where the turn sets none, because the protocol demands one. ``thinking`` is what
    switches reasoning on and off."""

    name: str = "anthropic"
    auth: Auth = "x-api-key"
    default_max_tokens: int = DEFAULT_MAX_TOKENS
    thinking: support.ThinkingSwitch = support.THINKING_BUDGET

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        notes = Notes()
        plain = support.plain_turn(turn, notes, _ILLEGAL, _LONGEST_NAME)
        tools, names = plain.tools, plain.names
        body: dict[str, Any] = {"model": endpoint.model_id, **self._settings(turn.parameters, notes)}
        system = system_text(plain.history, notes)
        if system:
            body["system"] = system
        body["messages"] = _messages(plain, notes)
        if tools:
            body["tools"] = [plain.named(tool) | {"input_schema": _input_schema(tool, notes)} for tool in tools]
        choice = support.read_tool_choice(turn.parameters.get("tool_choice"), tools, notes)
        parallel = turn.parameters.get("parallel_tool_calls") is not False
        chosen = _tool_choice(choice, names, parallel=parallel or not tools)
        if chosen:
            body["tool_choice"] = chosen
        body["stream"] = turn.stream
        body.update(support.switched(self.thinking, turn, notes))
        body.update(endpoint.body)
        headers = support.headers_of(
            turn, endpoint, auth=self.auth, own="x-api-key", more={"anthropic-version": "2023-06-01"}
        )
        return support.post(messages_url(endpoint.base_url), headers, body, notes, names)

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> AnthropicReader:
        return AnthropicReader()

    def _settings(self, parameters: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
        settings: dict[str, Any] = {"max_tokens": support.budget_or(self.default_max_tokens, parameters, notes)}
        settings.update({key: parameters[key] for key in _AS_IS if parameters.get(key) is not None})
        temperature = parameters.get("temperature")
        if isinstance(temperature, (int, float)) and temperature > 1:
            notes.cannot("temperature>1")
        stops = support.stop_list(parameters.get("stop"))
        if any(not stop.strip() for stop in stops):
            notes.cannot("stop sequence of white space")
        if stops:
            settings["stop_sequences"] = stops
        support.note_leftovers(parameters, _KNOWN, notes)
        return settings


def _input_schema(tool: support.DeclaredTool, notes: Notes) -> dict[str, Any]:
    """The schema as declared but for its root, which must be an object without combinators.

    Where there are properties, a combinator only says which of them go together, so they are sent without it.
    """
    schema = {"type": "object", **(tool.schema(notes) or {"properties": {}})}
    for word in _ROOT_COMBINATORS:
        if word not in schema:
            continue
        del schema[word]
        if schema.get("properties"):
            notes.rewrote(f"schema:{word}")
        else:
            notes.cannot(f"tool schema with {word} for a root")
    return schema


def _tool_choice(choice: support.ToolChoice | None, names: Mapping[str, str], *, parallel: bool) -> dict[str, Any]:
    if choice is None and parallel:
        return {}
    choice = choice or support.ToolChoice("auto")
    if choice.mode == "none":
        return {"type": "none"}
    wanted: dict[str, Any] = {"type": "auto" if choice.mode == "auto" else "any"}
    if choice.name:
        wanted = {"type": "tool", "name": names.get(choice.name, choice.name)}
    if not parallel:
        wanted["disable_parallel_tool_use"] = True
    return wanted


def _messages(plain: support.PlainTurn, notes: Notes) -> list[dict[str, Any]]:
    ids = plain.ids(_ILLEGAL, _LONGEST_ID)
    spoken = (
        ("assistant" if past.role == "assistant" else "user", _blocks(past, plain.names, ids, notes))
        for past in plain.history
        if past.role != "system"
    )
    return [{"role": role, "content": _content(blocks)} for role, blocks in in_turns(spoken, notes)]


def _content(blocks: list[dict[str, Any]]) -> Any:
    """Results first, as the protocol wants them; one text as a plain string, which every host reads."""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return sorted(blocks, key=lambda block: block["type"] != "tool_result")


def _blocks(past: PastMessage, names: Mapping[str, str], ids: Mapping[str, str], notes: Notes) -> list[dict[str, Any]]:
    blocks = [block for part in past.parts if (block := _block(part)) is not None]
    if past.role == "tool":
        if past.call is None:
            return []
        content = blocks if past.has_image else past.text
        return [{"type": "tool_result", "tool_use_id": ids[past.call.id], "content": content}]
    for call in past.calls:
        arguments = argument_object(call, notes)
        blocks.append({"type": "tool_use", "id": ids[call.id], "name": names[call.name], "input": arguments})
    return blocks


def _block(part: Part) -> dict[str, Any] | None:
    """One content block; ``None`` for text without a visible character, which the protocol refuses."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text} if part.text.strip() else None
    if part.url is not None:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


STOP_REASONS: Mapping[str, FinishReason] = {
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


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
        # The numbers of those since the last stop of all.
        self._begun: list[int] = []
        self._last = -1
        self._calls = 0
        self._counts: dict[str, int] = {}

    def read(self, event: SseEvent, answer: Answer) -> None:
        payload = event_object(event, answer, has_end_marker=False)
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
        self._begun.append(number)
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
            self._begun.append(number)
            answer.anomaly("block_not_started")
        if block.call is not None and isinstance(fragment, (str, dict)) and fragment:
            block.has_arguments = True
            answer.call(block.call, arguments=fragment)

    def _stop_all(self, answer: Answer) -> None:
        """Stop every open block, for gateways that forget ``content_block_stop``."""
        begun, self._begun = self._begun, []
        for number in begun:
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
        counts = self._counts
        keep_counts(counts, usage, (*_INPUT_COUNTS, "output_tokens"))
        keep_counts(counts, as_dict(usage.get("output_tokens_details")), ("thinking_tokens",))
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
    """Read a block that is not a call of ours; a kind without words is an anomaly that names it."""
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
