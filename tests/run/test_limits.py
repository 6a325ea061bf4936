"""Leave to send: places per account, pauses that hold back one account, and ends that wake everyone."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from costs import LONG_S, PATIENCE_S
from hypothesis import given
from hypothesis import strategies as st
from made_values import replace

from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import Attempt, Failure, Response, Usage
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run.budgets import Ask
from vendor_verifier.run.limits import DOWN_AFTER, Backoff, Limiter, Permit

pytestmark = pytest.mark.anyio


def entry(label: str, account: str | None = None, concurrency: int | None = None) -> Entry:
    endpoint = Endpoint("http://127.0.0.1", "m")
    return Entry("model", label, label, endpoint, "openai", account or label, concurrency=concurrency)


async def permit_of(limiter: Limiter, one: Entry) -> Permit | None:
    """What the limiter says at once, in turns of the loop and not by a clock; None when it lets wait."""
    asking = asyncio.create_task(limiter.acquire(one, Ask(0)))
    for _ in range(20):
        await anyio.sleep(0)
    asking.cancel()
    (heard,) = await asyncio.gather(asking, return_exceptions=True)
    return None if isinstance(heard, BaseException) else heard


async def test_a_cancelled_wait_takes_no_place() -> None:
    """Who gives up waiting, for a place or for a pause, leaves the account as it was."""
    a = entry("a")
    limiter = Limiter([a], 1)
    limiter.pause(a, 0.3)
    assert await permit_of(limiter, a) is None
    assert await limiter.acquire(a, Ask(0)) == "granted"
    assert await permit_of(limiter, a) is None
    limiter.release(a)
    assert await permit_of(limiter, a) == "granted"


async def test_stop_and_close_wake_all_who_wait() -> None:
    """Nobody sleeps out a pause or a rest when there is nothing to wait for; the reason is the first one given."""
    a, b = entry("a"), entry("b")
    limiter = Limiter([a, b], 2)
    limiter.pause(a, LONG_S)
    limiter.pause(b, LONG_S)
    waiting = [asyncio.gather(limiter.acquire(one, Ask(0)), limiter.rest(one, LONG_S)) for one in (a, b)]
    await anyio.sleep(0.01)
    limiter.stop(a, "no key")
    limiter.stop(a, "later")
    with anyio.fail_after(PATIENCE_S):
        assert (await waiting[0])[0] == "stopped"
        assert not waiting[1].done()
        limiter.close()
        assert (await waiting[1])[0] == "closed"
    assert limiter.stopped == {"a": "no key"}


async def test_entries_of_one_account_share_its_budget_of_tokens() -> None:
    """What one puts by the other waits for, by the smaller budget; an answer that took less lets it go on."""
    a = replace(entry("a", "same"), tokens_per_minute=1000)
    twin = replace(entry("twin", "same"), tokens_per_minute=9000)
    limiter = Limiter([a, twin], 5)
    first = Ask(0, 900)
    assert await limiter.acquire(a, first) == "granted"
    asking = asyncio.create_task(limiter.acquire(twin, Ask(0, 500)))
    await anyio.sleep(0.03)
    assert not asking.done()
    limiter.attempt_ended(a, Attempt(1, response=Response(usage=Usage(0, 1))), first)
    assert await asking == "granted"


async def test_an_account_is_finished_when_all_its_entries_are() -> None:
    """Each entry hears it for itself, and keeps its own reason."""
    a, twin, other = entry("a", "same"), entry("twin", "same"), entry("other")
    limiter = Limiter([a, twin, other], 2)
    limiter.stop(a, "bad key")
    limiter.stop(twin, "no credit")
    assert [await permit_of(limiter, one) for one in (a, twin, other)] == ["stopped", "stopped", "granted"]
    assert limiter.stopped == {"same": "no credit"}
    assert limiter.refused == {("model", "a"): "bad key", ("model", "twin"): "no credit"}


async def test_only_failures_in_a_row_end_an_account() -> None:
    """One answer, and the count begins again."""
    a = entry("a")
    limiter = Limiter([a], 2)
    lost, answered = Attempt(1, failure=Failure("dns", "connect", "no such host")), Attempt(1, response=Response("hi"))
    for attempt in [lost] * (DOWN_AFTER - 1) + [answered] + [lost] * (DOWN_AFTER - 1):
        limiter.turn_ended(a, attempt)
    assert await permit_of(limiter, a) == "granted"


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 32))
def test_places_stay_between_one_and_what_was_given(answers: list[bool], given_places: int) -> None:
    """Whatever a vendor answers, somebody may ask, and never more than the plan allows."""
    backoff = Backoff(given_places)
    in_use = given_places
    for is_limited in answers:
        backoff.attempt_ended(is_limited=is_limited)
        in_use += backoff.places_back() - 1
        assert 1 <= backoff.lowest <= backoff.now <= given_places
        assert 0 <= in_use <= given_places
