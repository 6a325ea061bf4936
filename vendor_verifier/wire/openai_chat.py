"""OpenAI Chat Completions, as OpenAI specified it and as two dozen other hosts really send it.

The reader never trusts one place for anything: usage may stand in the chunk or in its choice, reasoning under three
names, errors in four shapes, and a tool call's index may be absent. What departs from the standard is reported as an
:class:`Anomaly`; whether an answer is complete is decided later from ``Finish`` and ``StreamEnd``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.values.event import (
    Anomaly,
    Fault,
    Finish,
    FinishReason,
    Identity,
    ReasoningDelta,
    SseEvent,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.values.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.base import ACCEPTED, json_bytes
from vendor_verifier.wire.fault import read_fault
from vendor_verifier.wire.payload import PayloadError, as_amount, as_count, as_dict, as_list, as_text, parse_json
from vendor_verifier.wire.thinking import NO_SWITCH, ThinkingSwitch, switched

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


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """The wire; its fields are the quirks a vendor may declare.

    ``max_tokens_field``: what the vendor calls the output budget. ``stream_usage``: off for hosts that refuse
    ``stream_options``. ``tool_choices``: the only words the vendor takes (``function`` stands for a named tool), where
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
        body.update(switched(self.thinking, turn.thinking))
        body.update(endpoint.body)
        headers = {"content-type": "application/json", "accept": ACCEPTED[turn.stream]}
        if endpoint.key:
            headers["authorization"] = f"Bearer {endpoint.key}"
        headers.update(endpoint.headers)
        url = join_url(endpoint.base_url, self.path)
        return HttpRequest(url, headers, json_bytes(body), untranslatable=self._unspeakable(turn))

    def _unspeakable(self, turn: Turn) -> tuple[str, ...]:
        """What this vendor has no word for: sent all the same, it would be refused or silently ignored."""
        unspeakable = []
        if turn.thinking is not None and self.thinking is None:
            unspeakable.append(NO_SWITCH)
        choice = turn.parameters.get("tool_choice")
        if self.tool_choices is not None and choice is not None:
            word = choice if isinstance(choice, str) else "function"
            if word not in self.tool_choices:
                unspeakable.append(f"tool_choice {word}")
        return tuple(unspeakable)

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> OpenAIChatReader:
        return OpenAIChatReader()


def join_url(base_url: str, path: str) -> str:
    """``base_url`` plus ``path``, unless the base already is the full address; a query stays at the end."""
    base, question, query = base_url.partition("?")
    base = base.rstrip("/")
    return (base if base.endswith(path) else base + path) + question + query


class OpenAIChatReader:
    """Reads one answer. State: what has been said once and need not be said again."""

    def __init__(self) -> None:
        self._identity = Identity()
        self._said_anything = False

    def read(self, event: SseEvent) -> Iterator[StreamEvent]:
        data = event.data.strip()
        if data == "[DONE]":
            yield StreamEnd()
        if data in ("[DONE]", ""):
            return
        try:
            chunk = parse_json(event.data)
        except PayloadError:
            if event.name == "error":
                yield Fault(event.data)
            else:
                yield Anomaly("bad_event")
            return
        if not isinstance(chunk, dict):
            yield Anomaly("bad_event")
            return
        fault = read_fault(chunk, named_error=event.name == "error")
        if fault is not None:
            yield fault
            return
        yield from self._chunk(chunk, "delta")

    def read_body(self, body: object) -> Iterator[StreamEvent]:
        if not isinstance(body, dict):
            yield Fault("the answer is not a JSON object", code="not_an_object")
            return
        fault = read_fault(body)
        if fault is not None:
            yield fault
            return
        if not isinstance(body.get("choices"), list):
            yield Fault(as_text(body.get("message")) or "the answer has no choices", code="no_choices")
            return
        yield from self._chunk(body, "message")
        yield StreamEnd()

    def _chunk(self, chunk: dict[str, Any], part: str) -> Iterator[StreamEvent]:
        yield from self._identify(chunk)
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
            yield Finish(FINISH_REASONS.get(raw.lower(), "unknown"), raw)

    def _identify(self, chunk: dict[str, Any]) -> Iterator[StreamEvent]:
        identity = Identity(
            model=as_text(chunk.get("model")) or None,
            provider=as_text(chunk.get("provider")) or None,
            fingerprint=as_text(chunk.get("system_fingerprint")) or None,
            response_id=as_text(chunk.get("id")) or None,
        )
        if identity != self._identity:
            self._identity = identity
            yield identity

    def _message(self, choice: dict[str, Any], part: str) -> Iterator[StreamEvent]:
        message = as_dict(choice.get(part))
        whole = part == "message"
        if not message and not whole and not self._said_anything:
            # Some gateways put the whole message where a delta belongs.
            message = as_dict(choice.get("message"))
            whole = True
        for delta in _deltas(message, whole=whole):
            self._said_anything = True
            yield delta

    def _usage(self, chunk: dict[str, Any], choice: dict[str, Any]) -> Iterator[StreamEvent]:
        usage = as_dict(chunk.get("usage"))
        if not usage:
            usage = as_dict(choice.get("usage"))
            if usage:
                yield Anomaly("usage_in_choice")
        if usage:
            yield read_usage(usage)


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
        index = position if whole else _index(call.get("index"))
        yield ToolCallDelta(
            index=index,
            id=as_text(call.get("id")) or None,
            name=as_text(function.get("name")) or None,
            arguments=_arguments(function.get("arguments")),
        )
    legacy = as_dict(message.get("function_call"))
    if legacy:
        yield Anomaly("legacy_function_call")
        yield ToolCallDelta(0, None, as_text(legacy.get("name")) or None, _arguments(legacy.get("arguments")))


def _is_first(choice: dict[str, Any]) -> bool:
    """The choice we asked for; only a real, positive index says that it is another one."""
    index = choice.get("index")
    return not isinstance(index, int) or index <= 0


def _index(value: object) -> int | None:
    """A tool-call index, also when it is sent as text; ``None`` when absent or nonsense."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{1,10}", value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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


def read_usage(usage: dict[str, Any]) -> Usage:
    """Usage in the chat-completions vocabulary and its common extensions."""
    cached = as_count(as_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = as_count(usage.get("prompt_cache_hit_tokens"))
    if cached is None:
        cached = as_count(usage.get("cached_tokens"))
    return Usage(
        input=as_count(usage.get("prompt_tokens")),
        output=as_count(usage.get("completion_tokens")),
        cached=cached,
        reasoning=as_count(as_dict(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cost_usd=as_amount(usage.get("cost")),
    )
