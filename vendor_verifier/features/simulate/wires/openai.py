"""A simulated vendor's side of OpenAI's chat completions and Responses; it decides nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from vendor_verifier.features.simulate.answer import Answer, Piece, pieces
from vendor_verifier.features.simulate.performance import Performance
from vendor_verifier.features.simulate.question import BadQuestion, question_of
from vendor_verifier.features.simulate.wires import (
    Asked,
    OpenAIChunks,
    OpenAIWire,
    StreamedAnswer,
    answer_id,
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

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# Tools and instructions are not: thrice in every stream they would weigh more than the answer.
_ECHOED = ("temperature", "top_p", "tool_choice", "parallel_tool_calls", "max_output_tokens")


class SimulatedResponses(OpenAIWire):
    """``POST …/v1/responses``."""

    name, path = "openai_responses", "/v1/responses"

    def read(self, body: bytes, target: str = "") -> Asked:  # noqa: ARG002 the body says it all
        request = request_object(body)
        model, stream = model_of(request), is_streamed(request)
        tools = tuple(_tool(tool, number) for number, tool in enumerate(list_at(request, "tools")))
        turn = Turn(tuple(_messages(request)), tools, _parameters(request))
        return Asked(question_of(turn), model, stream, body=request)

    def stream(self, asked: Asked, performance: Performance, created: int) -> StreamedAnswer:
        story = _Story(asked, performance, created)
        answer = performance.answer
        parts = pieces(answer, performance.piece_count, call_ids(performance, "call_"))
        events = [
            story.text(piece.text) if isinstance(piece, TextDelta) else story.call(piece.name, str(piece.arguments))
            for piece in parts
        ]
        return StreamedAnswer(opening=story.opening(), pieces=events, closing=story.closing())

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:
        return encoded(_response(asked, performance, created, output=_output(performance)))


class _Story:
    """The events of one answer in order: every event has a number, every item an opening and a closing."""

    def __init__(self, asked: Asked, performance: Performance, created: int) -> None:
        self._asked = asked
        self._performance = performance
        self._created = created
        self._number = 1  # the opening's two events are 0 and 1
        self._items = _output(performance)
        self._at = -1

    def opening(self) -> bytes:
        response = _response(self._asked, self._performance, self._created, output=None)
        # These two come before everything else, also where the pieces were made first.
        return b"".join(
            event({"type": kind, "sequence_number": number, "response": response}, kind)
            for number, kind in enumerate(("response.created", "response.in_progress"))
        )

    def closing(self) -> bytes:
        response = _response(self._asked, self._performance, self._created, output=self._items)
        kind = f"response.{response['status']}"
        return self._closed() + self._event(kind, {"response": response})

    def text(self, words: str) -> bytes:
        begun = b""
        if self._at < 0:
            begun = self._begin({"content": []})
            empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            begun += self._event("response.content_part.added", {**self._place(), "content_index": 0, "part": empty})
        delta = {**self._place(), "content_index": 0, "delta": words, "logprobs": []}
        return begun + self._event("response.output_text.delta", delta)

    def call(self, name: str | None, arguments: str) -> bytes:
        if name is not None:
            return self._closed() + self._begin({"arguments": ""})
        return self._event("response.function_call_arguments.delta", {**self._place(), "delta": arguments})

    def _begin(self, empty: Mapping[str, Any]) -> bytes:
        self._at += 1
        item = {**self._items[self._at], "status": "in_progress", **empty}
        return self._event("response.output_item.added", {"output_index": self._at, "item": item})

    def _closed(self) -> bytes:
        """The end of the item under way, if there is one."""
        if self._at < 0:
            return b""
        item = self._items[self._at]
        if item["type"] == "function_call":
            ending = {**self._place(), "name": item["name"], "arguments": item["arguments"]}
            events = self._event("response.function_call_arguments.done", ending)
        else:
            place, part = {**self._place(), "content_index": 0}, item["content"][0]
            events = self._event("response.output_text.done", {**place, "text": part["text"], "logprobs": []})
            events += self._event("response.content_part.done", {**place, "part": part})
        return events + self._event("response.output_item.done", {"output_index": self._at, "item": item})

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._items[self._at]["id"], "output_index": self._at}

    def _event(self, kind: str, fields: Mapping[str, Any]) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number, **fields}, kind)


def _output(performance: Performance) -> list[dict[str, Any]]:
    """The finished items; of a cut answer the last one is incomplete."""
    answer = performance.answer
    number = answer_id(performance, "")
    items: list[dict[str, Any]] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [part]})
    for index, (call_id, call) in enumerate(zip(call_ids(performance, "call_"), answer.calls, strict=True)):
        item = {"type": "function_call", "id": f"fc_{number}{index}", "call_id": call_id}
        items.append({**item, "name": call.name, "arguments": call.arguments})
    for item in items:
        item["status"] = "incomplete" if answer.finish == "length" and item is items[-1] else "completed"
    return items


def _response(
    asked: Asked, performance: Performance, created: int, output: list[dict[str, Any]] | None
) -> dict[str, Any]:
    """The response object; without ``output`` as it is before the first token."""
    answer = performance.answer
    is_cut = answer.finish == "length"
    status = "in_progress" if output is None else "incomplete" if is_cut else "completed"
    usage = {
        "input_tokens": answer.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.prompt_tokens + answer.output_tokens,
    }
    defaults = {"tool_choice": "auto", "parallel_tool_calls": True, "tools": [], "instructions": None}
    echoed = {key: asked.body[key] for key in _ECHOED if asked.body.get(key) is not None}
    return {
        "id": answer_id(performance, "resp_"),
        "object": "response",
        "created_at": created,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "model": performance.served_model or asked.model,
        "output": output or [],
        "metadata": {},
        "usage": None if output is None else usage,
        **defaults,
        **echoed,
    }


def _messages(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    instructions = request.get("instructions")
    if isinstance(instructions, str) and instructions:
        yield {"role": "system", "content": instructions}
    given = request.get("input")
    if isinstance(given, str):
        yield {"role": "user", "content": given}
        return
    called: set[object] = set()
    for number, value in enumerate(list_at(request, "input")):
        item = object_in(value, f"input[{number}]")
        kind = item.get("type", "message")
        if kind == "message":
            yield {"role": item.get("role"), "content": item.get("content")}
        elif kind == "function_call":
            called.add(item.get("call_id"))
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "type": "function", "function": function}
            yield {"role": "assistant", "content": None, "tool_calls": [call]}
        elif kind == "function_call_output":
            call_id = item.get("call_id")
            if call_id not in called:
                raise BadQuestion(f"No tool call found for function call output with call_id {call_id}.", "input")
            yield {"role": "tool", "tool_call_id": call_id, "content": item.get("output")}
        elif kind != "reasoning":
            raise BadQuestion(f"Invalid value: '{kind}'.", f"input[{number}].type")


def _tool(value: object, number: int) -> dict[str, Any]:
    tool = object_in(value, f"tools[{number}]")
    name = tool.get("name")
    if tool.get("type") != "function":
        raise BadQuestion(f"Hosted tool '{tool.get('type')}' is not supported.", f"tools[{number}].type")
    if not isinstance(name, str):
        raise BadQuestion(f"Missing required parameter: 'tools[{number}].name'.", f"tools[{number}].name")
    if not _NAME.fullmatch(name):
        raise BadQuestion(f"Invalid 'tools[{number}].name': expected '^[a-zA-Z0-9_-]+$'.", f"tools[{number}].name")
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def _parameters(request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in chat-completions terms."""
    found = {key: request[key] for key in ("temperature", "top_p", "parallel_tool_calls") if key in request}
    if request.get("max_output_tokens") is not None:
        found["max_tokens"] = request["max_output_tokens"]
    choice = request.get("tool_choice")
    if isinstance(choice, dict):
        found["tool_choice"] = _tool_choice(choice)
    elif choice is not None:
        found["tool_choice"] = choice
    form = as_dict(as_dict(request.get("text")).get("format"))
    if form.get("type") == "json_schema":
        found["response_format"] = {"type": "json_schema", "json_schema": form}
    elif form:
        found["response_format"] = form
    return found


