"""A simulated vendor's side of Chat Completions: bodies in, chunks or one object out; it decides nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.simulate.answer import pieces
from vendor_verifier.simulate.performance import Performance, Refusal
from vendor_verifier.simulate.question import BadQuestion, question_of
from vendor_verifier.simulate.wire import Asked, Told
from vendor_verifier.values.event import TextDelta
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import as_dict, parse_json

_NOT_PARAMETERS = frozenset({"model", "messages", "tools", "stream", "stream_options"})
_KIND_OF_STATUS: Mapping[int, str] = {401: "authentication_error", 429: "rate_limit_error"}


class SimulatedChat:
    """``POST …/v1/chat/completions``."""

    path = "/v1/chat/completions"

    def read(self, body: bytes) -> Asked:
        """Read a request body.

        Raises:
            BadQuestion: not a chat-completions request.
            PayloadError: not JSON.
        """
        request = parse_json(body)
        if not isinstance(request, dict):
            raise BadQuestion("the body must be a JSON object")
        model = request.get("model")
        if not isinstance(model, str) or not model:
            raise BadQuestion("you must provide a model", "model")
        stream = request.get("stream")
        if stream not in (None, True, False):
            raise BadQuestion("stream must be true or false", "stream")
        turn = Turn(
            messages=tuple(_list(request, "messages")),
            tools=tuple(_list(request, "tools")),
            parameters={key: value for key, value in request.items() if key not in _NOT_PARAMETERS},
        )
        include_usage = as_dict(request.get("stream_options")).get("include_usage") is True
        return Asked(question_of(turn), model, bool(stream), include_usage, request)

    def stream(self, asked: Asked, performance: Performance, created: int) -> Told:
        """The answer as server-sent events."""
        chunk = _Chunks(asked, performance, created)
        answer = performance.answer
        closing = chunk.event({}, finish=answer.finish)
        if asked.include_usage:
            closing += chunk.usage()
        parts = pieces(answer, performance.piece_count, performance.call_ids)
        return Told(
            opening=chunk.event({"role": "assistant", "content": None if answer.calls and not answer.text else ""}),
            pieces=[chunk.event(_delta(piece)) for piece in parts],
            closing=closing + b"data: [DONE]\n\n",
        )

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:
        """The answer as one JSON object."""
        answer = performance.answer
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.calls:
            message["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for name, call in zip(performance.call_ids, answer.calls, strict=True)
            ]
        head = _head(asked, performance, created, "chat.completion")
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish}
        return encoded({**head, "choices": [choice], "usage": _usage(performance)})

    def refusal(self, refusal: Refusal) -> bytes:
        """The error object."""
        kind = _KIND_OF_STATUS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "server_error")
        return encoded(
            {
                "error": {
                    "message": refusal.message,
                    "type": kind,
                    "param": refusal.parameter,
                    "code": refusal.code,
                }
            }
        )


class _Chunks:
    """Chunks of one answer, which share everything but the delta."""

    def __init__(self, asked: Asked, performance: Performance, created: int) -> None:
        self._head = _head(asked, performance, created, "chat.completion.chunk")
        self._spare = {"usage": None} if asked.include_usage else {}
        self._performance = performance

    def event(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return b"data: " + encoded({**self._head, "choices": [choice], **self._spare}) + b"\n\n"

    def usage(self) -> bytes:
        return b"data: " + encoded({**self._head, "choices": [], "usage": _usage(self._performance)}) + b"\n\n"


def encoded(value: object) -> bytes:
    """JSON in UTF-8; escaped throughout where a lone surrogate cannot be encoded."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _list(request: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = request.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadQuestion(f"{key} must be an array", key)
    return value


def _head(asked: Asked, performance: Performance, created: int, kind: str) -> dict[str, Any]:
    return {
        "id": performance.answer_id,
        "object": kind,
        "created": created,
        "model": performance.served_model or asked.model,
        "system_fingerprint": performance.fingerprint,
    }


def _usage(performance: Performance) -> dict[str, Any]:
    prompt, output = performance.answer.prompt_tokens, performance.answer.output_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _delta(piece: Any) -> dict[str, Any]:
    if isinstance(piece, TextDelta):
        return {"content": piece.text}
    if piece.name is None:
        return {"tool_calls": [{"index": piece.index, "function": {"arguments": piece.arguments}}]}
    call = {"index": piece.index, "id": piece.id, "type": "function"}
    return {"tool_calls": [{**call, "function": {"name": piece.name, "arguments": piece.arguments}}]}
