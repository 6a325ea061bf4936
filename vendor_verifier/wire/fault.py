"""Errors that arrive inside a 200 answer, in the four shapes seen in the wild; it does not decide about retries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.values.event import Fault
from vendor_verifier.wire.payload import as_count, as_dict, as_text, well_formed

MAX_MESSAGE = 2_000

# Words and numbers in error bodies → the HTTP status they stand for.
_STATUS_OF_CODE: Mapping[str, int] = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "insufficient_quota": 402,
    "insufficient_balance": 402,
    "billing_error": 402,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "unauthenticated": 401,
    "permission_error": 403,
    "permission_denied": 403,
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "badrequesterror": 400,
    "not_found_error": 404,
    "not_found": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "overloaded_error": 529,
    "overloaded": 529,
    "unavailable": 503,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "server_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    "internal": 500,
}
# MiniMax answers 200 with base_resp.status_code; 0 is success.
_STATUS_OF_BASE_RESP: Mapping[int, int] = {
    1000: 500, 1001: 504, 1002: 429, 1004: 401, 1008: 402, 1013: 500, 1024: 500, 1026: 403, 1027: 403, 1033: 500,
    1039: 429, 2013: 400, 2049: 401,
}  # fmt: skip


def read_fault(body: Mapping[str, Any], *, named_error: bool = False) -> Fault | None:
    """The error an object carries, if it carries one.

    Shapes: ``{"error": {…}}`` or ``{"error": "text"}``; ``{"object": "error", "message": …}`` (vLLM);
    ``{"type": "error", …}`` and any payload of an ``event: error`` (``named_error``); ``{"base_resp": {…}}`` (MiniMax).
    """
    error = body.get("error")
    if isinstance(error, dict) and error:
        return _fault(error)
    if isinstance(error, str) and error:
        return _named(error, status=status_of(error))
    if error:
        return _named(f"error: {str(error)[:500]}", status=status_of(error))
    if body.get("object") == "error" or body.get("type") == "error" or named_error:
        return _fault(body)
    base = as_dict(body.get("base_resp"))
    code = as_count(base.get("status_code"))
    if code:
        message = as_text(base.get("status_msg")) or "base_resp error"
        return _named(message, code=str(code), status=_STATUS_OF_BASE_RESP.get(code, 500))
    return None


def _named(message: str, code: str | None = None, status: int | None = None) -> Fault:
    return Fault(well_formed(message[:MAX_MESSAGE]), code=well_formed(code[:100]) if code else code, status=status)


def _fault(error: Mapping[str, Any]) -> Fault:
    words = [error.get(key) for key in ("code", "type", "status")]
    status = next((found for found in map(status_of, words) if found is not None), None)
    code = next((str(word) for word in words if isinstance(word, (str, int)) and word not in ("", "error")), None)
    message = as_text(error.get("message")) or as_text(error.get("detail")) or str(dict(error))[:500]
    return _named(message, code=code, status=status)


def status_of(code: object) -> int | None:
    """The HTTP status a vendor's error code stands for, or None."""
    if isinstance(code, str):
        word = code.strip().lower()
        if word.isdigit() and len(word) == 3:
            code = int(word)
        else:
            return _STATUS_OF_CODE.get(word)
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599:
        return code
    return None
