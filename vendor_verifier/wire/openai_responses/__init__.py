"""OpenAI Responses: translates a chat-completions turn into its words, and never changes the question in silence.

The conversation becomes input items: messages, ``function_call`` and ``function_call_output``, paired by ``call_id``.
Tools are flat. Reasoning of the history is not replayed, nothing is stored on the vendor's side. There are no stop
sequences, penalties, log probabilities or several choices: such turns are untranslatable. Answers are read in
:mod:`vendor_verifier.wire.openai_responses.reader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire import request_support as support
from vendor_verifier.wire.base import Notes, join_url
from vendor_verifier.wire.history import Part, PastMessage, TextPart
from vendor_verifier.wire.openai_responses.reader import ResponsesReader
from vendor_verifier.wire.payload import as_dict

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_NOTHING = re.compile(r"(?!)")
_LONGEST_NAME = 64
_LONGEST_ID = 64
LEAST_OUTPUT = 16
_AS_IS = ("temperature", "top_p", "parallel_tool_calls", "reasoning", "service_tier", "prompt_cache_key")
_KNOWN = frozenset({
    *_AS_IS, "max_tokens", "max_completion_tokens", "tool_choice", "response_format", "reasoning_effort", "verbosity",
})  # fmt: skip

SystemRole = Literal["instructions", "system", "developer"]


@dataclass(frozen=True, slots=True)
class OpenAIResponses:
    """The wire.

    ``system``: where system messages at the beginning go, into ``instructions`` or into input items of that role; later
    ones are always items. ``narrow_names`` off for hosts that take any tool name. ``explicit_strict`` sends
    ``strict: false`` where a tool does not say, for hosts whose default here, unlike in chat completions, is true.
    ``thinking`` is what switches reasoning off.
    """

    name: str = "openai_responses"
    path: str = "/responses"
    system: SystemRole = "instructions"
    narrow_names: bool = True
    explicit_strict: bool = True
    thinking: support.ThinkingSwitch | None = support.REASONING_NONE

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        notes = Notes()
        plain = support.plain_turn(turn, notes, _ILLEGAL if self.narrow_names else _NOTHING, _LONGEST_NAME)
        tools, names = plain.tools, plain.names
        ids = plain.ids(_NOTHING, _LONGEST_ID)
        body: dict[str, Any] = {"model": endpoint.model_id}
        instructions, rest = self._instructions(plain.history, notes)
        if instructions:
            body["instructions"] = instructions
        body["input"] = [item for past in rest for item in self._items(past, names, ids)]
        if not body["input"]:
            notes.cannot("no message")
        if tools:
            body["tools"] = [self._tool(tool, plain) for tool in tools]
        choice = support.read_tool_choice(turn.parameters.get("tool_choice"), tools, notes)
        if choice is not None:
            body["tool_choice"] = _tool_choice(choice, names)
        body.update(_settings(turn.parameters, notes))
        body.update(support.switched(self.thinking, turn, notes))
        body["store"] = False
        body["stream"] = turn.stream
        body.update(endpoint.body)
        return support.post(
            join_url(endpoint.base_url, self.path), support.headers_of(turn, endpoint), body, notes, names
        )

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> ResponsesReader:
        return ResponsesReader()

    def _instructions(self, history: Sequence[PastMessage], notes: Notes) -> tuple[str, Sequence[PastMessage]]:
        """The system text at the beginning, if it has a place of its own, and the rest of the history."""
        if self.system != "instructions":
            return "", history
        leading = 0
        while leading < len(history) and _is_plain_system(history[leading]):
            leading += 1
        if leading > 1:
            notes.rewrote("system_joined")
        return "\n\n".join(past.text for past in history[:leading] if past.text), history[leading:]

    def _items(self, past: PastMessage, names: Mapping[str, str], ids: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        if past.role == "tool":
            if past.call is not None:
                output = _content(past)
                yield {"type": "function_call_output", "call_id": ids[past.call.id], "output": output}
            return
        if past.role == "assistant":
            if past.text:
                yield {"role": "assistant", "content": past.text}
        elif past.parts:
            role = self.system if past.role == "system" and self.system != "instructions" else past.role
            yield {"role": role, "content": _content(past)}
        elif past.role == "user":
            yield {"role": "user", "content": ""}
        for call in past.calls:
            yield {
                "type": "function_call",
                "call_id": ids[call.id],
                "name": names[call.name],
                "arguments": call.arguments,
            }

    def _tool(self, tool: support.DeclaredTool, plain: support.PlainTurn) -> dict[str, Any]:
        parameters = tool.parameters or {"type": "object", "properties": {}}
        declared = {"type": "function", **plain.named(tool), "parameters": parameters}
        if tool.strict is not None or self.explicit_strict:
            declared["strict"] = bool(tool.strict)
        return declared


def _is_plain_system(past: PastMessage) -> bool:
    return past.role == "system" and not past.has_image


def _content(past: PastMessage) -> Any:
    """Content of a user's or tool's item: one text as a plain string, which every host reads, else typed parts."""
    return past.text if len(past.parts) <= 1 and not past.has_image else [_part(part) for part in past.parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    url = part.url if part.url is not None else f"data:{part.media_type};base64,{part.data}"
    return {"type": "input_image", "image_url": url, "detail": part.detail or "auto"}


def _tool_choice(choice: support.ToolChoice, names: Mapping[str, str]) -> Any:
    chosen = [{"type": "function", "name": names.get(name, name)} for name in choice.names]
    if not chosen:
        return choice.mode
    if len(chosen) == 1 and choice.mode == "required":
        return chosen[0]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": chosen}


def _least(budget: Any, notes: Notes) -> Any:
    """The output budget, raised where the protocol takes none so small."""
    if not isinstance(budget, int) or not 0 < budget < LEAST_OUTPUT:
        return budget
    notes.rewrote(f"raised:max_output_tokens={LEAST_OUTPUT}")
    return LEAST_OUTPUT


def _settings(parameters: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    settings = {key: parameters[key] for key in _AS_IS if parameters.get(key) is not None}
    budget = support.output_budget(parameters)
    if budget is not None:
        settings["max_output_tokens"] = _least(budget, notes)
    if parameters.get("reasoning_effort") is not None:
        settings["reasoning"] = {**as_dict(settings.get("reasoning")), "effort": parameters["reasoning_effort"]}
    text = {"format": _text_format(parameters.get("response_format"), notes), "verbosity": parameters.get("verbosity")}
    text = {key: value for key, value in text.items() if value is not None}
    if text:
        settings["text"] = text
    support.note_leftovers(parameters, _KNOWN, notes)
    return settings


def _text_format(wanted: object, notes: Notes) -> dict[str, Any] | None:
    """``response_format`` in this protocol's place and, for a schema, without its extra level."""
    if wanted is None:
        return None
    fields = dict(wanted) if isinstance(wanted, Mapping) else {}
    kind = fields.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "json_object"}
    schema = as_dict(fields.get("json_schema"))
    if kind == "json_schema" and schema:
        return {"type": "json_schema", **schema}
    notes.cannot("response_format")
    return None
