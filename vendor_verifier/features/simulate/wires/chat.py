"""A simulated vendor's side of Chat Completions: bodies in, chunks or one object out; it decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.features.simulate.answer import Piece, pieces
from vendor_verifier.features.simulate.performance import Performance, Refusal
from vendor_verifier.features.simulate.question import question_of
from vendor_verifier.features.simulate.wires.base import (
    Asked,
    Told,
    encoded,
    event,
    is_streamed,
    list_at,
    model_of,
    openai_error,
    openai_usage,
    request_object,
)
from vendor_verifier.values.event import TextDelta
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import as_dict

_NOT_PARAMETERS = frozenset({"model", "messages", "tools", "stream", "stream_options"})


class SimulatedChat:
    """``POST …/v1/chat/completions``."""

    name = "openai"

    def serves(self, path: str) -> bool:
        return path == "/v1/chat/completions"

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

    def stream(self, asked: Asked, performance: Performance, created: int) -> Told:
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
        answer = performance.answer
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.calls:
            message["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for name, call in zip(performance.call_ids, answer.calls, strict=True)
            ]
        head = _head(asked, performance, created, "chat.completion")
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish}
        return encoded({**head, "choices": [choice], "usage": openai_usage(performance)})

    def refusal(self, refusal: Refusal) -> tuple[int, bytes]:
        return refusal.status, openai_error(refusal)


class _Chunks:
    """Chunks of one answer, which share everything but the delta."""

    def __init__(self, asked: Asked, performance: Performance, created: int) -> None:
        self._head = _head(asked, performance, created, "chat.completion.chunk")
        self._spare = {"usage": None} if asked.include_usage else {}
        self._performance = performance

    def event(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**self._head, "choices": [choice], **self._spare})

    def usage(self) -> bytes:
        return event({**self._head, "choices": [], "usage": openai_usage(self._performance)})


def _head(asked: Asked, performance: Performance, created: int, kind: str) -> dict[str, Any]:
    return {
        "id": performance.answer_id,
        "object": kind,
        "created": created,
        "model": performance.served_model or asked.model,
        "system_fingerprint": performance.fingerprint,
    }


def _delta(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, TextDelta):
        return {"content": piece.text}
    if piece.name is None:
        return {"tool_calls": [{"index": piece.index, "function": {"arguments": piece.arguments}}]}
    call = {"index": piece.index, "id": piece.id, "type": "function"}
    return {"tool_calls": [{**call, "function": {"name": piece.name, "arguments": piece.arguments}}]}
