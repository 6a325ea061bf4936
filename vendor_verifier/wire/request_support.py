"""Shared by the requests of several protocols: a turn in plain terms, its parameters, headers, and the finished POST.

A parameter without a word in the protocol is neutral (its value asks for nothing), harmless (it changes how the request
is filed, not what is answered; noted as dropped), or part of the question: then the turn is untranslatable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.base import Notes, json_bytes
from vendor_verifier.wire.history import PastCall, PastMessage, read_messages
from vendor_verifier.wire.payload import as_dict, as_list, as_text

# Values that ask for nothing beyond what every protocol does anyway.
_NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "n": (1,),
    "best_of": (1,),
    "tool_choice": ("auto",),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "response_format": ({"type": "text"},),
    "parallel_tool_calls": (True,),
}
_HARMLESS = frozenset({
    "metadata", "model", "prompt_cache_key", "prompt_cache_retention", "provider", "safety_identifier", "seed",
    "service_tier", "store", "stream", "stream_options", "user",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A function the model may call; ``parameters`` is its schema as declared, ``None`` when it declares none.

    ``strict`` is ``None`` where the tool does not say.
    """

    name: str
    description: str | None = None
    parameters: object = None
    strict: bool | None = None

    def schema(self, notes: Notes) -> Mapping[str, Any]:
        """Its parameters where they must be an object and there is no ``strict``; empty when it declares none."""
        if self.strict:
            notes.rewrote("dropped:strict")
        if self.parameters is None:
            return {}
        if isinstance(self.parameters, Mapping) and self.parameters.get("type", "object") == "object":
            return self.parameters
        notes.cannot("tool schema whose root is not an object")
        return {}


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether the model may, must or must not call; ``name`` is the declared name of the one tool it must call."""

    mode: Literal["auto", "required", "none"]
    name: str | None = None


def read_tools(tools: Iterable[object], notes: Notes) -> list[DeclaredTool]:
    """The declared functions; of a name declared twice the first counts, as it does in validation."""
    found: dict[str, DeclaredTool] = {}
    for item in tools:
        tool = dict(item) if isinstance(item, Mapping) else {}
        kind = tool.get("type", "function")
        function = as_dict(tool.get("function")) or tool
        name = as_text(function.get("name"))
        if kind != "function" or not name:
            notes.cannot(f"tool of type {kind}" if kind != "function" else "tool without a name")
        elif name in found:
            notes.rewrote("dropped:repeated_tool")
        else:
            description = as_text(function.get("description")) or None
            strict = function.get("strict")
            strict = strict if isinstance(strict, bool) else None
            found[name] = DeclaredTool(name, description, function.get("parameters"), strict)
    return list(found.values())


def read_tool_choice(value: object, tools: Collection[DeclaredTool], notes: Notes) -> ToolChoice | None:
    """The tool choice, ``None`` where the turn leaves it to the default or has no tools to choose from."""
    fields = dict(value) if isinstance(value, Mapping) else {}
    name = as_text(as_dict(fields.get("function")).get("name")) or as_text(fields.get("name"))
    if value is None:
        return None
    if value == "auto" or value == "none":
        choice = ToolChoice("auto" if value == "auto" else "none")
    elif value in ("required", "any"):
        choice = ToolChoice("required")
    elif fields.get("type") == "function" and name:
        choice = ToolChoice("required", name)
    else:
        notes.cannot("tool_choice")
        return None
    if not tools:
        if choice.mode == "required":
            notes.cannot("tool_choice without tools")
        return None
    if choice.name and choice.name not in [tool.name for tool in tools]:
        notes.cannot("tool_choice of an undeclared tool")
    return choice


def sent_names(names: Iterable[str], illegal: re.Pattern[str], longest: int) -> dict[str, str]:
    """Names as they are → as they are sent: characters that match ``illegal`` become ``_``, length at most
    ``longest``, and different names stay different. Names that are legal already are never changed."""
    narrowed = {name: illegal.sub("_", name)[:longest] or "_" for name in names}
    taken = {name for name, narrow in narrowed.items() if narrow == name}
    for name, stem in narrowed.items():
        if stem == name:
            continue
        candidate, count = stem, 1
        while candidate in taken:
            count += 1
            ending = f"_{count}"
            candidate = stem[: longest - len(ending)] + ending
        taken.add(candidate)
        narrowed[name] = candidate
    return narrowed


def output_budget(parameters: Mapping[str, Any]) -> Any:
    """``max_completion_tokens`` or its older name, whatever it holds; ``None`` when the turn sets no budget."""
    newer = parameters.get("max_completion_tokens")
    return newer if newer is not None else parameters.get("max_tokens")


def budget_or(default: int, parameters: Mapping[str, Any], notes: Notes) -> Any:
    """The turn's output budget; without one ``default``, which is noted as added."""
    budget = output_budget(parameters)
    if budget is None:
        notes.rewrote(f"added:max_tokens={default}")
    return default if budget is None else budget


def stop_list(value: object) -> list[str]:
    """``stop`` as a list, whether it was a string, a list or absent."""
    return [value] if isinstance(value, str) else [item for item in as_list(value) if isinstance(item, str)]


