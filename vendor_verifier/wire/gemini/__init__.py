"""Gemini ``streamGenerateContent``: translates a chat-completions turn into its words.

Messages become ``contents`` of the roles user and model, the system text stands apart, results of parallel calls go
back together and in the order of the calls (Gemini matches them by position), and tool schemas either take the detour
through :mod:`vendor_verifier.wire.gemini.schema` or go as they are (``schema="json_schema"``). Forbidding parallel
calls has no word here, nor have images by address: such turns are untranslatable. Answers are read in
:mod:`vendor_verifier.wire.gemini.reader`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire import request_support as support
from vendor_verifier.wire.base import Notes, stream_url, whole_url
from vendor_verifier.wire.gemini.reader import GeminiReader
from vendor_verifier.wire.gemini.schema import gemini_schema
from vendor_verifier.wire.history import (
    Part,
    PastCall,
    PastMessage,
    TextPart,
    argument_object,
    in_turns,
    system_text,
)
from vendor_verifier.wire.payload import PayloadError, as_dict, parse_json

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
    """The wire. The API's version is part of the base url (``…/v1beta``; some gateways know no other).

    ``schema``: ``parameters`` converts tool schemas to Gemini's OpenAPI subset, ``json_schema`` sends them untouched as
    ``parametersJsonSchema``, where the model takes it. ``foreign_signature`` is put on calls of the history that bring
    no thought signature, for models that refuse a history without. ``thinking`` is what
    switches reasoning off, within ``generationConfig``.
    """

    name: str = "gemini"
    auth: Auth = "x-goog-api-key"
    schema: Literal["parameters", "json_schema"] = "parameters"
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
            body["tools"] = [{"functionDeclarations": [self._declaration(tool, plain, notes) for tool in tools]}]
        choice = support.read_tool_choice(turn.parameters.get("tool_choice"), tools, notes)
        if choice is not None:
            body["toolConfig"] = {"functionCallingConfig": _calling_config(choice, names, notes)}
        if tools and turn.parameters.get("parallel_tool_calls") is False:
            notes.cannot("parallel_tool_calls=false")
        settings = {**self._generation_config(turn.parameters, notes), **support.switched(self.thinking, turn, notes)}
        if settings:
            body["generationConfig"] = settings
        _merge(body, endpoint.body)
        address = stream_url if turn.stream else whole_url
        headers = support.headers_of(turn, endpoint, auth=self.auth, own="x-goog-api-key")
        return support.post(address(endpoint.base_url, endpoint.model_id), headers, body, notes, names)

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> GeminiReader:
        return GeminiReader()

    def _declaration(self, tool: support.DeclaredTool, plain: support.PlainTurn, notes: Notes) -> dict[str, Any]:
        declared = plain.named(tool)
        if tool.strict:
            notes.rewrote("dropped:strict")
        if tool.parameters is None or tool.parameters == {}:
            return declared
        if self.schema == "json_schema":
            declared["parametersJsonSchema"] = tool.parameters
            if as_dict(tool.parameters).get("type", "object") != "object":
                notes.cannot("tool schema whose root is not an object")
            return declared
        schema = _subset(tool.parameters, notes)
        if schema.get("type") != "OBJECT":
            notes.cannot("tool schema whose root is not an object")
        elif schema.get("properties"):
            # An object without properties is refused; a function without parameters says the same.
            declared["parameters"] = schema
        return declared

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

    def _generation_config(self, parameters: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
        settings = {there: parameters[here] for here, there in _SETTINGS.items() if parameters.get(here) is not None}
        budget = support.output_budget(parameters)
        if budget is not None:
            settings["maxOutputTokens"] = budget
        stops = support.stop_list(parameters.get("stop"))
        if len(stops) > _MOST_STOPS:
            notes.cannot(f"more than {_MOST_STOPS} stop sequences")
        if stops:
            settings["stopSequences"] = stops
        settings.update(self._response_format(as_dict(parameters.get("response_format")), notes))
        support.note_leftovers(parameters, _KNOWN, notes)
        return settings

    def _response_format(self, wanted: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
        kind = wanted.get("type")
        if kind in (None, "text"):
            return {}
        if kind not in ("json_object", "json_schema"):
            notes.cannot("response_format")
            return {}
        form: dict[str, Any] = {"responseMimeType": "application/json"}
        schema = as_dict(wanted.get("json_schema")).get("schema")
        if kind == "json_schema" and schema is not None:
            if self.schema == "json_schema":
                form["responseJsonSchema"] = schema
            else:
                form["responseSchema"] = _subset(schema, notes)
        return form


def _subset(schema: object, notes: Notes) -> dict[str, Any]:
    converted = gemini_schema(schema)
    for word in converted.lost:
        notes.rewrote(f"schema:{word}")
    if not converted.lost and not _is_the_same(converted.schema, schema):
        notes.rewrote("schema:reworded")
    return converted.schema


def _is_the_same(sent: object, declared: object) -> bool:
    """Whether nothing but the case of types is other than declared."""
    if isinstance(sent, dict) and isinstance(declared, Mapping):
        return sent.keys() == declared.keys() and all(
            str(sent[key]).lower() == declared[key] if key == "type" and isinstance(declared[key], str)
            else _is_the_same(sent[key], declared[key])
            for key in sent
        )  # fmt: skip
    if isinstance(sent, list) and isinstance(declared, (list, tuple)):
        return len(sent) == len(declared) and all(map(_is_the_same, sent, declared))
    return sent == declared


def _calling_config(choice: support.ToolChoice, names: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    config: dict[str, Any] = {"mode": _MODES[choice.mode]}
    if choice.names and choice.mode == "auto":
        notes.cannot("tool_choice allowed_tools")
    elif choice.names:
        config["allowedFunctionNames"] = [names.get(name, name) for name in choice.names]
    return config


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
