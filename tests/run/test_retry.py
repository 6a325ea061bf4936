"""Retries follow the published table, wait as long as they were asked to, and never repeat what began to answer."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.failures import KINDS, kind_of_status
from vendor_verifier.records.plan import RetryRules
from vendor_verifier.records.record import Attempt, Failure, FailureKind, Timing
from vendor_verifier.run.conversation import should_retry, stops_vendor, wait_after

RETRIED_STATUS = (408, 409, 429, 500, 502, 503, 504, 520, 529)
FINAL_STATUS = (301, 307, 400, 401, 402, 403, 404, 405, 413, 418, 422)
RETRIED_KINDS = {
    "dns", "connect", "connect_refused", "connection_reset", "protocol", "timeout_connect", "timeout_first_token",
    "timeout_idle", "truncated", "empty_response", "bad_payload",
    "request_timeout", "conflict", "rate_limited", "overloaded", "http_5xx", "proxy_failed",
}  # fmt: skip


def failed(kind: FailureKind, status: int | None = None, *, number: int = 1, token_ns: int | None = None) -> Attempt:
    timing = Timing("2026-01-01T00:00:00+00:00", 10, first_token_ns=token_ns)
    return Attempt(number, timing, failure=Failure(kind, "stream", "words", status))


def test_what_may_pass_is_tried_again() -> None:
    """What would be refused again is not: by its status, also where an envelope says 200, or by its kind."""
    for status in (*RETRIED_STATUS, *FINAL_STATUS):
        for kind in (kind_of_status(status), "api_error_in_200"):
            assert should_retry(failed(kind, status)) == (status in RETRIED_STATUS), (kind, status)
    retried = {kind for kind in KINDS if kind != "api_error_in_200" and should_retry(failed(kind))}
    assert retried == RETRIED_KINDS


@given(
    kind=st.sampled_from(sorted(KINDS)), status=st.sampled_from([None, 200, 401, 429, 500, 529]), token=st.integers(0)
)
def test_never_after_a_token(kind: FailureKind, status: int | None, token: int) -> None:
    """An answer that began is the finding, however it ended."""
    assert not should_retry(failed(kind, status, token_ns=token))


@pytest.mark.parametrize(
    ("kind", "status", "stops"),
    [
        ("auth", 401, True), ("no_credit", 402, True), ("auth", 400, True), ("auth", 403, False),
        ("no_credit", 403, True), ("no_credit", 429, True),
        ("moderation", 403, False), ("api_error_in_200", 401, True), ("api_error_in_200", 402, True),
        ("api_error_in_200", 403, False), ("rate_limited", 429, False), ("http_5xx", 500, False),
    ],
)  # fmt: skip
def test_what_stops_a_vendor(kind: FailureKind, status: int, stops: bool) -> None:
    """A bad key or an empty purse ends it, also when said inside a 200 or under another status; a 403 does not. A quota
    of a day that is used up does."""
    assert stops_vendor(Failure(kind, "headers", "words", status, retry_after_s=60)) == stops
    is_limited = kind == "rate_limited"
    assert stops_vendor(Failure(kind, "headers", "words", status, retry_after_s=86_400)) == (stops or is_limited)


def wait_s(*failures: Failure, cap: float = 60.0, seed: int = 0) -> float:
    attempts = [Attempt(number, failure=failure) for number, failure in enumerate(failures, 1)]
    return wait_after(attempts, RetryRules(9, cap), random.Random(seed))


def http(status: int, retry_after_s: float | None = None) -> Failure:
    return Failure(kind_of_status(status), "headers", "words", status, retry_after_s=retry_after_s)


@pytest.mark.parametrize(("asked_s", "expected_s"), [(0.0, 1.0), (7.0, 7.0), (60.0, 60.0), (9999.0, 60.0)])
def test_waits_as_asked_up_to_the_cap(asked_s: float, expected_s: float) -> None:
    """The vendor's own wish is kept, but not for ever, and no shorter than our own waits, which use up all tries."""
    assert 0.75 * expected_s <= wait_s(http(500), http(429, asked_s)) <= expected_s


@given(tries=st.integers(1, 30), seed=st.integers(), cap=st.floats(0, 100))
def test_own_waits_double_and_stay_bounded(tries: int, seed: int, cap: float) -> None:
    """0.5, 1, 2, 4, 8, 8 … seconds, at most a quarter less, and never above the rule's cap."""
    whole = min(0.5 * 2 ** min(tries - 1, 4), 8.0, cap)
    assert 0.75 * whole <= wait_s(*[http(500)] * tries, cap=cap, seed=seed) <= whole
