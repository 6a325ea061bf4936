"""The interface of a protocol (a Wire asks, a Reader reads the answer) and what several protocols share.

No I/O, and no vendor's bytes can make them raise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from vendor_verifier.records.failures import kind_of_status
from vendor_verifier.records.record import FinishReason, Usage
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.errors import Fault, read_fault
from vendor_verifier.wire.payload import (
    MAX_VALUES,
    PayloadError,
    as_amount,
    as_count,
    as_dict,
    as_text,
    as_word,
    parse_json,
)
from vendor_verifier.wire.sse import SseEvent


def join_url(base_url: str, path: str) -> str:
    """``base_url`` plus ``path``, unless the base already is the full address."""
    base = base_url.rstrip("/")
    return base if base.endswith(path) else base + path


def messages_url(base_url: str) -> str:
    """The address of Messages under a base that may end in the version or the whole path."""
    base = base_url.rstrip("/")
    if base.endswith("/messages"):
        return base
    return f"{base}/messages" if re.search(r"/v\d+$", base) else f"{base}/v1/messages"


def gemini_url(base_url: str, model_id: str, *, stream: bool) -> str:
    """The address of a model; without ``alt=sse`` a stream would be one JSON array."""
    prefixed = model_id.startswith(("models/", "tunedModels/", "publishers/", "projects/"))
    model = model_id if prefixed else f"models/{model_id}"
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"{base_url.rstrip('/')}/{quote(model, safe='/:@')}:{method}"


class Reader(Protocol):
    """Reads one answer; fresh for each attempt, may hold state between events."""

    def read(self, event: SseEvent, answer: Answer) -> None:
        """Put into ``answer`` what one server-sent event says. Unknown events say nothing, unreadable ones are noted as
        anomalies or losses."""

    def read_body(self, body: object, answer: Answer) -> None:
        """Read a whole, parsed JSON answer (a vendor that does not stream)."""


class Wire(Protocol):
    """One protocol. Instances are immutable; quirks are constructor arguments."""

    @property
    def name(self) -> str:
        """The protocol's name in config.yaml, under ``validator:``."""

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        """Translate a turn into one POST, streaming unless the turn says otherwise."""

    def reader(self, tools: Sequence[Mapping[str, Any]] = (), /) -> Reader:
        """A fresh reader for one attempt. ``tools`` are the turn's; most protocols need none of them to read."""


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """Serialise a request body once, compactly; a lone surrogate in a sample stays the escape it was."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()


class Notes:
    """The parts of a turn that a translation cannot carry (:meth:`cannot`) or has rewritten (:meth:`rewrote`)."""

    def __init__(self) -> None:
        self.untranslatable: dict[str, None] = {}
        self.rewritten: dict[str, None] = {}

    def cannot(self, what: str) -> None:
        self.untranslatable[what] = None

    def rewrote(self, what: str) -> None:
        self.rewritten[what] = None


_END_MARKER = "[DONE]"
# Text that begins like this was to be JSON: a piece of the answer is missing. Other text ("ping") is noise.
_MEANT = ("{", "[")


def event_object(
    event: SseEvent, answer: Answer, *, has_end_marker: bool = True, unwrap: Callable[[Any], Any] = lambda value: value
) -> dict[str, Any] | None:
    """The JSON object of an event; otherwise None, and ``answer`` has the end, error, anomaly or lost piece.

    An event named ``error`` is an error whatever its text. ``has_end_marker``: ``[DONE]`` belongs to the protocol.
    ``unwrap`` takes the object out of what a protocol puts around it.
    """
    data = event.data.strip()
    if data == _END_MARKER:
        if not has_end_marker:
            answer.anomaly("foreign_end_marker")
        answer.end()
    if data == _END_MARKER or (has_end_marker and not data):
        return None
    try:
        value = parse_json(event.data, most=MAX_VALUES)
    except PayloadError as error:
        if event.name == "error":
            answer.failed(Fault.of(event.data))
        elif event.data.lstrip().startswith(_MEANT):
            answer.lost(str(error))
        else:
            answer.anomaly("bad_event")
        return None
    value = unwrap(value)
    if event.name == "error" and not isinstance(value, dict):
        answer.failed(Fault.of(event.data))
        return None
    return answer_object(value, answer, named_error=event.name == "error")


def answer_object(value: object, answer: Answer, *, named_error: bool = False) -> dict[str, Any] | None:
    """``value`` if it is an object that carries no error; otherwise None, and ``answer`` has the reason."""
    if not isinstance(value, dict):
        answer.anomaly("bad_event")
        return None
    fault = read_fault(value, named_error=named_error)
    if fault is not None:
        answer.failed(fault)
        return None
    return value


def body_object(body: object, answer: Answer, holding: str | None = None) -> dict[str, Any] | None:
    """``body`` if it is an object without an error and has a list ``holding`` the answer; otherwise None, and
    ``answer`` has the fault."""
    fields = as_dict(body)
    fault = read_fault(fields)
    if not isinstance(body, dict):
        fault = Fault.of("the answer is not a JSON object", code="not_an_object")
    elif fault is None and holding is not None and not isinstance(body.get(holding), list):
        fault = read_fault(fields, named_error=True)
        # Some refuse a key or a rate without the name "error"; what says no more than "no" is no answer of an API.
        if fault is None or kind_of_status(fault.status, f"{fault.code} {fault.message}") == "api_error_in_200":
            fault = Fault.of(as_text(body.get("message")) or f"the answer has no {holding}", code="no_choices")
    if fault is None:
        return fields
    answer.failed(fault)
    return None


def read_identity(fields: Mapping[str, Any], answer: Answer) -> None:
    """Read who answers, by the names that most protocols use for it."""
    answer.identity(*(as_word(fields.get(name)) for name in ("model", "provider", "system_fingerprint", "id")))


_CHAT_WORDS: Mapping[FinishReason, str] = {
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "stop": "stop eos eos_token end_turn stop_sequence",
    "length": "length max_tokens model_length",
    "content_filter": "content_filter sensitive",
    "error": "error abort network_error insufficient_system_resource",
}
_CHAT_FINISH_REASONS = {word: reason for reason, words in _CHAT_WORDS.items() for word in words.split()}


def chat_finish(raw: str) -> FinishReason:
    """The finish reason that a word of chat completions, and of the hosts that imitate it, means."""
    return _CHAT_FINISH_REASONS.get(raw.lower(), "unknown")


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in the words of chat completions or of Responses, with their common extensions."""

    def first(*names: str, of: Mapping[str, Any] = usage) -> int | None:
        return next((count for name in names if (count := as_count(of.get(name))) is not None), None)

    of_input = as_dict(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    of_output = as_dict(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    given, output = first("prompt_tokens", "input_tokens"), first("completion_tokens", "output_tokens")
    cached = first("cached_tokens", of=of_input)
    reasoning = first("reasoning_tokens", of=of_output)
    # xAI counts reasoning apart, and only the total includes it.
    if given and output and reasoning and usage.get("total_tokens") == given + output + reasoning:
        output += reasoning
    return Usage(
        input=given,
        output=output,
        cached=first("prompt_cache_hit_tokens", "cached_tokens") if cached is None else cached,
        reasoning=reasoning,
        cost_usd=as_amount(usage.get("cost")),
    )


def keep_counts(counts: dict[str, int], usage: Mapping[str, Any], names: Iterable[str]) -> None:
    """Put a report's counts of these names into ``counts``; a later zero never erases a positive one."""
    for name in names:
        if (count := as_count(usage.get(name))) is not None:
            counts[name] = count or counts.get(name, 0)


def total(counts: Mapping[str, int], *keys: str) -> int | None:
    """The sum of the counts that were reported, ``None`` if none was."""
    found = [counts[key] for key in keys if key in counts]
    return sum(found) if found else None