def _tool_choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    if choice.get("type") != "allowed_tools":
        return {"type": "function", "function": {"name": choice.get("name")}}
    tools = [{"type": "function", "function": {"name": as_dict(item).get("name")}} for item in as_list(choice["tools"])]
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.get("mode"), "tools": tools}}


_NOT_PARAMETERS = frozenset({"model", "messages", "tools", "stream", "stream_options"})


class SimulatedChat(OpenAIWire):
    """``POST …/v1/chat/completions``."""

    name, path = "openai", "/v1/chat/completions"

    def read(self, body: bytes, target: str = "") -> Asked:  # noqa: ARG002 the body says it all
        request = request_object(body)
        model, stream = model_of(request), is_streamed(request)
        turn = Turn(
            messages=tuple(list_at(request, "messages")),
            tools=tuple(list_at(request, "tools")),
            parameters={key: value for key, value in request.items() if key not in _NOT_PARAMETERS},
        )
        include_usage = as_dict(request.get("stream_options")).get("include_usage") is True
        return Asked(question_of(turn), model, stream, include_usage, request)

    def stream(self, asked: Asked, performance: Performance, created: int) -> StreamedAnswer:
        chunks = OpenAIChunks(asked, performance, created, "chat.completion.chunk", "chatcmpl-")
        answer = performance.answer
        parts = pieces(answer, performance.piece_count, performance.call_ids)
        first = {"role": "assistant", "content": None if answer.calls and not answer.text else ""}
        stated = [_logprobs(asked, answer), *[None] * len(parts)]
        return StreamedAnswer(
            opening=chunks.event(_choice("delta", first)),
            pieces=[
                chunks.event(_choice("delta", _delta(piece), logprobs=each))
                for piece, each in zip(parts, stated, strict=False)
            ],
            closing=chunks.closing(_choice("delta", {}, answer.finish)),
        )

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:
        answer = performance.answer
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.calls:
            message["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for name, call in zip(performance.call_ids, answer.calls, strict=True)
            ]
        chunks = OpenAIChunks(asked, performance, created, "chat.completion", "chatcmpl-")
        return chunks.whole(_choice("message", message, answer.finish, _logprobs(asked, answer)))


def _choice(
    key: str, content: Mapping[str, Any], finish: str | None = None, logprobs: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {"index": 0, key: content, "logprobs": logprobs, "finish_reason": finish}


def _logprobs(asked: Asked, answer: Answer) -> dict[str, Any] | None:
    """Those of the first token, where they are asked for."""
    listed = asked.listed(answer)
    top = [{"token": token, "logprob": number, "bytes": list(token.encode())} for token, number in listed]
    said = {"token": answer.text, "logprob": dict(answer.logprobs).get(answer.text), "bytes": None}
    return {"content": [{**said, "top_logprobs": top}], "refusal": None} if top else None


def _delta(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, TextDelta):
        return {"content": piece.text}
    if piece.name is None:
        return {"tool_calls": [{"index": piece.index, "function": {"arguments": piece.arguments}}]}
    call = {"index": piece.index, "id": piece.id, "type": "function"}
    return {"tool_calls": [{**call, "function": {"name": piece.name, "arguments": piece.arguments}}]}
