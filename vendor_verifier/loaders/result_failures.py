"""A failed result row's words → the failure they most likely stand for; a guess, since those tools keep only a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vendor_verifier.values.record import Failure, FailureKind, Phase
from vendor_verifier.wire.fault import read_fault
from vendor_verifier.wire.http_failure import MAX_MESSAGE, kind_of_status
from vendor_verifier.wire.payload import as_count, as_text

_STATUS = re.compile(
    r"(?:error code|status(?:[ _]code)?|http(?:/\d(?:\.\d)?)?(?: error)?)['\"]?\s*[:= ]\s*([45]\d\d)\b", re.IGNORECASE
)
_SECRET = re.compile(r"\b(sk|key|pk|rk)-[\w*.-]{6,}|\b(bearer)\s+\S{6,}", re.IGNORECASE)

# Exception classes of the SDK those tools use that stand for a status.
_STATUS_OF_TYPE: Mapping[str, int] = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "ConflictError": 409,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
}


def _rule(words: str, kind: FailureKind, phase: Phase) -> tuple[re.Pattern[str], FailureKind, Phase]:
    return re.compile(words, re.IGNORECASE), kind, phase


# First match wins, over "type message"; the more telling words stand first.
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


def guess_failure(response: object) -> Failure:
    """The failure of a row whose status is not a success.

    In this order: a stated status (``Error code: 429 - …``, ``status_code``), the SDK's exception class, telling words,
    an error object's code. What none of them knows is ``bad_payload``: those tools also file under "failed" whatever
    their own code could not digest in an answer.
    """
    error_type, message, body = _words(response)
    said = scrubbed(f"{error_type}: {message}" if error_type and error_type not in message else message or error_type)
    status = _status(error_type, message, body)
    if status is not None:
        return Failure(kind_of_status(status, message), "headers", said, status)
    for pattern, kind, phase in _WORDS:
        if pattern.search(f"{error_type} {message}"):
            return Failure(kind, phase, said)
    return Failure("bad_payload", "parse", said)


def scrubbed(text: str) -> str:
    """``text`` without what looks like a key, capped."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]} …", text)[:MAX_MESSAGE]


def _words(response: object) -> tuple[str, str, Mapping[str, Any]]:
    if not isinstance(response, dict):
        return "", as_text(response) or "the row says no more than that it failed", {}
    error_type = as_text(response.get("error_type")) or ""
    message = as_text(response.get("error_message")) or as_text(response.get("error")) or ""
    if not message:
        fault = read_fault(response)
        message = fault.message if fault is not None else as_text(response.get("message")) or ""
    return error_type, message or error_type or "the row says no more than that it failed", response


def _status(error_type: str, message: str, body: Mapping[str, Any]) -> int | None:
    for key in ("status_code", "status", "code"):
        stated = as_count(body.get(key))
        if stated is not None and 400 <= stated <= 599:
            return stated
    found = _STATUS.search(message)
    if found is not None:
        return int(found[1])
    if error_type in _STATUS_OF_TYPE:
        return _STATUS_OF_TYPE[error_type]
    fault = read_fault(body)
    return fault.status if fault is not None else None
