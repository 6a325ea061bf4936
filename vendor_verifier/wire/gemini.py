"""Gemini ``streamGenerateContent``: translates a chat-completions turn into its words.

Results of parallel calls go back together and in the order of the calls (Gemini matches them by position), and tool
schemas go as they are, as ``parametersJsonSchema``. Forbidding parallel calls has no word here, nor have images by
address: such turns are untranslatable.

Answers are read as events, as one JSON array or as one object, and are whole when a ``finishReason`` came. That word is
``STOP`` for calls too, so ``STOP`` after a call reads as ``tool_calls``. A call that Google's own parser refused
(``MALFORMED_FUNCTION_CALL`` and its like) arrives as an answer without any call, and would pass for a model that chose
not to call: it ends with the reason ``error`` and an anomaly in the word's lower case.
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
from vendor_verifier.wire.base import Notes, answer_object, body_object, event_object, gemini_url, keep_counts, total
from vendor_verifier.wire.errors import Fault
from vendor_verifier.wire.history import (
    Part,
    PastCall,
    PastMessage,
    TextPart,
    argument_object,
    argument_text,
    in_turns,
    system_text,
)
from vendor_verifier.wire.payload import PayloadError, as_dict, as_list, as_text, as_word, parse_json
from vendor_verifier.wire.sse import SseEvent

# A name begins with a letter or "_"; a leading character of another kind is replaced.
_ILLEGAL = re.compile(r"^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]")
_LONGEST_NAME = 64
_MOST_STOPS = 5
_SETTINGS: Mapping[str, str] = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "thinking_config": "thinkingConfig",
}
_KNOWN = frozenset({
    *_SETTINGS, "max_tokens", "max_completion_tokens", "stop", "tool_choice", "parallel_tool_calls", "response_format",
})  # fmt: skip
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}

Auth = Literal["x-goog-api-key", "bearer", "both"]


@dataclass(frozen=True, slots=True)
class Gemini:
    """The wire. The API's version is part of the base url (``…/v1beta``). ``foreign_signature`` is put on calls of the
    history that bring no thought signature, for models that refuse a history without. ``thinking`` is what switches
    reasoning off, within ``generationConfig``."""

    name: str = "gemini"
    auth: Auth = "x-goog-api-key"
    foreign_signature: str | None = None
    thinking: support.ThinkingSwitch | None = support.NO_BUDGET

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        notes = Notes()
        plain = support.plain_turn(turn, notes, _ILLEGAL, _LONGEST_NAME)
        tools, names = plain.tools, plain.names
        body: dict[str, Any] = {}
        system = system_text(plain.history, notes)
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        body["contents"] = self._contents(plain, notes)
        if tools:
            body["tools"] = [{"functionDeclarations": [_declaration(tool, plain, notes) for tool in tools]}]
        choice = support.read_tool_choice(turn.parameters.get("tool_choice"), tools, notes)
        if choice is not None:
            allowed = {"allowedFunctionNames": [names.get(choice.name, choice.name)]} if choice.name else {}
            body["toolConfig"] = {"functionCallingConfig": {"mode": _MODES[choice.mode], **allowed}}
        if tools and turn.parameters.get("parallel_tool_calls") is False:
            notes.cannot("parallel_tool_calls=false")
        settings = {**_generation_config(turn.parameters, notes), **support.switched(self.thinking, turn, notes)}
        if settings:
            body["generationConfig"] = settings
        _merge(body, endpoint.body)
        url = gemini_url(endpoint.base_url, endpoint.model_id, stream=turn.stream)
        headers = support.headers_of(turn, endpoint, auth=self.auth, own="x-goog-api-key")
        return support.post(url, headers, body, notes, names)

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> GeminiReader:
        return GeminiReader()

    def _contents(self, plain: support.PlainTurn, notes: Notes) -> list[dict[str, Any]]:
        order = {call.id: number for number, call in enumerate(plain.calls)}
        spoken = (
            (past.role, self._parts(past, plain.names, order, notes)) for past in plain.history if past.role != "system"
        )
        return [
            {
                "role": "model" if role == "assistant" else "user",
                "parts": [part for _, part in sorted(parts, key=lambda numbered: numbered[0])],
            }
            for role, parts in in_turns(spoken, notes)
        ]

    def _parts(
        self, past: PastMessage, names: Mapping[str, str], order: Mapping[str, int], notes: Notes
    ) -> list[tuple[int, dict[str, Any]]]:
        """The parts of one message, each with its position among its neighbours (only results have to be reordered)."""
        if past.role == "tool":
            if past.has_image:
                notes.cannot("image in a tool result")
            if past.call is None:
                return []
            response = {"name": names[past.call.name], "response": _result(past.text)}
            return [(order[past.call.id], {"functionResponse": response})]
        parts = [part for spoken in past.parts if (part := _part(spoken, notes)) is not None]
        parts.extend(self._call(call, names, notes, is_first=call is past.calls[0]) for call in past.calls)
        return [(0, part) for part in parts]

    def _call(self, call: PastCall, names: Mapping[str, str], notes: Notes, *, is_first: bool) -> dict[str, Any]:
        part: dict[str, Any] = {"functionCall": {"name": names[call.name], "args": argument_object(call, notes)}}
        # Of parallel calls only the first is signed.
        signature = call.signature or (self.foreign_signature if is_first else None)
        if signature:
            part["thoughtSignature"] = signature
        return part


def _declaration(tool: support.DeclaredTool, plain: support.PlainTurn, notes: Notes) -> dict[str, Any]:
    schema = tool.schema(notes)
    return plain.named(tool) | ({"parametersJsonSchema": schema} if schema else {})


def _generation_config(parameters: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    settings = {there: parameters[here] for here, there in _SETTINGS.items() if parameters.get(here) is not None}
    budget = support.output_budget(parameters)
    if budget is not None:
        settings["maxOutputTokens"] = budget
    stops = support.stop_list(parameters.get("stop"))
    if len(stops) > _MOST_STOPS:
        notes.cannot(f"more than {_MOST_STOPS} stop sequences")
    if stops:
        settings["stopSequences"] = stops
    wanted = as_dict(parameters.get("response_format"))
    kind, schema = wanted.get("type"), as_dict(wanted.get("json_schema")).get("schema")
    if kind in ("json_object", "json_schema"):
        settings["responseMimeType"] = "application/json"
        if kind == "json_schema" and schema is not None:
            settings["responseJsonSchema"] = schema
    elif kind not in (None, "text"):
        notes.cannot("response_format")
    support.note_leftovers(parameters, _KNOWN, notes)
    return settings


def _result(text: str) -> dict[str, Any]:
    """A tool's result as the object Gemini wants; any other text goes under ``output``, as in Google's documents."""
    try:
        value = parse_json(text)
    except PayloadError:
        value = None
    return value if isinstance(value, dict) else {"output": text}


def _part(part: Part, notes: Notes) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"text": part.text}
    if part.url is not None:
        notes.cannot("image by address")
        return None
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def _merge(body: dict[str, Any], extra: Mapping[str, Any]) -> None:
    """Like ``update``, but ``generationConfig: {thinkingConfig: …}`` adds to the settings instead of replacing them."""
    for key, value in extra.items():
        known = body.get(key)
        body[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, Mapping) else value


# Finish reasons that are failed tool calls; the anomaly is the word in lower case.
FAILED_CALLS = frozenset({
    "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
})  # fmt: skip
_FILTERS = (
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT "
    "IMAGE_RECITATION"
)
FINISH_REASONS: Mapping[str, FinishReason] = {
    "STOP": "stop",
    "FUNCTION_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    **dict.fromkeys(_FILTERS.split(), "content_filter"),
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

    def read(self, event: SseEvent, answer: Answer) -> None:
        chunk = event_object(event, answer, has_end_marker=False, unwrap=_alone)
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
        """Usage by the last positive count of each kind: reports are cumulative but may leave a count out."""
        if not usage:
            return
        counts = self._counts
        keep_counts(counts, usage, _COUNTS)
        given = total(counts, "promptTokenCount", "toolUsePromptTokenCount")
        output = total(counts, "candidatesTokenCount", "thoughtsTokenCount")
        answer.usage(Usage(given, output, counts.get("cachedContentTokenCount"), counts.get("thoughtsTokenCount")))

    def _finished(self, candidate: dict[str, Any], feedback: dict[str, Any], answer: Answer) -> None:
        raw, blocked = as_word(candidate.get("finishReason")), as_word(feedback.get("blockReason"))
        if raw:
            reason = FINISH_REASONS.get(raw, "unknown")
            answer.finish("tool_calls" if reason == "stop" and self._calls else reason, raw)
            if raw in FAILED_CALLS:
                answer.anomaly(raw.lower())
        elif blocked:
            answer.finish("content_filter", blocked)


def _alone(value: Any) -> Any:
    """The only item of an array of one, else the value: errors come in an array of their own."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
