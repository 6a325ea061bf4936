"""A simulated vendor's side of Gemini, its strict OpenAPI subset included: contents in, candidates out.

Calls come whole, as objects, when all of their arguments are generated; a call whose arguments are no JSON is
Gemini's ``MALFORMED_FUNCTION_CALL``. The finish comes in a chunk of its own, and there is no end marker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from vendor_verifier.features.simulate.answer import Answer, Call, pieces
from vendor_verifier.features.simulate.performance import Performance, Refusal
from vendor_verifier.features.simulate.question import BadQuestion, question_of
from vendor_verifier.features.simulate.wires import (
    Asked,
    StreamedAnswer,
    answer_id,
    arguments_object,
    call_ids,
    encoded,
    event,
    list_at,
    object_in,
    request_object,
)
from vendor_verifier.values.event import TextDelta
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import as_dict, as_list

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_KEPT = (
    "title", "description", "default", "minItems", "maxItems", "minProperties", "maxProperties", "minLength",
    "maxLength", "pattern", "minimum", "maximum", "enum", "required",
)  # fmt: skip
_KNOWN = frozenset({
    *_KEPT, "type", "format", "nullable", "items", "properties", "propertyOrdering", "example", "anyOf",
})  # fmt: skip
_FORMATS = frozenset({"enum", "date-time", "float", "double", "int32", "int64"})


def fields(value: object, place: str) -> dict[str, Any]:
    """The fields of a message under their JSON names; Google's servers take the names with underscores as well.

    Raises:
        BadQuestion: ``value`` is no object; ``place`` says where it stood.
    """
    message = object_in(value, place)
    return {re.sub(r"_([a-z])", lambda found: found[1].upper(), name): item for name, item in message.items()}


def json_schema_of(schema: object, place: str = "parameters") -> dict[str, Any]:
    """The JSON Schema that is equivalent to a schema of Gemini's OpenAPI subset.

    Raises:
        BadQuestion: a word, type or format that Gemini's ``Schema`` does not know; ``place`` says where.
    """
    node = fields(schema, place)
    unknown = node.keys() - _KNOWN
    if unknown:
        raise BadQuestion(f"Unknown name \"{min(unknown)}\" at '{place}': Cannot find field.", place)
    if "anyOf" in node and node.keys() - {"anyOf", "nullable"}:
        raise BadQuestion(f"{place}: when using any_of, it must be the only field set.", place)
    found = {key: node[key] for key in _KEPT if key in node}
    kind = node.get("type")
    if "anyOf" in node:
        options = [json_schema_of(option, f"{place}.any_of[{n}]") for n, option in enumerate(as_list(node["anyOf"]))]
        found["anyOf"] = [*options, {"type": "null"}] if node.get("nullable") is True else options
        return found
    if kind not in _TYPES:
        raise BadQuestion(f"Invalid value at '{place}.type': {kind}", place)
    found["type"] = kind.lower()
    _check_values(node, kind, place)
    if isinstance(node.get("format"), str) and node["format"] == "date-time":
        found["format"] = "date-time"
    if kind == "ARRAY":
        found["items"] = json_schema_of(node.get("items"), f"{place}.items")
    if kind == "OBJECT":
        inner = as_dict(node.get("properties"))
        found["properties"] = {
            name: json_schema_of(rule, f"{place}.properties[{name}]") for name, rule in inner.items()
        }
        if set(as_list(node.get("required"))) - inner.keys():
            raise BadQuestion(f"{place}.required: property is not defined", place)
    if node.get("nullable") is True:
        found["type"] = [found["type"], "null"]
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
    return found


def _check_values(node: dict[str, Any], kind: str, place: str) -> None:
    form = node.get("format")
    if form is not None and form not in _FORMATS:
        raise BadQuestion(f"{place}.format: only 'enum' and 'date-time' are supported for STRING type", place)
    values = as_list(node.get("enum"))
    if values and (kind != "STRING" or not all(isinstance(value, str) and value for value in values)):
        raise BadQuestion(f"{place}.enum: only non-empty strings of type STRING are allowed", place)


_PATH = re.compile(r"/v1(?:beta)?/(?:models|tunedModels|publishers/[^/]+/models)/(.+):(streamG|g)enerateContent")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_STATUS_WORDS: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_SETTINGS = {
    "temperature": "temperature", "topP": "top_p", "maxOutputTokens": "max_tokens", "candidateCount": "n",
    "responseLogprobs": "logprobs", "logprobs": "top_logprobs",
}  # fmt: skip
_ARRAY = "array"


class SimulatedGemini:
    """``POST …/v1beta/models/MODEL:streamGenerateContent`` and ``:generateContent``, under ``/v1`` too."""

    name = "gemini"

    def serves(self, path: str) -> bool:
        return _PATH.fullmatch(path) is not None

    def read(self, body: bytes, target: str = "") -> Asked:
        path, _, query = target.partition("?")
        found = _PATH.fullmatch(path)
        if found is None:
            raise BadQuestion(f"no method at {path[:200]}")
        request = fields(request_object(body), "the body")
        tools = tuple(_declared(request))
        question = question_of(Turn(tuple(_messages(request)), tools, _parameters(request)))
        style = "" if parse_qs(query).get("alt") == ["sse"] else _ARRAY
        return Asked(question, unquote(found[1]), found[2] == "streamG", body=request, style=style)

    def stream(self, asked: Asked, performance: Performance, created: int) -> StreamedAnswer:  # noqa: ARG002 it has no date
        chunks = _Chunks(asked, performance)
        calls = _call_parts(performance)
        events: list[dict[str, Any] | None] = []
        ends: dict[int, int] = {}
        for piece in pieces(performance.answer, performance.piece_count, performance.call_ids):
            if isinstance(piece, TextDelta):
                events.append(chunks.chunk([{"text": piece.text}]))
            else:
                # While a call's arguments are generated there is silence.
                ends[piece.index or 0] = len(events)
                events.append(None)
        for index, part in calls.items():
            events[ends[index]] = chunks.chunk([part])
        if asked.style == _ARRAY:
            between = [b"" if chunk is None else encoded(chunk) + b",\r\n" for chunk in events]
            return StreamedAnswer(b"[", between, encoded(chunks.ending()) + b"]", "application/json; charset=utf-8")
        return StreamedAnswer(b"", [b"" if chunk is None else event(chunk) for chunk in events], event(chunks.ending()))

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:  # noqa: ARG002 it has no date
        text = performance.answer.text
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        return encoded(_Chunks(asked, performance).ending([*parts, *_call_parts(performance).values()]))

    def refusal(self, refusal: Refusal) -> tuple[int, bytes]:
        error: dict[str, Any] = {
            "code": refusal.status,
            "message": refusal.message,
            "status": _STATUS_WORDS.get(refusal.status, "UNKNOWN"),
        }
        if refusal.retry_after_s is not None:
            hint = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{refusal.retry_after_s:.3f}s"}
            error["details"] = [hint]
        return refusal.status, encoded({"error": error})


class _Chunks:
    """Chunks of one answer, which share model and id."""

    def __init__(self, asked: Asked, performance: Performance) -> None:
        self._answer = performance.answer
        self._malformed = _malformed(performance.answer)
        self._listed = asked.listed(performance.answer)
        self._tail = {
            "modelVersion": performance.served_model or asked.model,
            "responseId": answer_id(performance, ""),
        }

    def chunk(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        content = {"parts": parts, "role": "model"}
        return {"candidates": [{"content": content, "index": 0}], **self._tail}

    def ending(self, parts: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """The chunk with finish and usage, with all there is to say where it is the only one."""
        answer = self._answer
        candidate: dict[str, Any] = {"content": {"parts": parts or [{"text": ""}], "role": "model"}}
        candidate.update(finishReason="MAX_TOKENS" if answer.finish == "length" else "STOP", index=0)
        if self._malformed is not None:
            message = f"Malformed function call: {self._malformed.name}({self._malformed.arguments}"
            candidate.update(finishReason="MALFORMED_FUNCTION_CALL", finishMessage=message)
        if self._listed:
            top = [{"token": token, "logProbability": number} for token, number in self._listed]
            said = [{"token": self._answer.text, "logProbability": dict(self._answer.logprobs).get(self._answer.text)}]
            candidate["logprobsResult"] = {"topCandidates": [{"candidates": top}], "chosenCandidates": said}
        usage = {
            "promptTokenCount": answer.prompt_tokens,
            "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": answer.prompt_tokens + answer.output_tokens,
        }
        return {"candidates": [candidate], "usageMetadata": usage, **self._tail}


def _malformed(answer: Answer) -> Call | None:
    """The call that Gemini's own parser refuses; one that the budget cut off is only left out."""
    if answer.finish == "length":
        return None
    return next((call for call in answer.calls if arguments_object(call) is None), None)


