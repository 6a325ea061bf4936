"""Reads Gemini's ``streamGenerateContent``, as events, as one JSON array or as one object.

The protocol has no end marker: an answer is whole when a ``finishReason`` came. That word is ``STOP`` for calls too, so
``STOP`` after a call reads as ``tool_calls``.

A call the model attempted and Google's own parser refused (``MALFORMED_FUNCTION_CALL``, ``UNEXPECTED_TOOL_CALL`` and
their like) arrives as an answer without any call. Read as a plain stop it would pass for a model that chose not to
call; here it ends with the reason ``error`` and an anomaly in the word's lower case, so that the attempt fails and the
failure says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Finish,
    FinishReason,
    Identity,
    Lost,
    ReasoningDelta,
    SseEvent,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.history import argument_text
from vendor_verifier.wire.payload import as_count, as_dict, as_list, as_text, as_word
from vendor_verifier.wire.reader_support import (
    END_MARKER,
    IdentityChanges,
    answer_object,
    body_object,
    event_object,
    total,
)

# Finish reasons that are failed tool calls, and the anomaly each is reported as.
FAILED_CALLS: Mapping[str, str] = {
    "MALFORMED_FUNCTION_CALL": "malformed_function_call",
    "UNEXPECTED_TOOL_CALL": "unexpected_tool_call",
    "TOO_MANY_TOOL_CALLS": "too_many_tool_calls",
    "MISSING_THOUGHT_SIGNATURE": "missing_thought_signature",
    "MALFORMED_RESPONSE": "malformed_response",
}
FINISH_REASONS: Mapping[str, FinishReason] = {
    "STOP": "stop",
    "FUNCTION_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    **dict.fromkeys(FAILED_CALLS, "error"),
}
IGNORED_PARTS: Mapping[str, str] = {
    "inlineData": "inline_data_ignored",
    "fileData": "inline_data_ignored",
    "executableCode": "code_execution_ignored",
    "codeExecutionResult": "code_execution_ignored",
}
_COUNTS = (
    "promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
    "cachedContentTokenCount",
)  # fmt: skip


class GeminiReader:
    """Reads one answer. State: the number of calls and the token counts so far, and the identity."""

    def __init__(self) -> None:
        self._calls = 0
        self._counts: dict[str, int] = {}
        self._identity = IdentityChanges()
        self._finish: Finish | None = None

    def read(self, event: SseEvent) -> Iterator[StreamEvent]:
        if event.data.strip() == END_MARKER:
            yield Anomaly("foreign_end_marker")
            yield StreamEnd()
        else:
            yield from self._item(event_object(event.data, event.name, unwrap=_alone))

    def read_body(self, body: object) -> Iterator[StreamEvent]:
        """A whole answer: one object, or the array that a stream without ``alt=sse`` is."""
        if isinstance(body, list):
            for item in body:
                yield from self._item(answer_object(_alone(item)))
            if not body:
                yield Fault("the answer is an empty array", code="no_choices")
            return
        answer = body_object(body)
        if isinstance(answer, dict) and not answer.keys() & {"candidates", "promptFeedback", "usageMetadata"}:
            answer = Fault("the answer has no candidates", code="no_choices")
        yield from self._item(answer)

    def _item(self, item: dict[str, Any] | Fault | Anomaly | Lost) -> Iterator[StreamEvent]:
        if isinstance(item, dict):
            yield from self._chunk(item)
        else:
            yield item

    def _chunk(self, chunk: dict[str, Any]) -> Iterator[StreamEvent]:
        identity = Identity(model=as_word(chunk.get("modelVersion")), response_id=as_word(chunk.get("responseId")))
        yield from self._identity.changes(identity)
        candidate: dict[str, Any] = {}
        for item in as_list(chunk.get("candidates")):
            if as_dict(item).get("index") in (0, None):
                candidate = as_dict(item)
                break
        for part in as_list(as_dict(candidate.get("content")).get("parts")):
            yield from self._part(as_dict(part))
        yield from self._usage(as_dict(chunk.get("usageMetadata")))
        yield from self._finished(candidate, as_dict(chunk.get("promptFeedback")))

    def _part(self, part: dict[str, Any]) -> Iterator[StreamEvent]:
        text = as_text(part.get("text"))
        if text:
            yield ReasoningDelta(text) if part.get("thought") is True else TextDelta(text)
        if isinstance(part.get("functionCall"), dict):
            yield from self._call(part["functionCall"])
        for word, anomaly in IGNORED_PARTS.items():
            if word in part:
                yield Anomaly(anomaly)

    def _call(self, call: dict[str, Any]) -> Iterator[StreamEvent]:
        """One whole call. ``args`` is an object and may be left out; text there is a gateway's departure."""
        given = call.get("args")
        arguments = given if isinstance(given, str) else argument_text(as_dict(given))
        if given is not None and not isinstance(given, dict):
            yield Anomaly("arguments_not_an_object")
        index, self._calls = self._calls, self._calls + 1
        yield ToolCallDelta(index, as_word(call.get("id")), as_word(call.get("name")), arguments, is_whole=True)

    def _usage(self, usage: dict[str, Any]) -> Iterator[StreamEvent]:
        """Usage by the last count of each kind: reports are cumulative but may leave a count out."""
        if not usage:
            return
        for key in _COUNTS:
            count = as_count(usage.get(key))
            if count is not None:
                self._counts[key] = count
        counts = self._counts
        yield Usage(
            input=total(counts, "promptTokenCount", "toolUsePromptTokenCount"),
            output=total(counts, "candidatesTokenCount", "thoughtsTokenCount"),
            cached=counts.get("cachedContentTokenCount"),
            reasoning=counts.get("thoughtsTokenCount"),
        )

    def _finished(self, candidate: dict[str, Any], feedback: dict[str, Any]) -> Iterator[StreamEvent]:
        raw = as_text(candidate.get("finishReason"))
        blocked = as_text(feedback.get("blockReason"))
        if raw:
            reason = FINISH_REASONS.get(raw, "unknown")
            if reason == "stop" and self._calls:
                reason = "tool_calls"
            finish = Finish(reason, raw)
        elif blocked:
            finish = Finish("content_filter", blocked)
        else:
            return
        if finish == self._finish:
            return  # some models repeat it in every event
        self._finish = finish
        failed = FAILED_CALLS.get(raw or "")
        if failed:
            yield Anomaly(failed)
        yield finish


def _alone(value: Any) -> Any:
    """The only item of an array of one, else the value: errors come in an array of their own."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
