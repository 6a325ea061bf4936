"""OpenAI Responses: translates a chat-completions turn into its words, and never changes the question silently.

The conversation becomes input items: messages, ``function_call`` and ``function_call_output``, paired by ``call_id``.
Reasoning of the history is not replayed, nothing is stored on the vendor's side. There are no stop sequences,
penalties, log probabilities or several choices: such turns are untranslatable.

An answer says the same up to four times: in deltas, in ``.done`` events, in finished items and in the final response.
Hosts leave out any of them. A part of the text is read from the first that has it, and the final response adds what
deltas lacked. Calls are read from all four; arguments that contradict earlier ones are an anomaly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.records.record import FinishReason
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire import request_support as support
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.base import Notes, body_object, event_object, join_url, read_identity, read_usage
from vendor_verifier.wire.errors import Fault, read_fault
from vendor_verifier.wire.history import Part, PastMessage, TextPart
from vendor_verifier.wire.payload import as_dict, as_list, as_text, as_whole, as_word
from vendor_verifier.wire.sse import SseEvent
from vendor_verifier.wire.tool_calls import Arguments

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST = 64
LEAST_OUTPUT = 16
_AS_IS = ("temperature", "top_p", "parallel_tool_calls", "reasoning", "service_tier", "prompt_cache_key")
_KNOWN = frozenset({
    *_AS_IS, "max_tokens", "max_completion_tokens", "tool_choice", "response_format", "reasoning_effort", "verbosity",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpenAIResponses:
    """The wire. ``thinking`` is what switches reasoning off."""

    name: str = "openai_responses"
    path: str = "/responses"
    thinking: support.ThinkingSwitch | None = support.REASONING_NONE

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        notes = Notes()
        plain = support.plain_turn(turn, notes, _ILLEGAL, _LONGEST)
        # Call ids may hold any character.
        ids = plain.ids(re.compile("(?!)"), _LONGEST)
        body: dict[str, Any] = {"model": endpoint.model_id}
        instructions, rest = _instructions(plain.history, notes)
        if instructions:
            body["instructions"] = instructions
        body["input"] = [item for past in rest for item in _items(past, plain.names, ids)]
        if not body["input"]:
            notes.cannot("no message")
        if plain.tools:
            body["tools"] = [_tool(tool, plain) for tool in plain.tools]
        choice = support.read_tool_choice(turn.parameters.get("tool_choice"), plain.tools, notes)
        if choice is not None:
            named = choice.name and {"type": "function", "name": plain.names.get(choice.name, choice.name)}
            body["tool_choice"] = named or choice.mode
        body.update(_settings(turn.parameters, notes))
        body.update(support.switched(self.thinking, turn, notes))
        body["store"] = False
        body["stream"] = turn.stream
        body.update(endpoint.body)
        url, headers = join_url(endpoint.base_url, self.path), support.headers_of(turn, endpoint)
        return support.post(url, headers, body, notes, plain.names)

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> ResponsesReader:
        return ResponsesReader()


def _instructions(history: Sequence[PastMessage], notes: Notes) -> tuple[str, Sequence[PastMessage]]:
    """The system text at the beginning, which has a place of its own, and the rest of the history."""
    leading = 0
    while leading < len(history) and history[leading].role == "system" and not history[leading].has_image:
        leading += 1
    if leading > 1:
        notes.rewrote("system_joined")
    return "\n\n".join(past.text for past in history[:leading] if past.text), history[leading:]


def _items(past: PastMessage, names: Mapping[str, str], ids: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    # One text goes as a plain string, which every host reads.
    is_one_text = len(past.parts) <= 1 and not past.has_image
    content: Any = past.text if is_one_text else [_part(part) for part in past.parts]
    if past.role == "tool":
        if past.call is not None:
            yield {"type": "function_call_output", "call_id": ids[past.call.id], "output": content}
    elif past.role == "assistant":
        if past.text:
            yield {"role": "assistant", "content": past.text}
        for call in past.calls:
            sent = {"call_id": ids[call.id], "name": names[call.name], "arguments": call.arguments}
            yield {"type": "function_call", **sent}
    elif past.parts or past.role == "user":
        yield {"role": past.role, "content": content}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    url = part.url if part.url is not None else f"data:{part.media_type};base64,{part.data}"
    return {"type": "input_image", "image_url": url, "detail": part.detail or "auto"}


def _tool(tool: support.DeclaredTool, plain: support.PlainTurn) -> dict[str, Any]:
    """A tool's declaration; ``strict`` is always sent, because its default here is true."""
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {"type": "function", **plain.named(tool), "parameters": parameters, "strict": bool(tool.strict)}


