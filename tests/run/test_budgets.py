"""Budgets a minute on a clock of the test's own: never more than allowed and one, however requests come."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.record import Attempt, Failure, Response, Usage
from vendor_verifier.run.budgets import MINUTE_S, WAY_S, Ask, Bucket, most_tokens_of

# Seconds: until the next request wants to be sent, how late it wakes after a wait, and its way to the vendor.
GAPS = st.lists(
    st.tuples(st.floats(0, 5), st.sampled_from([0.0, 0.0, 0.001, 0.03, 2.0]), st.floats(0, WAY_S)),
    min_size=1,
    max_size=80,
)


def begun(bucket: Bucket, now: float, late: float = 0.0) -> float:
    """The moment at which a request that wants to be sent now may begin, where it wakes so late after a wait."""
    while (wait := bucket.wait_s(now)) > 0:
        # A clock never stops, however few seconds a wait takes.
        now = max(now + wait + late, math.nextafter(now, math.inf))
    return now


@pytest.mark.parametrize("tokens", [False, True], ids=["requests", "tokens"])
@given(st.floats(1000, 1e6), GAPS, st.lists(st.tuples(st.integers(0, 4000), st.floats(0, 1)), min_size=80))
def test_no_minute_holds_more_than_the_budget_and_one(
    tokens: bool, per_minute: float, gaps: list[tuple[float, float, float]], sizes: list[tuple[int, float]]
) -> None:
    """Whenever requests want to be sent, however late each wakes, however long each is on its way. Every answer keeps
    the limit that its request states, and comes when the next request has begun."""
    # A budget of requests is a thousandth of one of tokens.
    per_minute = per_minute if tokens else per_minute / 1000
    bucket, now, limit = Bucket(per_minute, tokens=tokens), 0.0, 4000
    arrived: list[tuple[float, float]] = []
    for (gap, late, way), (size, share) in zip(gaps, sizes, strict=False):
        now = begun(bucket, now + gap, late)
        ask, output = Ask(size, limit), int(limit * share)
        bucket.begin(now, ask)
        arrived.append((now + way, size // 4 + output if tokens else 1))
        bucket.settle(ask, answered(size // 4, output))
    for first, _ in arrived:
        minute = [weight for at, weight in arrived if first <= at < first + MINUTE_S]
        assert sum(minute) <= per_minute + max(minute)


def answered(sent: int, output: int) -> Attempt:
    return Attempt(1, response=Response("x", usage=Usage(sent, output)))


@pytest.mark.parametrize(
    ("attempt", "charged"),
    [
        (answered(50, 30), 80),
        (answered(900, 9000), 9900),
        (answered(50, 2**53), 60_000),  # nobody's claim holds back more than a minute
        (Attempt(1, response=Response("x")), 100 + 500),
        (Attempt(1, failure=Failure("rate_limited", "headers", "no", 429)), 100),
    ],
)
def test_a_request_is_charged_what_the_vendor_says(attempt: Attempt, charged: float) -> None:
    """Its count, or the estimate where it gives none; a refusal is charged as a prompt."""
    bucket, ask = Bucket(60_000, tokens=True), Ask(400, 500)
    bucket.begin(0, ask)
    assert bucket.wait_s(0) == pytest.approx(600 / 1000, abs=0.02)
    bucket.settle(ask, attempt)
    assert bucket.wait_s(0) == pytest.approx(charged / 1000, abs=0.02, rel=0.01)


def test_an_answer_is_estimated_by_the_longest_so_far() -> None:
    """Limits are often far above what answers need: held to them, one request would wait for the other's answer."""
    bucket = Bucket(60_000, tokens=True)
    bucket.begin(0, first := Ask(0))
    assert first.charged == 1024
    bucket.settle(first, answered(0, 300))
    charged = []
    for limit in (None, 64_000, 100):
        bucket.begin(0, ask := Ask(0, limit))
        charged.append(ask.charged)
    assert charged == [300, 300, 100]


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (b'{"messages":[{"content":"hi"}],"max_tokens":7}', 7),
        (b'{"max_completion_tokens":8}', 8),
        (b'{"input":[],"max_output_tokens":9}', 9),
        (b'{"generationConfig":{"maxOutputTokens":10,"temperature":0}}', 10),
        (b'{"max_tokens":"many"}', None),
        (b'{"messages":[]}', None),
    ],
)
def test_a_request_s_own_limit_is_read_on_every_protocol(body: bytes, limit: int | None) -> None:
    """From the body as it is sent, so defaults of a protocol and extra_body count as well."""
    assert most_tokens_of(body) == limit
