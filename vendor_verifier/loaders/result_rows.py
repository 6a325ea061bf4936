"""One row of another verifier's results → its question and the vendor's answer.

K2-Vendor-Verifier, MiniMax-Provider-Verifier, their forks and the published ``agent-vendor-verifier`` write the same
row; every field but ``request`` may be missing. What those tools are known to get wrong is not taken over: their
``finish_reason`` and ``tool_calls_valid`` are ignored (the stored response is read again), a TTFT of 0 is "not
measured", and in streamed rows a served model equal to the requested one is only an echo, hence ``None``. What cannot
be mended: durations include the tool's own hidden retries, and streams that died unfinished were filed as ``stop``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.loaders.base import UnusableRequest, kind_of
from vendor_verifier.loaders.building import control_tags, read_question
from vendor_verifier.records.record import MAX_MESSAGE, Attempt, Exchange, Failure, FailureKind, Phase, Timing
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import content_digest
from vendor_verifier.wire.base import json_bytes
from vendor_verifier.wire.errors import kind_of_status, read_fault
from vendor_verifier.wire.openai_chat import OpenAIChatReader
from vendor_verifier.wire.parse_answer import read_answer
from vendor_verifier.wire.payload import as_count, as_dict, as_list, as_text

_STATUS = re.compile(
    r"(?:error code|status(?:[ _]code)?|http(?:/\d(?:\.\d)?)?(?: error)?)['\"]?\s*[:= ]\s*([45]\d\d)\b", re.IGNORECASE
)
_SECRET = re.compile(r"\b(sk|key|pk|rk)-[\w*.-]{6,}|\b(bearer)\s+\S{6,}", re.IGNORECASE)

# Exception classes of the SDK those tools use that stand for a status.
_STATUS_OF_TYPE: Mapping[str, int] = {
    "BadRequestError": 400, "AuthenticationError": 401, "PermissionDeniedError": 403, "NotFoundError": 404,
    "ConflictError": 409, "UnprocessableEntityError": 422, "RateLimitError": 429, "InternalServerError": 500,
}  # fmt: skip


def _rule(words: str, kind: FailureKind, phase: Phase) -> tuple[re.Pattern[str], FailureKind, Phase]:
    return re.compile(words, re.IGNORECASE), kind, phase


# First match wins, over "type message"; the more specific words stand first.
_WORDS = (
    _rule(r"name resolution|name or service not known|getaddrinfo|nodename", "dns", "dns"),
    _rule(r"connection refused|actively refused", "connect_refused", "connect"),
    _rule(r"\bssl\b|certificate|\btls\b", "tls", "tls"),
    _rule(r"connect ?timeout|connection timed out", "timeout_connect", "connect"),
    _rule(r"time(d)?[ -]?out", "timeout_total", "stream"),
    _rule(r"incomplete chunked|peer closed|incompleteread", "truncated", "stream"),
    _rule(r"connection reset|readerror|broken pipe", "connection_reset", "stream"),
    _rule(r"protocolerror", "protocol", "stream"),
    _rule(r"rate.?limit|too many requests|quota exceeded", "rate_limited", "headers"),
    _rule(r"overloaded|service unavailable", "overloaded", "headers"),
    _rule(r"insufficient.?(quota|balance|credit)", "no_credit", "headers"),
    _rule(r"(invalid|incorrect).{0,20}api.?key|unauthorized", "auth", "headers"),
    _rule(r"connection ?error|connecterror|all connection attempts failed", "connect", "connect"),
    _rule(r"jsondecodeerror|expecting value|<html|<!doctype", "not_an_api_response", "parse"),
)


def _failure(response: object) -> Failure:
    """The failure of a row whose status is not a success.

    In this order: a stated status (``Error code: 429 - …``, ``status_code``), the SDK's exception class, telling words,
    an error object's code. What none of them knows is ``bad_payload``: those tools also file under "failed" whatever
    their own code could not digest in an answer.
    """
    body = as_dict(response)
    fault = read_fault(body) if body else None
    error_type = as_text(body.get("error_type")) or ""
    texts = [as_text(response), *(as_text(body.get(key)) for key in ("error_message", "error"))]
    texts += [fault.message if fault else as_text(body.get("message")), error_type]
    message = next(filter(None, texts), None) or "the row says no more than that it failed"
    text = _scrubbed(message if error_type in message else f"{error_type}: {message}")
    status = _status(error_type, message, body) or (fault.status if fault else None)
    if status is not None:
        return Failure.of(kind_of_status(status, message), text, status, phase="headers")
    for pattern, kind, phase in _WORDS:
        if pattern.search(f"{error_type} {message}"):
            return Failure.of(kind, text, phase=phase)
    return Failure.of("bad_payload", text)


def _status(error_type: str, message: str, body: Mapping[str, Any]) -> int | None:
    for key in ("status_code", "status", "code"):
        stated = as_count(body.get(key))
        if stated is not None and 400 <= stated <= 599:
            return stated
    found = _STATUS.search(message)
    return int(found[1]) if found else _STATUS_OF_TYPE.get(error_type)


def _scrubbed(text: str) -> str:
    """``text`` without what looks like a key, capped."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]} …", text)[:MAX_MESSAGE]


