"""Statuses other than 200: which kind of failure, which words, and how long to wait."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from vendor_verifier.records.failures import kind_of_status
from vendor_verifier.records.record import MAX_MESSAGE
from vendor_verifier.wire.errors import http_failure, read_fault, retry_after_s, status_of

NOW = datetime(2026, 11, 21, 7, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        *((status, "", kind) for status, kind in {
            301: "redirect", 307: "redirect", 400: "bad_request", 401: "auth", 402: "no_credit", 403: "auth",
            404: "not_found", 408: "request_timeout", 409: "conflict", 413: "too_large", 418: "http_4xx",
            422: "unprocessable", 429: "rate_limited", 500: "http_5xx", 502: "http_5xx", 503: "overloaded",
            504: "http_5xx", 529: "overloaded",
        }.items()),
        (403, "Your input was flagged", "moderation"), (401, "Your input was flagged", "auth"),
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", "too_large"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "too_large"),
        (422, "context_length_exceeded", "too_large"), (422, "Input exceeds the model's context window", "too_large"),
        (400, "The input token count exceeds the maximum number of tokens allowed", "too_large"),
        (400, "code The API key you provided is invalid", "auth"), (400, "Invalid API-key", "auth"),
        (400, "invalid x-api-key", "auth"), (400, "None Your API key has expired.", "auth"), (412, "", "http_4xx"),
        (400, "None Invalid token (request id: 7)", "auth"), (400, "Bad JSON: invalid token", "bad_request"),
        (400, "tools.0: get_api_key is not valid", "bad_request"), (403, "NOT_ENOUGH_BALANCE none", "no_credit"),
        (429, "1113 余额不足或无", "no_credit"), (403, "Sorry, your balance is insufficient", "no_credit"),
        (412, "suspended, possibly for the spending limit", "no_credit"), (400, "'the spending limit'", "bad_request"),
        (400, "Invalid schema for function 'f'", "bad_request"), (422, "no context was given", "unprocessable"),
        (400, "max_tokens must be at most 4096", "bad_request"),
        (400, "`max_tokens` must be less than `8192`, the maximum value for `max_tokens`", "bad_request"),
        (400, "400 API key not valid. Please pass a valid API key.", "auth"),
        (400, "Incorrect API key provided: sk***. You can obtain an API key from https://console.x.ai.", "auth"),
        (400, "Your credit balance is too low to access the Anthropic API.", "no_credit"),
        (403, "Insufficient balance", "no_credit"),
        (429, "insufficient_quota You exceeded your current quota", "no_credit"),
        (429, "exceeded_current_quota_error Your account is suspended due to insufficient balance", "no_credit"),
        (429, "You exceeded your current quota, please check your plan and billing details.", "rate_limited"),
        (429, "insufficient_quota You exceeded your current quota. See error-code#token-limit", "rate_limited"),
        (429, "Rate limit reached: insufficient quota of requests", "rate_limited"),
        (500, "Incorrect API key provided", "http_5xx"),
        (400, "no field 'x' in: " + "q" * 500 + "invalid api key", "bad_request"),
    ],
)  # fmt: skip
def test_kind_of_status(status: int, words: str, kind: str) -> None:
    """Every status has its kind; words tell of a prompt, a key or an empty account, and none in a repeated question."""
    assert kind_of_status(status, words) == kind


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "(empty body)"), (b"<html>502</html>", "<html>502</html>"),
        (b'{"detail": "No connected db."}', "No connected db."), (b'{"message": "bad", "code": 20012}', "bad"),
        (b'{"error": "plain"}', "plain"), (b"[1]", "[1]"), (b"\xff\xfe", "\ufffd\ufffd"),
        (b'{"error": {"message": "\\ud800"}}', "\ufffd"), (b"data: bad gateway\n\n", "data: bad gateway"),
    ],
)  # fmt: skip
def test_messages(body: bytes, message: str) -> None:
    """The message is the body's own, whatever its shape, and can be written."""
    assert http_failure(400, {}, body, NOW).message == message


def test_a_code_tells_of_an_empty_account() -> None:
    body = b'{"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}'
    assert http_failure(429, {}, body, NOW).kind == "no_credit"


def test_message_and_code_are_capped() -> None:
    """A megabyte of error becomes two thousand characters, its code a hundred."""
    body = json.dumps({"error": {"message": "m" * 1_000_000, "code": "c" * 1_000_000}}).encode()
    failure = http_failure(400, {}, body, NOW)
    assert len(failure.message) == MAX_MESSAGE
    assert len(failure.code or "") == 100
    assert len(http_failure(400, {}, b"x" * 1_000_000, NOW).message) == MAX_MESSAGE


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None), ({"retry-after": "3"}, 3.0), ({"retry-after": "0"}, 0.0), ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after": "9999"}, 9999.0), ({"retry-after": "-5"}, None), ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None), ({"retry-after": "inf"}, None), ({"retry-after": "1e3"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5), ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": "Sat, 21 Nov 2026 07:00:10 GMT"}, 10.0),
        ({"retry-after": "Sat, 21 Nov 2026 06:59:50 GMT"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 07:00:10 GMT", "date": "Sat, 21 Nov 2026 07:00:08 GMT"}, 2.0),
        ({"retry-after": "Sat, 21 Nov 2026 07:00:10 GMT", "date": "nonsense"}, 10.0),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12), ({"x-ratelimit-reset-tokens": "1h30m"}, 5400.0),
        ({"x-ratelimit-reset-tokens": "later"}, None),
        ({"retry-after": "soon", "x-ratelimit-reset-tokens": "2s"}, 2.0),
        ({"retry-after": "1", "x-ratelimit-reset-tokens": "6m0s"}, 1.0),
        ({"x-ratelimit-reset-a": "1s", "x-ratelimit-remaining-a": "0", "x-ratelimit-reset-b": "6m0s",
          "x-ratelimit-remaining-b": "5000"}, 1.0),
    ],
)  # fmt: skip
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, dates against the server's clock and reset durations; garbage is nothing."""
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (429, 429), ("429", 429), ("rate_limit_error", 429), (" RESOURCE_EXHAUSTED ", 429), ("overloaded_error", 529),
        ("insufficient_quota", 402), (200, None), (True, None), ("banana", None), ("²²²", None), (None, None),
        (1.5, None),
    ],
)  # fmt: skip
def test_status_of(code: object, status: int | None) -> None:
    """Words and numbers of error bodies stand for a status, or for none."""
    assert status_of(code) == status


@pytest.mark.parametrize(
    ("code", "status"), [(1000, 500), (1001, 504), (1002, 429), (1004, 401), (1008, 402), (1033, 500), (424242, 500)]
)
def test_base_resp(code: int, status: int) -> None:
    """MiniMax's codes inside a 200 stand for statuses; an unknown one is a server error."""
    fault = read_fault({"base_resp": {"status_code": code, "status_msg": "m"}})
    assert fault is not None
    assert (fault.status, fault.code) == (status, str(code))
