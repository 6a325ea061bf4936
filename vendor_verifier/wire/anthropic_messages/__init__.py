"""Anthropic Messages: translates a chat-completions turn into its words, and never changes the question in silence.

The protocol wants one ``system`` text, user and assistant in turns, tool results as the user's first blocks, unique ids
and an output budget in every request. It has no seed, no penalties, no log probabilities and no audio, and it would
take a final assistant message for the beginning of the answer: such turns are untranslatable. Answers are read in
:mod:`vendor_verifier.wire.anthropic_messages.reader`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire import request_support as support
from vendor_verifier.wire.anthropic_messages.reader import AnthropicReader
from vendor_verifier.wire.base import Notes, messages_url
from vendor_verifier.wire.history import Part, PastMessage, TextPart, argument_object, in_turns, system_text
from vendor_verifier.wire.payload import as_dict

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
    """The wire. ``auth`` is the header that carries the key (MiniMax's Chinese host refuses ``x-api-key``).

    ``default_max_tokens`` is sent where the turn sets no budget, because the protocol demands one.
    ``structured_output`` and ``strict_tools`` are for hosts that take ``output_config.format`` and ``strict``.
    ``thinking`` is what switches reasoning on and off.
    """

    name: str = "anthropic"
    auth: Auth = "x-api-key"
    version: str = "2023-06-01"
    default_max_tokens: int = DEFAULT_MAX_TOKENS
    structured_output: bool = False
    strict_tools: bool = False
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
            body["tools"] = [self._tool(tool, plain, notes) for tool in tools]
        choice = support.read_tool_choice(turn.parameters.get("tool_choice"), tools, notes)
        parallel = turn.parameters.get("parallel_tool_calls") is not False
        chosen = _tool_choice(choice, names, notes, parallel=parallel or not tools)
        if chosen:
            body["tool_choice"] = chosen
        body["stream"] = turn.stream
        body.update(support.switched(self.thinking, turn, notes))
        body.update(endpoint.body)
        headers = support.headers_of(
            turn, endpoint, auth=self.auth, own="x-api-key", more={"anthropic-version": self.version}
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
        known = _KNOWN
        wanted = as_dict(parameters.get("response_format"))
        if self.structured_output and wanted.get("type") == "json_schema":
            schema = as_dict(wanted.get("json_schema")).get("schema")
            form = {"type": "json_schema", "schema": schema}
            settings["output_config"] = {**as_dict(settings.get("output_config")), "format": form}
            known = _KNOWN | {"response_format"}
        support.note_leftovers(parameters, known, notes)
        return settings

    def _tool(self, tool: support.DeclaredTool, plain: support.PlainTurn, notes: Notes) -> dict[str, Any]:
        declared = {**plain.named(tool), "input_schema": _input_schema(tool.parameters, notes)}
        if tool.strict and self.strict_tools:
            declared["strict"] = True
        elif tool.strict:
            notes.rewrote("dropped:strict")
        return declared


def _input_schema(parameters: object, notes: Notes) -> dict[str, Any]:
    """The schema as declared but for its root, which must be an object without combinators.

    Beside properties a root combinator only narrows which of them go together, so the properties are sent without it.
    """
    if parameters is None or parameters == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping) or parameters.get("type", "object") != "object":
        notes.cannot("tool schema whose root is not an object")
        return {"type": "object", "properties": {}}
    schema = {"type": "object", **parameters}
    for word in _ROOT_COMBINATORS:
        if word not in schema:
            continue
        del schema[word]
        if schema.get("properties"):
            notes.rewrote(f"schema:{word}")
        else:
            notes.cannot(f"tool schema with {word} for a root")
    return schema


def _tool_choice(
    choice: support.ToolChoice | None, names: Mapping[str, str], notes: Notes, *, parallel: bool
) -> dict[str, Any] | None:
    if choice is None and parallel:
        return None
    choice = choice or support.ToolChoice("auto")
    if choice.mode == "none":
        return {"type": "none"}
    wanted: dict[str, Any] = {"type": "auto" if choice.mode == "auto" else "any"}
    if choice.names:
        if choice.mode == "auto" or len(choice.names) > 1:
            notes.cannot("tool_choice allowed_tools")
        wanted = {"type": "tool", "name": names.get(choice.names[0], choice.names[0])}
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