# Row keys that hold bookkeeping of the tool, not words about the sample.
_BOOKKEEPING = frozenset({"data_index", "hash", "id", "source"})


class ResultRow(msgspec.Struct, frozen=True):
    """One row. ``index`` is its ``data_index`` (the sample's line in the tool's input), ``None`` when not stated."""

    line: int
    index: int | None
    digest: str
    turn: Turn
    attempt: Attempt
    model_id: str | None = None
    provider: str | None = None
    tags: Mapping[str, Any] = msgspec.field(default_factory=dict)


def read_result(row: Mapping[str, Any], line: int) -> ResultRow:
    """Read one row.

    Raises:
        UnusableRequest: no usable ``request``, neither status nor response, or a raw completion.
    """
    request = row.get("request")
    if not isinstance(request, dict):
        hint = "; this is a file of samples, pass it as the test file" if "messages" in row else ""
        raise UnusableRequest(f"expected the request body as an object, read {kind_of(request)}{hint}", "request")
    try:
        question = read_question(request)
    except UnusableRequest as reason:
        raise UnusableRequest(str(reason), f"request.{reason.key}" if reason.key else "request") from None
    stated = {key: value for key, value in control_tags(row).items() if key not in _BOOKKEEPING}
    asked_model = as_text(request.get("model")) or None
    return ResultRow(
        line=line,
        index=as_count(row.get("data_index")),
        digest=content_digest(question.turn),
        turn=question.turn,
        attempt=_attempt(row, streamed=request.get("stream") is True, asked_model=asked_model),
        model_id=asked_model,
        provider=_pinned_provider(request) or _pinned_provider(as_dict(row.get("extra_body"))),
        tags={**question.tags, **stated},
    )


def _attempt(row: Mapping[str, Any], *, streamed: bool, asked_model: str | None) -> Attempt:
    """The stored answer, read and judged by the code that reads live answers."""
    status, body = row.get("status"), row.get("response")
    if status is None and not isinstance(body, dict):
        raise UnusableRequest("the row has neither a status nor a response; was the file cut?", "response")
    timing, choices = _timing(row), as_dict(body).get("choices")
    if status not in (None, "success") or (status is None and not isinstance(choices, list)):
        return Attempt(1, timing, failure=_failure(body))
    first = as_dict(next(iter(as_list(choices)), None))
    if "text" in first and "message" not in first:
        raise UnusableRequest("a raw completion; whether it calls a tool cannot be told", "response")
    content = json_bytes(body) if isinstance(body, dict) else b"null"
    exchange = Exchange(sent_at="", end_ns=0, status=200, chunks=[(0, content)])
    _, response, failure = read_answer(exchange, OpenAIChatReader())
    if failure is not None:
        failure = structs.replace(failure, message=_scrubbed(failure.message))
    if response is not None:
        served = None if streamed and response.served_model == asked_model else response.served_model
        # The tool stored whole bodies whatever the vendor sent, so this says nothing about the vendor.
        anomalies = tuple(name for name in response.anomalies if name != "not_streamed")
        response = structs.replace(response, streamed=streamed, served_model=served, anomalies=anomalies)
    return Attempt(1, timing, response, failure)


def _timing(row: Mapping[str, Any]) -> Timing | None:
    duration_ms = _positive(row.get("duration_ms"))
    if duration_ms is None:
        return None
    ttft_ms = _positive(row.get("ttft_ms"))
    ttft_ns = round(ttft_ms * 1e6) if ttft_ms is not None and ttft_ms <= duration_ms else None
    return Timing(
        sent_at=as_text(row.get("last_run_at")) or "",
        end_ns=round(duration_ms * 1e6),
        first_event_ns=ttft_ns,
        first_token_ns=ttft_ns,
    )


def _positive(value: object) -> float | None:
    """A number of ms above zero, the tools' zero being "not measured"; beyond ten years it is not a measurement."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 3.2e11 or math.isnan(value):
        return None
    return float(value)


def _pinned_provider(body: Mapping[str, Any]) -> str | None:
    """The upstream that the request pins a router to: first of ``provider.only`` or ``provider.order``."""
    provider = as_dict(body.get("provider"))
    names = as_list(provider.get("only")) or as_list(provider.get("order"))
    return as_text(names[0]) if names else None