def _call_parts(performance: Performance) -> dict[int, dict[str, Any]]:
    """Each call as a part, by its number; none at all when one of them is malformed."""
    answer = performance.answer
    parts: dict[int, dict[str, Any]] = {}
    if _malformed(answer) is not None:
        return parts
    for index, (call_id, call) in enumerate(zip(call_ids(performance, "call_"), answer.calls, strict=True)):
        arguments = arguments_object(call)
        if arguments is not None:
            parts[index] = {"functionCall": {"id": call_id, "name": call.name, "args": arguments}}
    return parts


def _messages(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if request.get("systemInstruction"):
        system = fields(request["systemInstruction"], "system_instruction")
        yield {"role": "system", "content": [_part(fields(part, "part")) for part in list_at(system, "parts")]}
    waiting: list[str] = []
    count = 0
    for number, value in enumerate(list_at(request, "contents")):
        content = fields(value, f"contents[{number}]")
        role = content.get("role", "user")
        if role not in ("user", "model", "function"):
            raise BadQuestion("Please use a valid role: user, model.", f"contents[{number}].role")
        parts = [fields(part, f"contents[{number}].parts") for part in list_at(content, "parts")]
        answers = [as_dict(part["functionResponse"]) for part in parts if "functionResponse" in part]
        if [answer.get("name") for answer in answers] != waiting:
            raise BadQuestion(
                "Please ensure that the function response parts are those of the function call parts, in their order.",
                f"contents[{number}]",
            )
        for place, answer in enumerate(answers):
            call_id = f"call_{count - len(waiting) + place}"
            yield {"role": "tool", "tool_call_id": call_id, "content": _result(as_dict(answer.get("response")))}
        calls = [as_dict(part["functionCall"]) for part in parts if "functionCall" in part]
        waiting = [str(call.get("name")) for call in calls]
        own_parts = [_part(part) for part in parts if not part.keys() & {"functionCall", "functionResponse"}]
        if own_parts or calls:
            past = [_past_call(call, f"call_{count + place}") for place, call in enumerate(calls)]
            yield {"role": "assistant" if role == "model" else "user", "content": own_parts, "tool_calls": past}
        count += len(calls)
    if waiting:
        raise BadQuestion("Please ensure that function call turn is followed by a function response.", "contents")


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    blob, file = (fields(part.get(key) or {}, key) for key in ("inlineData", "fileData"))
    if blob:
        return {"type": "image_url", "image_url": {"url": f"data:{blob.get('mimeType')};base64,{blob.get('data')}"}}
    if file:
        return {"type": "image_url", "image_url": {"url": file.get("fileUri")}}
    raise BadQuestion("Unable to submit request because it must have a text parameter.", "contents")


def _past_call(call: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    function = {"name": call.get("name"), "arguments": object_in(call.get("args") or {}, "function_call.args")}
    return {"id": call_id, "type": "function", "function": function}


def _result(response: Mapping[str, Any]) -> str:
    only = response.get("output") if len(response) == 1 else None
    return only if isinstance(only, str) else json.dumps(response, ensure_ascii=False)


def _declared(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in list_at(request, "tools"):
        for number, value in enumerate(list_at(fields(tool, "tools"), "functionDeclarations")):
            place = f"tools[0].function_declarations[{number}]"
            declaration = fields(value, place)
            name = declaration.get("name")
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise BadQuestion(f"Invalid function name at '{place}.name'.", f"{place}.name")
            schema = declaration.get("parametersJsonSchema")
            if "parameters" in declaration:
                schema = json_schema_of(declaration["parameters"], f"{place}.parameters")
            function = {"name": name, "description": declaration.get("description"), "parameters": schema}
            yield {"type": "function", "function": function}


def _parameters(request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in chat-completions terms."""
    config = fields(request.get("generationConfig") or {}, "generation_config")
    found = {here: config[there] for there, here in _SETTINGS.items() if config.get(there) is not None}
    if as_list(config.get("stopSequences")):
        found["stop"] = config["stopSequences"]
    tool_config = fields(request.get("toolConfig") or {}, "tool_config")
    calling = fields(tool_config.get("functionCallingConfig") or {}, "function_calling_config")
    mode = _MODES.get(calling.get("mode", "AUTO"))
    if mode is None:
        raise BadQuestion(f"Invalid value at 'tool_config.mode': {calling.get('mode')}", "toolConfig")
    names = as_list(calling.get("allowedFunctionNames"))
    if calling:
        found["tool_choice"] = mode
    if names:
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        found["tool_choice"] = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}
    if config.get("responseMimeType") == "application/json":
        schema = config.get("responseJsonSchema")
        if "responseSchema" in config:
            schema = json_schema_of(config["responseSchema"], "generation_config.response_schema")
        form = {"type": "json_schema", "json_schema": {"schema": schema}}
        found["response_format"] = {"type": "json_object"} if schema is None else form
    return found
