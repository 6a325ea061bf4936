"""A simulated vendor's side of Anthropic Messages: bodies in, content blocks out; it decides nothing.

It is as strict as the original about what a request must be: a budget, tool names and schemas it can take, results
that answer the calls of the message before and stand first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from vendor_verifier.features.simulate.answer import Answer, pieces
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
    is_streamed,
    list_at,
    model_of,
    object_in,
    request_object,
)
from vendor_verifier.values.event import TextDelta
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import as_dict, as_list

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_OVERLOADED = 529
_ERROR_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    500: "api_error",
    _OVERLOADED: "overloaded_error",
}
_STOP_REASONS = {"tool_calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}
_CHOICES: Mapping[str, Any] = {"auto": "auto", "any": "required", "none": "none"}


class SimulatedAnthropic:
    """``POST …/v1/messages``; any key is good, in ``x-api-key`` or as a bearer token."""

    name = "anthropic"

    def serves(self, path: str) -> bool:
        return path == "/v1/messages"

    def read(self, body: bytes, target: str = "") -> Asked:  # noqa: ARG002 the body says it all
        request = request_object(body)
        model, stream = model_of(request), is_streamed(request)
        if request.get("max_tokens") is None:
            raise BadQuestion("max_tokens: Field required", "max_tokens")
        tools = tuple(_tool(tool, number) for number, tool in enumerate(list_at(request, "tools")))
        turn = Turn(tuple(_messages(request)), tools, _parameters(request))
        return Asked(question_of(turn), model, stream, body=request)

    def stream(self, asked: Asked, performance: Performance, created: int) -> StreamedAnswer:  # noqa: ARG002 it has no date
        answer = performance.answer
        blocks = _Blocks()
        parts = pieces(answer, performance.piece_count, call_ids(performance, "toolu_"))
        events = [
            blocks.text(piece.text)
            if isinstance(piece, TextDelta)
            else blocks.tool(piece.id, piece.name, piece.arguments)
            for piece in parts
        ]
        message = {**_message(asked, performance), "content": [], "usage": _usage(answer, output=1)}
        start = _event("message_start", message=message)
        delta = _event("message_delta", delta=_ending(answer), usage=_usage(answer, output=answer.output_tokens))
        return StreamedAnswer(
            opening=start + _event("ping"),
            pieces=events,
            closing=blocks.stopped() + delta + _event("message_stop"),
        )

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:  # noqa: ARG002 it has no date
        answer = performance.answer
        content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
        for call_id, call in zip(call_ids(performance, "toolu_"), answer.calls, strict=True):
            # What is no JSON has no arguments, which is what gateways put there.
            made = arguments_object(call) or {}
            content.append({"type": "tool_use", "id": call_id, "name": call.name, "input": made})
        usage = _usage(answer, output=answer.output_tokens)
        return encoded({**_message(asked, performance), "content": content, **_ending(answer), "usage": usage})

    def refusal(self, refusal: Refusal) -> tuple[int, bytes]:
        status = _OVERLOADED if refusal.status == 503 else refusal.status
        error = {"type": _ERROR_KINDS.get(status, "api_error"), "message": refusal.message}
        return status, encoded({"type": "error", "error": error, "request_id": None})


class _Blocks:
    """The content blocks of one answer, each opened, filled and stopped in turn."""

    def __init__(self) -> None:
        self._at = -1

    def text(self, words: str) -> bytes:
        begun = b""
        if self._at < 0:
            begun = self._begin({"type": "text", "text": ""})
        return begun + self._delta({"type": "text_delta", "text": words})

    def tool(self, call_id: str | None, name: str | None, arguments: object) -> bytes:
        if name is None:
            return self._delta({"type": "input_json_delta", "partial_json": arguments})
        begun = self.stopped() + self._begin({"type": "tool_use", "id": call_id, "name": name, "input": {}})
        return begun + self._delta({"type": "input_json_delta", "partial_json": ""})

    def stopped(self) -> bytes:
        return b"" if self._at < 0 else _event("content_block_stop", index=self._at)

    def _begin(self, block: Mapping[str, Any]) -> bytes:
        self._at += 1
        return _event("content_block_start", index=self._at, content_block=block)

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._at, delta=delta)


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _message(asked: Asked, performance: Performance) -> dict[str, Any]:
    return {
        "id": answer_id(performance, "msg_"),
        "type": "message",
        "role": "assistant",
        "model": performance.served_model or asked.model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(answer: Answer, *, output: int) -> dict[str, int]:
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": answer.prompt_tokens, **cache, "output_tokens": output}


def _ending(answer: Answer) -> dict[str, Any]:
    reason = _STOP_REASONS[answer.finish] if answer.stopped_by is None else "stop_sequence"
    return {"stop_reason": reason, "stop_sequence": answer.stopped_by}


def _messages(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    system = request.get("system")
    if system:
        yield {"role": "system", "content": system}
    waiting: set[object] = set()
    for number, value in enumerate(list_at(request, "messages")):
        message = object_in(value, f"messages.{number}")
        content = message.get("content")
        role = message.get("role")
        if role not in ("user", "assistant"):
            raise BadQuestion(f"messages.{number}.role: Input should be 'user' or 'assistant'", "messages")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_at(message, "content")
        blocks = [object_in(block, f"messages.{number}.content") for block in blocks]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        _check_results(number, blocks, results, waiting)
        for block in results:
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": block.get("content")}
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        waiting = {block.get("id") for block in calls}
        parts = [part for block in blocks if (part := _part(block, number)) is not None]
        if parts or calls:
            yield {"role": role, "content": parts, "tool_calls": [_past_call(block) for block in calls]}
    if waiting:
        raise BadQuestion("`tool_use` ids were found without `tool_result` blocks after them", "messages")


def _check_results(
    number: int, blocks: list[dict[str, Any]], results: list[dict[str, Any]], waiting: set[object]
) -> None:
    given = {block.get("tool_use_id") for block in results}
    if waiting - given:
        raise BadQuestion(
            f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after", "messages"
        )
    if given - waiting:
        raise BadQuestion(f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks", "messages")
    if results != blocks[: len(results)]:
        raise BadQuestion(f"messages.{number}: `tool_result` blocks must come first", "messages")


def _part(block: Mapping[str, Any], number: int) -> dict[str, Any] | None:
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        if not isinstance(text, str) or not text.strip():
            raise BadQuestion(f"messages.{number}: text content blocks must contain non-whitespace text", "messages")
        return {"type": "text", "text": text}
    if kind == "image":
        source = as_dict(block.get("source"))
        url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    if kind in ("tool_use", "tool_result", "thinking", "redacted_thinking"):
        return None
    raise BadQuestion(f"messages.{number}.content: unknown type {kind}", "messages")


def _past_call(block: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": block.get("name"), "arguments": object_in(block.get("input"), "tool_use.input")}
    return {"id": block.get("id"), "type": "function", "function": function}


def _tool(value: object, number: int) -> dict[str, Any]:
    tool = object_in(value, f"tools.{number}")
    name, schema = tool.get("name"), object_in(tool.get("input_schema"), f"tools.{number}.input_schema")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadQuestion(f"tools.{number}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'", "tools")
    if schema.get("type") != "object":
        raise BadQuestion(f"tools.{number}.input_schema.type: Input should be 'object'", "tools")
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        raise BadQuestion(f"tools.{number}.input_schema: no oneOf, allOf, or anyOf at the top level", "tools")
    function = {"name": name, "description": tool.get("description"), "parameters": schema}
    return {"type": "function", "function": function}


def _parameters(request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in chat-completions terms."""
    found: dict[str, Any] = {"max_tokens": request["max_tokens"]}
    found.update({key: request[key] for key in ("temperature", "top_p") if key in request})
    temperature = request.get("temperature")
    if isinstance(temperature, (int, float)) and temperature > 1:
        raise BadQuestion("temperature: range: 0..1", "temperature")
    if as_list(request.get("stop_sequences")):
        found["stop"] = request["stop_sequences"]
    choice = as_dict(request.get("tool_choice"))
    kind = choice.get("type")
    if kind == "tool":
        found["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}}
    elif isinstance(kind, str) and kind in _CHOICES:
        found["tool_choice"] = _CHOICES[kind]
    elif choice:
        raise BadQuestion(f"tool_choice: unknown type {kind}", "tool_choice")
    if choice.get("disable_parallel_tool_use") is True:
        found["parallel_tool_calls"] = False
    form = as_dict(as_dict(request.get("output_config")).get("format"))
    if form.get("type") == "json_schema":
        found["response_format"] = {"type": "json_schema", "json_schema": {"schema": form.get("schema")}}
    return found
