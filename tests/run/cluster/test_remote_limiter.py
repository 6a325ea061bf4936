"""Limiters of several sessions over one lease server, without a network between: limits and budgets are its alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from changing import replace
from costs import PATIENCE_S

from vendor_verifier.records.event import Usage
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import Attempt, Failure, Response
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run.budgets import Ask
from vendor_verifier.run.cluster.job import PERMIT_LIFE_S
from vendor_verifier.run.cluster.lease_server import LeaseServer
from vendor_verifier.run.cluster.worker_session import RemoteLimiter

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def plan(**fields: Any) -> Plan:
    one = Entry("model", "a", "a", Endpoint("http://127.0.0.1", "m"), "openai", "a", concurrency=4, **fields)
    return Plan((one,), ())


class Wire:
    """A session's side, joined to ``lease_server``: what it says arrives at once, and what it is told very soon."""

    def __init__(self, lease_server: LeaseServer, whole: Plan, name: str) -> None:
        self.said: list[str] = []
        self._lease_server, self._name = lease_server, name
        self.limiter = RemoteLimiter(whole, self)  # type: ignore[arg-type]
        assert lease_server.join(name, name, self.told)

    def send(self, kind: str, *items: Any) -> None:
        self.said.append(kind)
        self._lease_server.receive(self._name, {kind: list(items)})

    def then(self, act: Callable[[], None]) -> None:
        act()

    def told(self, kind: str, *items: Any) -> None:
        if kind == "beat":
            self.limiter.heard(items[-1])
        elif kind == "permit":
            # As over a network: never before whoever asked has gone on.
            asyncio.get_running_loop().call_soon(self.limiter.answer, list(items))
        elif kind == "closed":
            self.limiter.close()


def used(tokens: int) -> Attempt:
    return Attempt(1, response=Response(usage=Usage(0, tokens)))


async def test_a_success_costs_one_small_word_and_a_failure_is_told_whole() -> None:
    """It hears how every attempt ended: a row of lost samples is broken by a success on another worker."""
    whole = plan()
    lease_server = LeaseServer(whole)
    one, two = Wire(lease_server, whole, "one"), Wire(lease_server, whole, "two")
    entry, ask = whole.entries[0], Ask(10)
    assert await one.limiter.acquire(entry, ask) == "granted"
    one.limiter.release(entry)
    one.limiter.attempt_ended(entry, used(5), ask)
    one.limiter.turn_ended(entry, used(5))
    assert one.said == ["acquire", "took", "release", "fine"]
    lost = Attempt(1, failure=Failure("dns", "connect", "no such host"))
    for number in range(18):
        wire = (one, two)[number % 2]
        wire.limiter.attempt_ended(entry, lost, ask)
        wire.limiter.turn_ended(entry, lost)
        if number == 8:
            two.limiter.attempt_ended(entry, used(5), ask)
    assert lease_server.facts()["stopped"] == {}
    one.limiter.turn_ended(entry, lost)
    assert "no such host" in lease_server.facts()["stopped"]["a"]


async def test_tokens_are_counted_over_all_sessions_and_corrected_by_the_right_answer() -> None:
    """Two sessions share 1,000 tokens: the second waits for what the first put by, and gets what it did not use."""
    whole = plan(tokens_per_minute=1000)
    lease_server = LeaseServer(whole)
    one, two = Wire(lease_server, whole, "one"), Wire(lease_server, whole, "two")
    entry, first, second = whole.entries[0], Ask(0, 900), Ask(0, 800)
    assert await one.limiter.acquire(entry, first) == "granted"
    waiting = asyncio.ensure_future(two.limiter.acquire(entry, second))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    one.limiter.release(entry)
    one.limiter.attempt_ended(entry, used(1), first)
    assert await asyncio.wait_for(waiting, PATIENCE_S) == "granted"
    third = asyncio.ensure_future(one.limiter.acquire(entry, Ask(0, 800)))
    await asyncio.sleep(0.02)
    assert not third.done()
    lease_server.order({"close": [True]})
    assert await asyncio.wait_for(third, PATIENCE_S) == "closed"


async def test_a_lease_that_nobody_waits_for_goes_back() -> None:
    """Who was cancelled while waiting leaves no place taken, with tokens counted or without."""
    for fields in ({}, {"tokens_per_minute": 1e9}):
        whole = plan(**fields)
        lease_server = LeaseServer(whole)
        wire = Wire(lease_server, whole, "one")
        entry = whole.entries[0]
        for _ in range(4):
            assert await wire.limiter.acquire(entry, Ask(0, 1)) == "granted"
        waiting = asyncio.ensure_future(wire.limiter.acquire(entry, Ask(0, 1)))
        await asyncio.sleep(0.01)
        waiting.cancel()
        wire.limiter.release(entry)
        await asyncio.sleep(0.01)
        assert await asyncio.wait_for(wire.limiter.acquire(entry, Ask(0, 1)), PATIENCE_S) == "granted"


async def test_who_rests_for_a_refused_entry_is_woken_and_its_sibling_is_not() -> None:
    """Two entries of one account on a worker: the lease server's word about one ends only its rest."""
    whole = plan()
    refused, sibling = whole.entries[0], replace(whole.entries[0], label="sibling")
    shared = replace(whole, entries=(refused, sibling))
    one = Wire(LeaseServer(shared), shared, "one")
    with anyio.fail_after(PATIENCE_S):
        one.limiter.refused([[refused.model, refused.label]])
        await one.limiter.rest(refused, 60)
    with anyio.move_on_after(0.05) as waiting:
        await one.limiter.rest(sibling, 60)
    assert waiting.cancelled_caught


async def test_a_permit_that_is_too_old_goes_back_and_is_asked_for_anew() -> None:
    """Whoever slept on it may find the place given to others: it sends nothing until a younger one comes."""
    whole = plan()
    lease_server = LeaseServer(whole)
    wire, other = Wire(lease_server, whole, "one"), Wire(lease_server, whole, "two")
    entry = whole.entries[0]
    wire.send("beat", time.monotonic() - 2 * PERMIT_LIFE_S)
    waiting = asyncio.ensure_future(wire.limiter.acquire(entry, Ask(1)))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    assert wire.said.count("unused") == wire.said.count("took") >= 1
    wire.send("beat", time.monotonic())
    assert await asyncio.wait_for(waiting, PATIENCE_S) == "granted"
    # One of the four places is taken, whatever went to and fro.
    for _ in range(3):
        assert await asyncio.wait_for(other.limiter.acquire(entry, Ask(1)), PATIENCE_S) == "granted"
    fifth = asyncio.ensure_future(other.limiter.acquire(entry, Ask(1)))
    await asyncio.sleep(0.02)
    assert not fifth.done()
    wire.limiter.release(entry)
    assert await asyncio.wait_for(fifth, PATIENCE_S) == "granted"
