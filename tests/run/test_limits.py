"""Leave to send: budgets of an account, failures in a row, and places that come and go."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from costs import PATIENCE_S
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import Attempt, Failure, Response, Usage
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run import limits
from vendor_verifier.run.budgets import Ask
from vendor_verifier.run.limits import DOWN_AFTER, Backoff, Limiter


def entry(label: str, tokens_per_minute: float | None = None) -> Entry:
    endpoint = Endpoint("http://127.0.0.1", "m")
    return Entry("model", label, label, endpoint, "openai", "one account", tokens_per_minute=tokens_per_minute)


@pytest.mark.anyio
async def test_entries_of_one_account_share_its_budget_of_tokens() -> None:
    """What one puts by the other waits for, by the smaller budget; an answer that took less lets it go on."""
    a, twin = entry("a", 1000), entry("twin", 9000)
    limiter = Limiter([a, twin], 5)
    first = Ask(0, 900)
    assert await limiter.acquire(a, first) == "granted"
    asking = asyncio.create_task(limiter.acquire(twin, Ask(0, 500)))
    await anyio.sleep(0.03)
    assert not asking.done()
    limiter.attempt_ended(a, Attempt(1, response=Response(usage=Usage(0, 1))), first)
    assert await asking == "granted"


@pytest.mark.anyio
async def test_only_failures_in_a_row_end_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer, and the count begins again. Many that fail at once are an outage that may be over soon."""
    a = entry("a")
    limiter = Limiter([a], 2)
    lost, answered = Attempt(1, failure=Failure("dns", "connect", "no such host")), Attempt(1, response=Response("hi"))
    for attempt in [lost] * (2 * DOWN_AFTER) + [answered]:
        limiter.turn_ended(a, attempt)
    monkeypatch.setattr(limits, "DOWN_AFTER_S", 0)
    for attempt in [lost] * (DOWN_AFTER - 1) + [answered] + [lost] * (DOWN_AFTER - 1):
        limiter.turn_ended(a, attempt)
    with anyio.fail_after(PATIENCE_S):
        assert await limiter.acquire(a, Ask(0)) == "granted"
    limiter.turn_ended(a, lost)
    assert await limiter.acquire(a, Ask(0)) == "stopped"


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 32))
def test_places_stay_between_one_and_what_was_given(answers: list[bool], given_places: int) -> None:
    """Whatever a vendor answers, somebody may ask, and never more than the plan allows."""
    backoff = Backoff(given_places)
    for is_limited in answers:
        backoff.attempt_ended(is_limited=is_limited)
        assert 1 <= backoff.lowest <= backoff.now <= given_places
