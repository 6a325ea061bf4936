"""Errors in vendors' words: the fault an object carries, and the failure that a status other than 200 means; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from vendor_verifier.records.failures import kind_of_status
from vendor_verifier.records.record import MAX_MESSAGE, Failure
from vendor_verifier.wire.payload import PayloadError, as_count, as_dict, as_text, parse_json, well_formed
from vendor_verifier.wire.sse import SseDecoder

# Words in error bodies, by the HTTP status they mean.
_CODES: Mapping[int, str] = {
    400: "invalid_request_error invalid_argument badrequesterror",
    401: "invalid_api_key authentication_error unauthenticated unauthorized",
    402: "insufficient_quota insufficient_balance billing_error",
    403: "permission_error permission_denied",
    404: "not_found_error not_found model_not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded rate_limit_error too_many_requests resource_exhausted",
    500: "server_error internal_server_error api_error internal",
    503: "unavailable",
    504: "timeout_error deadline_exceeded",
    529: "overloaded_error overloaded",
}
_STATUS_OF_CODE = {word: status for status, words in _CODES.items() for word in words.split()}
# MiniMax answers 200 with base_resp.status_code; 0 is success.
_STATUS_OF_BASE_RESP: Mapping[int, int] = {
    1000: 500, 1001: 504, 1002: 429, 1004: 401, 1008: 402, 1013: 500, 1024: 500, 1026: 403, 1027: 403, 1033: 500,
    1039: 429, 2013: 400, 2049: 401,
}  # fmt: skip


# Our own codes for a body that is no answer in the protocol.
NO_ANSWER = ("not_an_object", "no_choices")


class Fault(msgspec.Struct, frozen=True):
    """An error inside a 200 answer. ``code`` is the vendor's, ``status`` the HTTP status it means if known."""

    message: str
    code: str | None = None
    status: int | None = None

    @classmethod
    def of(cls, message: str, code: str | None = None, status: int | None = None) -> Fault:
        """A fault in a vendor's words, which may be of any length and not fit for UTF-8."""
        return cls(well_formed(message[:MAX_MESSAGE]), well_formed(code[:100]) if code else code, status)


def read_fault(body: Mapping[str, Any], *, named_error: bool = False) -> Fault | None:
    """The error an object carries, if it carries one: ``{"error": {…}}`` or ``{"error": "text"}``; ``{"object":
    "error", "message": …}`` (vLLM); ``{"type": "error", …}`` and any payload of an ``event: error`` (``named_error``);
    ``{"base_resp": {…}}`` (MiniMax)."""
    error = body.get("error")
    if isinstance(error, dict) and error:
        return _fault(error)
    if error:
        message = error if isinstance(error, str) else f"error: {str(error)[:500]}"
        return Fault.of(message, status=status_of(error))
    if body.get("object") == "error" or body.get("type") == "error" or named_error:
        return _fault(body)
    base = as_dict(body.get("base_resp"))
    code = as_count(base.get("status_code"))
    if code:
        message = as_text(base.get("status_msg")) or "base_resp error"
        return Fault.of(message, code=str(code), status=_STATUS_OF_BASE_RESP.get(code, 500))
    return None


def _fault(error: Mapping[str, Any]) -> Fault:
    words = [error.get(key) for key in ("code", "type", "status")]
    status = next((found for found in map(status_of, words) if found is not None), None)
    codes = [str(word) for word in words if isinstance(word, (str, int)) and word not in ("", "error")]
    # A word says more than the status again.
    code = min(codes, key=lambda each: each == str(status), default=None)
    told = (as_text(error.get(key)) for key in ("message", "detail", "msg"))
    message = next(filter(None, told), None) or str(dict(error))[:500]
    return Fault.of(message, code=code, status=status)


def status_of(code: object) -> int | None:
    """The HTTP status that a vendor's error code means, or None."""
    if isinstance(code, str):
        word = code.strip().lower()
        if len(word) == 3 and word.isdecimal():
            code = int(word)
        else:
            return _STATUS_OF_CODE.get(word)
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599:
        return code
    return None


# The headers in which vendors, clouds and gateways number a request; the first that is present counts.
_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "x-ms-request-id")
_MAX_REQUEST_ID = 200
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_RESET = "x-ratelimit-reset-"
_REMAINING = "x-ratelimit-remaining-"
_SECONDS_PER = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def http_failure(status: int, headers: Mapping[str, str], body: bytes, received_at: datetime) -> Failure:
    """Classify a non-2xx answer. ``headers`` have lower-case names; ``received_at`` is aware UTC."""
    message, code = _body_message(body)
    if 300 <= status < 400:
        message = f"redirect to {headers.get('location', '(no location)')} not followed"
    kind, wait_s = kind_of_status(status, f"{code} {message}"), retry_after_s(headers, received_at)
    return Failure.of(kind, message, status, phase="headers", code=code, retry_after_s=wait_s)


def _body_message(body: bytes) -> tuple[str, str | None]:
    """The words and the code in a body, which may be a stream: some hosts wrap a refusal like the answer."""
    text, decoder = body.decode(errors="replace").strip(), SseDecoder()
    for candidate in (text, *(event.data for event in (*decoder.feed(body), *decoder.close()))):
        try:
            parsed = parse_json(candidate)
        except PayloadError:
            continue
        fault = read_fault(parsed, named_error=True) if isinstance(parsed, dict) else None
        return (fault.message, fault.code) if fault else (candidate, None)
    return text or "(empty body)", None


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The id by which a vendor's support finds the request, or None."""
    return next((headers[name][:_MAX_REQUEST_ID] for name in _REQUEST_IDS if headers.get(name)), None)


def retry_after_s(headers: Mapping[str, str], received_at: datetime) -> float | None:
    """Seconds the vendor asks to wait, or None when it says nothing usable.

    In this order: ``retry-after-ms``; ``retry-after`` in seconds or as a date (compared with the server's ``date``
    header, because clocks differ); the largest ``x-ratelimit-reset-*`` (``1s``, ``6m0s``) of an exhausted budget.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = headers.get("retry-after", "")
    seconds, until = _number(stated), _date(stated)
    if seconds is None and until is not None:
        now = _date(headers.get("date", "")) or received_at
        seconds = max(0.0, (until - now).total_seconds())
    if seconds is not None:
        return seconds
    resets = [
        _duration_s(value)
        for name, value in headers.items()
        if name.startswith(_RESET) and not _number(headers.get(_REMAINING + name.removeprefix(_RESET)))
    ]
    return max((reset for reset in resets if reset is not None), default=None)


def _number(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip()):
        return None
    return float(text)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _duration_s(text: str) -> float | None:
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _SECONDS_PER[unit] for number, unit in parts)
