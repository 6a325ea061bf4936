"""Reads Gemini's ``streamGenerateContent``, as events, as one JSON array or as one object.

The protocol has no end marker: an answer is whole when a ``finishReason`` came. That word is ``STOP`` for calls too, so
``STOP`` after a call reads as ``tool_calls``.

A call the model attempted and Google's own parser refused (``MALFORMED_FUNCTION_CALL``, ``UNEXPECTED_TOOL_CALL`` and
their like) arrives as an answer without any call. Read as a plain stop it would pass for a model that chose not to
call; here it ends with the reason ``error`` and an anomaly in the word's lower case, so that the attempt fails and the
failure says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.records.event import FinishReason, Usage
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.errors import Fault
from vendor_verifier.wire.history import argument_text
from vendor_verifier.wire.payload import as_count, as_dict, as_list, as_text, as_word
from vendor_verifier.wire.reader_support import END_MARKER, answer_object, body_object, event_object, total
from vendor_verifier.wire.sse import SseEvent

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
    """Reads one answer. State: the number of calls and the token counts so far."""

    def __init__(self) -> None:
        self._calls = 0
        self._counts: dict[str, int] = {}
        self._finish: tuple[FinishReason, str] | None = None

    def read(self, event: SseEvent, answer: Answer) -> None:
        if event.data.strip() == END_MARKER:
            answer.anomaly("foreign_end_marker")
            answer.end()
            return
        chunk = event_object(event, answer, unwrap=_alone)
        if chunk is not None:
            self._chunk(chunk, answer)

    def read_body(self, body: object, answer: Answer) -> None:
        """A whole answer: one object, or the array that a stream without ``alt=sse`` is."""
        if isinstance(body, list):
            chunks = [answer_object(_alone(item), answer) for item in body]
            if not body:
                answer.failed(Fault.of("the answer is an empty array", code="no_choices"))
        else:
            chunks = [body_object(body, answer)]
            if chunks[0] is not None and not chunks[0].keys() & {"candidates", "promptFeedback", "usageMetadata"}:
                answer.failed(Fault.of("the answer has no candidates", code="no_choices"))
        for chunk in chunks:
            if chunk is not None:
                self._chunk(chunk, answer)

    def _chunk(self, chunk: dict[str, Any], answer: Answer) -> None:
        answer.identity(as_word(chunk.get("modelVersion")), response_id=as_word(chunk.get("responseId")))
        candidates = map(as_dict, as_list(chunk.get("candidates")))
        candidate = next((one for one in candidates if one.get("index") in (0, None)), {})
        for part in map(as_dict, as_list(as_dict(candidate.get("content")).get("parts"))):
            self._part(part, answer)
        self._usage(as_dict(chunk.get("usageMetadata")), answer)
        self._finished(candidate, as_dict(chunk.get("promptFeedback")), answer)

    def _part(self, part: dict[str, Any], answer: Answer) -> None:
        say = answer.reasoning if part.get("thought") is True else answer.text
        say(as_text(part.get("text")) or "")
        call = part.get("functionCall")
        if isinstance(call, dict):
            given = call.get("args")
            # An object, which may be left out; text is a gateway's departure.
            arguments = given if isinstance(given, str) else argument_text(as_dict(given))
            if given is not None and not isinstance(given, dict):
                answer.anomaly("arguments_not_an_object")
            answer.call(self._calls, as_word(call.get("id")), as_word(call.get("name")), arguments, is_whole=True)
            self._calls += 1
        for word, anomaly in IGNORED_PARTS.items():
            if word in part:
                answer.anomaly(anomaly)

    def _usage(self, usage: dict[str, Any], answer: Answer) -> None:
        """Usage by the last count of each kind: reports are cumulative but may leave a count out."""
        if not usage:
            return
        found = {key: as_count(usage.get(key)) for key in _COUNTS}
        self._counts.update({key: count for key, count in found.items() if count is not None})
        counts = self._counts
        report = Usage(
            input=total(counts, "promptTokenCount", "toolUsePromptTokenCount"),
            output=total(counts, "candidatesTokenCount", "thoughtsTokenCount"),
            cached=counts.get("cachedContentTokenCount"),
            reasoning=counts.get("thoughtsTokenCount"),
        )
        answer.usage(report)

    def _finished(self, candidate: dict[str, Any], feedback: dict[str, Any], answer: Answer) -> None:
        raw, blocked = as_word(candidate.get("finishReason")), as_word(feedback.get("blockReason"))
        if raw:
            reason = FINISH_REASONS.get(raw, "unknown")
            finish = "tool_calls" if reason == "stop" and self._calls else reason, raw
        elif blocked:
            finish = "content_filter", blocked
        else:
            return
        if finish == self._finish:
            return  # some models repeat it in every event
        self._finish = finish
        failed = FAILED_CALLS.get(finish[1])
        if failed:
            answer.anomaly(failed)
        answer.finish(*finish)


def _alone(value: Any) -> Any:
    """The only item of an array of one, else the value: errors come in an array of their own."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
