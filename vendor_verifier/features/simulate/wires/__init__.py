"""The protocols as the simulated vendors speak them, one file each, and what these share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from vendor_verifier.features.simulate.answer import Answer, Call
from vendor_verifier.features.simulate.performance import Performance, Refusal
from vendor_verifier.features.simulate.question import BadQuestion, Question
from vendor_verifier.wire.payload import PayloadError, as_count, parse_json

_OWN_ID = "chatcmpl-"
_OWN_CALL_ID = "call_"
_KIND_OF_STATUS: Mapping[int, str] = {401: "authentication_error", 429: "rate_limit_error"}


def encoded(value: object) -> bytes:
    """JSON in UTF-8; escaped throughout where a lone surrogate cannot be encoded."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def event(value: object, name: str | None = None) -> bytes:
    """One server-sent event, with a name where the protocol gives them."""
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + encoded(value) + b"\n\n"


def request_object(body: bytes) -> dict[str, Any]:
    """The body of a request.

    Raises:
        BadQuestion: JSON, but not an object.
        PayloadError: not JSON.
    """
    request = parse_json(body)
    if not isinstance(request, dict):
        raise BadQuestion("the body must be a JSON object")
    return request


def model_of(request: Mapping[str, Any]) -> str:
    """The model asked for.

    Raises:
        BadQuestion: there is none.
    """
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise BadQuestion("you must provide a model", "model")
    return model


def is_streamed(request: Mapping[str, Any]) -> bool:
    """Whether the request asks for a stream.

    Raises:
        BadQuestion: neither true nor false.
    """
    stream = request.get("stream")
    if stream not in (None, True, False):
        raise BadQuestion("stream must be true or false", "stream")
    return bool(stream)


def list_at(request: Mapping[str, Any], key: str) -> list[Any]:
    """An array of the request, empty if it is absent.

    Raises:
        BadQuestion: something else stands there.
    """
    value = request.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadQuestion(f"{key} must be an array", key)
    return value


def object_in(value: object, place: str) -> dict[str, Any]:
    """``value``, which must be an object.

    Raises:
        BadQuestion: it is not; ``place`` says where it stood.
    """
    if not isinstance(value, dict):
        raise BadQuestion(f"{place} must be an object", place)
    return value


def answer_id(performance: Performance, prefix: str) -> str:
    """The answer's id with the protocol's own prefix, unless the vendor's ids are of another family."""
    return _with_prefix(performance.answer_id, _OWN_ID, prefix)


def call_ids(performance: Performance, prefix: str) -> tuple[str, ...]:
    """The calls' ids with the protocol's own prefix, unless the vendor's ids are of another family."""
    return tuple(_with_prefix(call_id, _OWN_CALL_ID, prefix) for call_id in performance.call_ids)


def openai_error(refusal: Refusal) -> bytes:
    """The error object of the OpenAI protocols."""
    kind = _KIND_OF_STATUS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "server_error")
    error = {"message": refusal.message, "type": kind, "param": refusal.parameter, "code": refusal.code}
    return encoded({"error": error})


def arguments_object(call: Call) -> dict[str, Any] | None:
    """A call's arguments as an object, None for what is no JSON object."""
    try:
        value = parse_json(call.arguments)
    except PayloadError:
        return None
    return value if isinstance(value, dict) else None


def openai_usage(performance: Performance) -> dict[str, Any]:
    """Tokens in the words of chat and raw completions."""
    prompt, output = performance.answer.prompt_tokens, performance.answer.output_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _with_prefix(name: str, own: str, prefix: str) -> str:
    return prefix + name.removeprefix(own) if name.startswith(own) else name


EVENT_STREAM = "text/event-stream; charset=utf-8"


class Asked(msgspec.Struct, frozen=True):
    """A question with the settings that only concern the form of its answer. ``body`` is the request as it came.

    ``style`` passes from a protocol's ``read`` to its answer which of several forms the answer takes.
    """

    question: Question
    model: str
    stream: bool
    include_usage: bool = True
    body: Mapping[str, Any] = msgspec.field(default_factory=dict)
    style: str = ""

    def listed(self, answer: Answer) -> tuple[tuple[str, float], ...]:
        """As many of the answer's log-probabilities as were asked for."""
        parameters = self.question.turn.parameters
        return answer.logprobs[: as_count(parameters.get("top_logprobs"))] if parameters.get("logprobs") is True else ()


class StreamedAnswer(msgspec.Struct, frozen=True):
    """A streamed answer as bytes: what comes before the first token, the tokens, and what ends it.

    An empty piece is time in which the model generates and the protocol sends nothing.
    """

    opening: bytes
    pieces: list[bytes]
    closing: bytes
    content_type: str = EVENT_STREAM


class SimulatedWire(Protocol):
    """One protocol. Instances hold no state."""

    @property
    def name(self) -> str:
        """The product's name of the protocol, as ``validator:`` says it."""

    def serves(self, path: str) -> bool:
        """Whether it is spoken at ``path``, which begins below the persona and has no query."""

    def read(self, body: bytes, target: str = "") -> Asked:
        """Read a request to ``target``, path and query below the persona.

        Raises:
            BadQuestion: not a request of this protocol.
            PayloadError: not JSON.
        """

    def stream(self, asked: Asked, performance: Performance, created: int) -> StreamedAnswer:
        """The answer in pieces."""

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:
        """The answer as one JSON object."""

    def refusal(self, refusal: Refusal) -> tuple[int, bytes]:
        """Status and error object, in this protocol's own words."""


class OpenAIWire:
    """The base of the OpenAI protocols: one path each, and one shape of errors."""

    name = path = ""

    def serves(self, path: str) -> bool:
        return path == self.path

    def refusal(self, refusal: Refusal) -> tuple[int, bytes]:
        return refusal.status, openai_error(refusal)


class OpenAIChunks:
    """The objects of one answer in chat or raw completions, which share everything but the choice.

    ``kind`` is their ``object``, ``prefix`` that of their id.
    """

    def __init__(self, asked: Asked, performance: Performance, created: int, kind: str, prefix: str) -> None:
        self._head = {
            "id": answer_id(performance, prefix),
            "object": kind,
            "created": created,
            "model": performance.served_model or asked.model,
            "system_fingerprint": performance.fingerprint,
        }
        self._include_usage = asked.include_usage
        self._usage = openai_usage(performance)

    def event(self, choice: Mapping[str, Any]) -> bytes:
        spare = {"usage": None} if self._include_usage else {}
        return event({**self._head, "choices": [choice], **spare})

    def closing(self, choice: Mapping[str, Any]) -> bytes:
        """The last choice, the usage where it was asked for, and the end marker."""
        usage = event({**self._head, "choices": [], "usage": self._usage}) if self._include_usage else b""
        return self.event(choice) + usage + b"data: [DONE]\n\n"

    def whole(self, choice: Mapping[str, Any]) -> bytes:
        return encoded({**self._head, "choices": [choice], "usage": self._usage})
