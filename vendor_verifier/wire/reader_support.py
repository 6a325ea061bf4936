"""Shared by the readers of several protocols: an event's object, identity, usage, and tool calls joined from pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Finish,
    FinishReason,
    Identity,
    Lost,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.errors import read_fault
from vendor_verifier.wire.payload import (
    PayloadError,
    as_amount,
    as_count,
    as_dict,
    as_text,
    as_word,
    has_many_parts,
    parse_json,
)

END_MARKER = "[DONE]"
MAX_CALLS = 1024
MAX_PARSED = 32 * 1024 * 1024
# A text that begins so was meant to say something; other text that is no JSON ("ping") takes nothing away.
_MEANT = ("{", "[")


def event_object(
    text: str, name: str, *, unwrap: Callable[[Any], Any] = lambda value: value
) -> dict[str, Any] | Fault | Anomaly | Lost:
    """The JSON object in an event's ``text``, or what to yield instead: the error it carries, ``bad_event``, or a lost
    piece of the answer.

    ``name`` is the event's name; ``error`` makes an error of any object and of text that is no JSON. ``unwrap`` takes
    the object out of what a protocol puts around it.
    """
    try:
        value = parse_json(text)
    except PayloadError as error:
        if name == "error":
            return Fault(text)
        return Lost(str(error)) if text.lstrip().startswith(_MEANT) else Anomaly("bad_event")
    return answer_object(unwrap(value), named_error=name == "error")


def answer_object(value: object, *, named_error: bool = False) -> dict[str, Any] | Fault | Anomaly:
    """``value`` if it is an object that carries no error, else the error, else ``bad_event``."""
    if not isinstance(value, dict):
        return Anomaly("bad_event")
    return read_fault(value, named_error=named_error) or value


def body_object(body: object, holding: str | None = None) -> dict[str, Any] | Fault:
    """``body`` if it is an object without an error and has a list ``holding`` the answer, else a fault."""
    if not isinstance(body, dict):
        return Fault("the answer is not a JSON object", code="not_an_object")
    fault = read_fault(body)
    if fault is None and holding is not None and not isinstance(body.get(holding), list):
        fault = Fault(as_text(body.get("message")) or f"the answer has no {holding}", code="no_choices")
    return fault or body


def identity_of(fields: Mapping[str, Any]) -> Identity:
    """The identity of the answering host, by the names that most protocols use for it."""
    return Identity(
        model=as_word(fields.get("model")),
        provider=as_word(fields.get("provider")),
        fingerprint=as_word(fields.get("system_fingerprint")),
        response_id=as_word(fields.get("id")),
    )


class IdentityChanges:
    """The identity that hosts repeat in every event; passed on when it changes."""

    def __init__(self) -> None:
        self._known = Identity()

    def changes(self, identity: Identity) -> Iterator[Identity]:
        if identity not in (self._known, Identity()):
            self._known = identity
            yield identity


_CHAT_FINISH_REASONS: Mapping[str, FinishReason] = {
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


def chat_finish(raw: str) -> Finish:
    """The finish reason of chat completions and of the hosts that imitate it."""
    return Finish(_CHAT_FINISH_REASONS.get(raw.lower(), "unknown"), raw)


def chat_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in the chat-completions vocabulary and its common extensions."""
    cached = (
        as_dict(usage.get("prompt_tokens_details")).get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return Usage(
        input=as_count(usage.get("prompt_tokens")),
        output=as_count(usage.get("completion_tokens")),
        cached=next((count for count in map(as_count, cached) if count is not None), None),
        reasoning=as_count(as_dict(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cost_usd=as_amount(usage.get("cost")),
    )


def responses_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in the Responses vocabulary, or in that of chat completions where a gateway uses it."""
    if "input_tokens" not in usage and "output_tokens" not in usage:
        return chat_usage(usage)
    return Usage(
        input=as_count(usage.get("input_tokens")),
        output=as_count(usage.get("output_tokens")),
        cached=as_count(as_dict(usage.get("input_tokens_details")).get("cached_tokens")),
        reasoning=as_count(as_dict(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cost_usd=as_amount(usage.get("cost")),
    )


def total(counts: Mapping[str, int], *keys: str) -> int | None:
    """The sum of the counts that were reported, ``None`` if none was."""
    found = [counts[key] for key in keys if key in counts]
    return sum(found) if found else None


class _Open(msgspec.Struct):
    id: str | None = None
    name: str = ""
    arguments: list[str] = []
    anomalies: dict[str, None] = {}
    number: int = 0


class ToolCallAccumulator:
    """Collects :class:`ToolCallDelta` pieces of one answer; :meth:`calls` gives the finished calls in order.

    Theory of operation: calls are kept in the order in which they began, never in a list addressed by a vendor's index
    (an index may be missing, negative or 2·10⁹). A piece belongs to

    1. the call that was begun under the same index, unless the piece starts another call there: it carries a different
       id, or, where the host sends no ids, a name and arguments of its own after the first call's are complete (hosts
       that send every call as index 0). A different id without a name in the middle of the arguments is a host that
       makes up a new id for every piece;
    2. without an index, the call with the same id, else a new call if it brings an id or a name that is not just a
       repetition, else the last call.

    A piece that says nothing begins no call. Names and ids repeated in every piece (llama-cpp-python) are not appended
    again; a name that really comes in fragments is joined. Arguments as an object are serialised and flagged.

    Bounds: at most ``MAX_CALLS`` calls, and ``MAX_PARSED`` characters parsed to find out where a call ends.
    """

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._by_index: dict[int, _Open] = {}
        self._by_id: dict[str, _Open] = {}
        self._parsed = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, delta: ToolCallDelta) -> None:
        call = self._target(delta)
        if call is None:
            return
        if delta.id and not call.id:
            call.id = delta.id
            call.anomalies.pop("id_empty", None)
            if call.number >= self._by_id.get(delta.id, call).number:
                self._by_id[delta.id] = call
        elif delta.id == "" and delta.name and not call.id:
            call.anomalies["id_empty"] = None
        if delta.name:
            self._add_name(call, delta.name)
        if isinstance(delta.arguments, str):
            if delta.arguments:
                call.arguments.append(delta.arguments)
        elif delta.arguments is not None:
            call.anomalies["arguments_object"] = None
            call.arguments.append(json.dumps(delta.arguments, ensure_ascii=False))

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(name=call.name, arguments="".join(call.arguments), id=call.id, anomalies=tuple(call.anomalies))
            for call in self._open
        )

    def _target(self, delta: ToolCallDelta) -> _Open | None:
        if delta.index is None:
            return self._target_without_index(delta)
        call = self._by_index.get(delta.index)
        if call is None:
            return self._begin(delta, None)
        if delta.id and call.id and delta.id != call.id:
            if delta.name or not delta.arguments or not call.arguments or self._is_whole(call):
                return self._begin(delta, "index_reused")
            call.anomalies["id_changed"] = None
        elif not (delta.id or call.id) and self._starts_over(call, delta):
            return self._begin(delta, "index_reused")
        return call

    def _target_without_index(self, delta: ToolCallDelta) -> _Open | None:
        last = self._open[-1] if self._open else None
        if last is None:
            return self._begin(delta, "index_missing")
        if delta.id:
            known = self._by_id.get(delta.id)
            if known is not None:
                return self._begin(delta, "id_reused") if self._starts_over(known, delta) else known
            is_late_id = last.id is None and not last.arguments and delta.name in (None, last.name)
            return last if is_late_id else self._begin(delta, "index_missing")
        if delta.name and last.arguments and (delta.name != last.name or self._starts_over(last, delta)):
            return self._begin(delta, "index_missing")
        return last

    def _starts_over(self, call: _Open, delta: ToolCallDelta) -> bool:
        """Whether the piece is a call of its own: a name, and arguments that start where the call's have ended."""
        arguments = delta.arguments
        begins = isinstance(arguments, Mapping) or (arguments or "").lstrip().startswith("{")
        return bool(delta.name) and begins and self._is_whole(call)

    def _is_whole(self, call: _Open) -> bool:
        """Whether the call's arguments are a complete JSON object."""
        if not call.arguments or not call.arguments[-1].rstrip().endswith("}") or self._parsed > MAX_PARSED:
            return False
        arguments = "".join(call.arguments)
        self._parsed += len(arguments)
        if has_many_parts(arguments):
            return False
        try:
            parse_json(arguments)
        except PayloadError:
            return False
        return True

    def _begin(self, delta: ToolCallDelta, anomaly: str | None) -> _Open | None:
        if len(self._open) >= MAX_CALLS or not (delta.id or delta.name or delta.arguments):
            return None
        call = _Open(number=len(self._open))
        if anomaly:
            call.anomalies[anomaly] = None
        if delta.index is not None:
            self._by_index[delta.index] = call
            if delta.index < 0 or delta.index >= MAX_CALLS:
                call.anomalies["index_odd"] = None
        self._open.append(call)
        return call

    @staticmethod
    def _add_name(call: _Open, fragment: str) -> None:
        if call.name == fragment or (call.name and call.arguments and call.name.endswith(fragment)):
            call.anomalies["name_repeated"] = None
        elif not (call.name and call.arguments):
            call.name += fragment
        else:
            call.anomalies["name_changed"] = None
