"""Builds answers out of bytes with time stamps, as the transport would have seen them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.features.doctor.values import Answer, Case, Question, Reach, first_questions
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.record import Exchange, Failure
from vendor_verifier.values.request import Endpoint
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.parse_answer import read_answer

SENT_AT = "2026-01-02T03:04:05.500+00:00"
STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
REACH = Reach("https://api.test:443", "api.test", "https", False, None, ("192.0.2.1",), None, "TLSv1.3", 80.0)
MS = 1_000_000
CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
USAGE = {
    "id": "r",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "",
    "choices": [],
    "usage": {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
}


def entry(**fields: Any) -> Entry:
    endpoint = Endpoint("https://api.test/v1", fields.pop("model_id", "maker/model-1"), "canary-key-123456")
    known = {"model": "m", "label": "v", "vendor": "v", "endpoint": endpoint, "wire": "openai", "account": "a"}
    return Entry(**{**known, **fields})


def sse(data: Any) -> bytes:
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def chunk(finish: str | None = None, *, model: str = "model-1", **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({"id": "r", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]})


DONE = sse(b"[DONE]")


def words(
    count: int = 8, every_ms: float = 20, first_ms: float = 100, model: str = "model-1"
) -> list[tuple[int, bytes]]:
    """A text stream: so many pieces of ten characters, at that pace, then finish, usage and the end marker."""
    moments = [first_ms + number * every_ms for number in range(count)]
    pieces = [(int(at * MS), chunk(content=f"piece {number:03} ", model=model)) for number, at in enumerate(moments)]
    last = int(moments[-1] * MS)
    return [*pieces, (last, chunk("stop", model=model)), (last, sse(USAGE)), (last, DONE)]


def calling(call: Mapping[str, Any] = CALL) -> list[tuple[int, bytes]]:
    """A stream that calls the tool at once."""
    return [(100 * MS, chunk(tool_calls=[call])), (110 * MS, chunk("tool_calls") + sse(USAGE) + DONE)]


def text_question() -> Question:
    return first_questions(entry())[1]


def tool_question() -> Question:
    return first_questions(entry())[0]


def answer(
    question: Question,
    chunks: Sequence[tuple[int, bytes]],
    status: int | None = 200,
    headers: Mapping[str, str] = STREAM,
    *,
    failure: Failure | None = None,
    wire: Wire | None = None,
) -> Answer:
    """What the transport and our reader make of these bytes."""
    wire = wire or OpenAIChat()
    request = wire.request(question.turn, entry().endpoint)
    exchange = Exchange(
        SENT_AT, end_ns=chunks[-1][0] if chunks else 90 * MS, status=status, headers=headers, chunks=chunks,
        headers_ns=None if status is None else 80 * MS, connect_ns=None, failure=failure,
    )  # fmt: skip
    return Answer(question, request, exchange, *read_answer(exchange, wire.reader()))


def refused(question: Question, status: int, message: str = "no") -> Answer:
    body = json.dumps({"error": {"message": message}}).encode()
    return answer(question, [(90 * MS, body)], status, JSON)


def broken(question: Question, kind: str, message: str = "broken") -> Answer:
    """An attempt that got no answer at all."""
    return answer(question, [], None, {}, failure=Failure(kind, "connect", message))  # type: ignore[arg-type]


def good() -> list[Answer]:
    return [answer(tool_question(), calling()), answer(text_question(), words())]


def case(answers: Sequence[Answer] | None = None, reach: Reach = REACH, **fields: Any) -> Case:
    return Case(entry(**fields), reach, tuple(good() if answers is None else answers))