def _settings(parameters: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    settings = {key: parameters[key] for key in _AS_IS if parameters.get(key) is not None}
    budget = support.output_budget(parameters)
    if isinstance(budget, int) and 0 < budget < LEAST_OUTPUT:
        notes.rewrote(f"raised:max_output_tokens={LEAST_OUTPUT}")
        budget = LEAST_OUTPUT
    if budget is not None:
        settings["max_output_tokens"] = budget
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
    kind, schema = as_dict(wanted).get("type"), as_dict(as_dict(wanted).get("json_schema"))
    if wanted is None or kind == "text":
        return None
    if kind == "json_object":
        return {"type": "json_object"}
    if kind == "json_schema" and schema:
        return {"type": "json_schema", **schema}
    notes.cannot("response_format")
    return None


@dataclass(slots=True)
class _Call:
    """A call in progress: its number among the calls, and the pieces of its arguments so far."""

    index: int
    has_name: bool = False
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    is_object: bool = False

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.size += len(piece)

    def missing(self, whole: str) -> str | None:
        """The rest of ``whole`` behind the pieces so far; ``None`` if it contradicts them. "" adds nothing."""
        if not whole or self.is_object:
            return ""
        if len(whole) < self.size:
            return None
        self.pieces = ["".join(self.pieces)]
        return whole[self.size :] if whole.startswith(self.pieces[0]) else None


class _Calls:
    """The calls of one answer, in order; :meth:`item` and :meth:`arguments` pass on only what is new."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self._by_key: dict[tuple[str, object], _Call] = {}

    def item(
        self, item: dict[str, Any], place: object, answer: Answer, *, is_new: bool, fallback: _Call | None = None
    ) -> None:
        """Read a whole ``function_call`` item; ``fallback`` is the call it is if nothing in it says which."""
        call_id, item_id = as_word(item.get("call_id")), as_word(item.get("id"))
        keys = [("call", call_id), ("item", item_id), ("output", as_whole(place))]
        known = self._by_key.get(keys[0])
        if known is None and not (is_new and call_id):
            known = self._by_key.get(keys[1]) or (None if is_new else self._by_key.get(keys[2]))
        known = known or fallback
        call = known or self._begin()
        self._by_key.update({key: call for key in keys if key[1] is not None})
        name = None if call.has_name else as_word(item.get("name"))
        given = item.get("arguments")
        missing: Arguments = call.missing(as_text(given) or "")
        if isinstance(given, dict) and not (call.size or call.is_object):
            missing, call.is_object = given, True
        if missing is None:
            answer.anomaly("retold_differently")
        elif missing or known is None or name:
            answer.call(call.index, call_id or item_id or as_text(item.get("call_id")), name, missing)
            call.add(missing if isinstance(missing, str) else "")
        call.has_name = call.has_name or name is not None

    def arguments(self, name: str, payload: dict[str, Any], answer: Answer) -> None:
        """Read a ``function_call_arguments`` event, a piece or the whole."""
        item_id, place = as_word(payload.get("item_id")), as_whole(payload.get("output_index"))
        call = self._by_key.get(("item", item_id)) or self._by_key.get(("output", place))
        if call is None:
            call = self.calls[-1] if self.calls else self._begin()
            if item_id:
                self._by_key["item", item_id] = call
                answer.anomaly("arguments_without_item")
        if name.endswith(".delta"):
            words = as_text(payload.get("delta"))
        else:
            words = call.missing(as_text(payload.get("arguments")) or "")
            if words is None:
                answer.anomaly("retold_differently")
        if words:
            call.add(words)
            answer.call(call.index, arguments=words)

    def _begin(self) -> _Call:
        self.calls.append(_Call(len(self.calls)))
        return self.calls[-1]


_TEXT_DELTAS = ("output_text.delta", "refusal.delta", "text.delta")
_WHOLES = ("output_text.done", "refusal.done", "content_part.done")
_REASONING_DELTAS = (
    "reasoning_text.delta", "reasoning.delta", "reasoning_summary_text.delta", "reasoning_summary.delta",
)  # fmt: skip
_INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesReader:
    """Reads one answer. State: the calls, and the pieces of text and of reasoning so far."""

    def __init__(self) -> None:
        self._calls = _Calls()
        self._heard: dict[str, list[str]] = {"message": [], "reasoning": []}
        # "part", "item" and "reasoning": the open ones that had a delta.
        self._told: set[str] = set()
        self._is_complete = False

    def read(self, event: SseEvent, answer: Answer) -> None:
        payload = event_object(event, answer)
        if payload is not None:
            self._event(as_text(payload.get("type")) or event.name, payload, answer)

    def read_body(self, body: object, answer: Answer) -> None:
        response = body_object(body, answer, holding="output")
        if response is not None:
            self._final(response, as_text(response.get("status")) or "completed", answer)

    def _event(self, kind: str, payload: dict[str, Any], answer: Answer) -> None:
        name = kind.removeprefix("response.")
        if name in _TEXT_DELTAS:
            self._say("message", as_text(payload.get("delta")) or "", answer)
        elif name in _REASONING_DELTAS:
            self._say("reasoning", as_text(payload.get("delta")) or "", answer)
        elif name.startswith("function_call_arguments."):
            self._calls.arguments(name, payload, answer)
        elif name in ("output_item.added", "output_item.done"):
            self._item(payload, answer, is_new=name == "output_item.added")
        elif name == "content_part.added":
            self._told.discard("part")
        elif name in _WHOLES:
            self._whole("part", [payload.get("part", payload)], answer)
        elif name in ("created", "in_progress", "queued"):
            read_identity(as_dict(payload.get("response")), answer)
        elif name in ("completed", "incomplete", "failed", "cancelled"):
            response = as_dict(payload.get("response"))
            self._final(response, as_text(response.get("status")) or name, answer)
        elif name == "error":
            answer.failed(Fault.of(as_text(payload.get("message")) or "error", code=as_text(payload.get("code"))))

    def _item(self, payload: dict[str, Any], answer: Answer, *, is_new: bool) -> None:
        item = as_dict(payload.get("item"))
        kind = item.get("type")
        if kind == "function_call":
            self._calls.item(item, payload.get("output_index"), answer, is_new=is_new)
        elif kind == "reasoning" and not is_new:
            # Its tokens are billed: at the end of the answer it would count as decoded during the text.
            if "reasoning" not in self._told:
                self._say("reasoning", _all_words(item), answer)
            self._told.discard("reasoning")
        elif not is_new:
            self._whole("item", as_list(item.get("content")) if kind == "message" else [], answer)
        elif kind == "message":
            self._told.clear()
        elif kind != "reasoning":
            answer.anomaly("unknown_output_item")

    def _whole(self, what: str, parts: list[Any], answer: Answer) -> None:
        """Read the text of a part or an item that no delta brought."""
        if what not in self._told:
            said = [_words(part) for part in map(as_dict, parts) if part.get("type") != "reasoning_text"]
            self._say("message", "".join(said), answer)

    def _say(self, kind: str, words: str, answer: Answer) -> None:
        self._heard[kind].append(words)
        if words:
            self._told |= {"part", "item"} if kind == "message" else {"reasoning"}
        say = answer.text if kind == "message" else answer.reasoning
        say(words)

    def _final(self, response: dict[str, Any], status: str, answer: Answer) -> None:
        read_identity(response, answer)
        if not self._is_complete:
            self._not_streamed(response, answer)
        usage = as_dict(response.get("usage"))
        if usage:
            answer.usage(read_usage(usage))
        if status in ("failed", "cancelled"):
            fault = read_fault({"error": response.get("error")})
            answer.failed(fault or Fault.of(f"the response ended as {status}", code=status))
            return
        if status == "incomplete":
            raw = as_text(as_dict(response.get("incomplete_details")).get("reason")) or status
            answer.finish(_INCOMPLETE.get(raw, "unknown"), raw)
        elif status == "completed":
            answer.finish("tool_calls" if self._calls.calls else "stop", status)
        else:
            answer.finish("unknown", status)
        answer.end()

    def _not_streamed(self, response: dict[str, Any], answer: Answer) -> None:
        """Read what of the final response the stream lacked. Where ids of calls changed on the way, order decides."""
        self._is_complete = True
        wholes = {"reasoning": "", "message": ""}
        earlier = iter(tuple(self._calls.calls))
        for position, item in enumerate(map(as_dict, as_list(response.get("output")))):
            kind = item.get("type")
            if kind == "function_call":
                self._calls.item(item, position, answer, is_new=False, fallback=next(earlier, None))
            elif kind in ("reasoning", "message"):
                wholes[kind] += _all_words(item)
        for kind, whole in wholes.items():
            heard = "".join(self._heard[kind])
            # Of reasoning the stream may have shown the summary alone.
            if whole.startswith(heard) and (kind == "message" or not heard):
                self._say(kind, whole[len(heard) :], answer)


def _all_words(item: Mapping[str, Any]) -> str:
    return "".join(map(_words, map(as_dict, [*as_list(item.get("summary")), *as_list(item.get("content"))])))


def _words(part: Mapping[str, Any]) -> str:
    return as_text(part.get("text")) or as_text(part.get("refusal")) or ""