def note_leftovers(parameters: Mapping[str, Any], known: Collection[str], notes: Notes) -> None:
    """Note every parameter that the wire does not carry and that is not neutral."""
    for name, value in parameters.items():
        if name in known or value is None or value in _NEUTRAL.get(name, ()):
            continue
        if name in _HARMLESS:
            notes.rewrote(f"dropped:{name}")
        else:
            notes.cannot("n>1" if name == "n" and value != 0 else name)


@dataclass(frozen=True, slots=True)
class PlainTurn:
    """A turn in plain terms. ``names`` maps every tool name, declared or called in the history, to the one sent."""

    tools: list[DeclaredTool]
    history: list[PastMessage]
    names: dict[str, str]

    @property
    def calls(self) -> list[PastCall]:
        """The calls of the history, in order."""
        return [call for past in self.history for call in past.calls]

    def ids(self, illegal: re.Pattern[str], longest: int) -> dict[str, str]:
        """Call ids of the history → ids to send, as :func:`sent_names` narrows them."""
        return sent_names((call.id for call in self.calls), illegal, longest)

    def named(self, tool: DeclaredTool) -> dict[str, Any]:
        """The beginning of a tool's declaration: its name as sent, and its description if it has one."""
        described = {"description": tool.description} if tool.description else {}
        return {"name": self.names[tool.name], **described}


def plain_turn(turn: Turn, notes: Notes, illegal: re.Pattern[str], longest: int) -> PlainTurn:
    """The turn in plain terms; of tool names what matches ``illegal`` or exceeds ``longest`` is narrowed."""
    tools = read_tools(turn.tools, notes)
    history = read_messages(turn.messages, notes)
    if any(past.role == "assistant" and past.has_image for past in history):
        notes.cannot("image in an assistant message")
    declared = [tool.name for tool in tools]
    called = [call.name for past in history for call in past.calls]
    return PlainTurn(tools, history, sent_names([*declared, *called], illegal, longest))


BEARER = "bearer"
BOTH = "both"


def headers_of(
    turn: Turn, endpoint: Endpoint, *, auth: str = BEARER, own: str = "", more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The request's headers, the endpoint's last.

    ``auth`` says what carries the key: ``bearer``, ``both``, or else only the protocol's ``own`` header.
    """
    accepted = "text/event-stream" if turn.stream else "application/json"
    headers = {"content-type": "application/json", "accept": accepted, **(more or {})}
    if endpoint.key and auth != BEARER:
        headers[own] = endpoint.key
    if endpoint.key and auth in (BEARER, BOTH):
        headers["authorization"] = f"Bearer {endpoint.key}"
    headers.update(endpoint.headers)
    return headers


def lay_over(body: dict[str, Any], stated: Mapping[str, Any]) -> None:
    """Put what an entry states into a body; ``stream_options: null`` leaves out what we add there, for vendors that
    refuse a request with it."""
    body.update(stated)
    if "stream_options" in stated and stated["stream_options"] is None:
        del body["stream_options"]


def post(
    url: str, headers: Mapping[str, str], body: Mapping[str, Any], notes: Notes, names: Mapping[str, str] | None = None
) -> HttpRequest:
    """The POST, with the notes of its translation and the map back from the ``names`` sent."""
    return HttpRequest(
        url=url,
        headers=headers,
        body=json_bytes(body),
        untranslatable=tuple(notes.untranslatable),
        tool_names={there: here for here, there in (names or {}).items() if here != there},
        rewritten=tuple(notes.rewritten),
    )


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """Body fields that switch reasoning ``on`` and ``off``; None where there is no such word."""

    on: Mapping[str, Any] | None
    off: Mapping[str, Any] | None


# BigModel, Z.ai and DeepSeek, whose models think unless switched off.
THINKING_TYPE = ThinkingSwitch({"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}})
# SiliconFlow.
ENABLE_THINKING = ThinkingSwitch({"enable_thinking": True}, {"enable_thinking": False})
# Anthropic Messages; 1024 is the least budget it takes, and it must be below max_tokens.
THINKING_BUDGET = ThinkingSwitch(
    {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"thinking": {"type": "disabled"}}
)
# The next three have levels of effort and no one word for "on". Models that cannot but reason refuse "off".
# OpenAI's chat completions.
EFFORT_NONE = ThinkingSwitch(None, {"reasoning_effort": "none"})
# OpenAI Responses, and OpenRouter.
REASONING_NONE = ThinkingSwitch(None, {"reasoning": {"effort": "none"}})
# Gemini, within its generationConfig.
NO_BUDGET = ThinkingSwitch(None, {"thinkingConfig": {"thinkingBudget": 0}})


def switched(switch: ThinkingSwitch | None, turn: Turn, notes: Notes) -> Mapping[str, Any]:
    """The body fields that switch thinking as the turn asks; none without a wish, or without a word for it, which is
    noted: sent without, the turn would be another question."""
    if turn.thinking is None:
        return {}
    fields = None if switch is None else switch.on if turn.thinking == "on" else switch.off
    if fields is None:
        notes.cannot("thinking switch")
    return fields or {}
