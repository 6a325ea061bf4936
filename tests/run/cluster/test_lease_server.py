"""The lease server by itself: leases, claims, deaths, hangs and ends, with sessions that are lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from changing import replace
from costs import PATIENCE_S

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run.cluster.lease_server import LeaseServer

pytestmark = pytest.mark.anyio


class Ear:
    """Somebody whom the lease server tells things."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []

    def __call__(self, kind: str, *items: Any) -> None:
        self.heard += [(kind, item) for item in items]

    def of(self, kind: str) -> list[Any]:
        return [item for one, item in self.heard if one == kind]


def plan(concurrency: int = 2, **fields: Any) -> Plan:
    entries = tuple(
        Entry("model", label, label, Endpoint("http://127.0.0.1", "m"), "openai", label, concurrency=concurrency)
        for label in ("a", "b")
    )
    return Plan(entries, (), **fields)


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.001)


async def a_moment() -> None:
    await asyncio.sleep(0.02)


def asks(*places: int) -> list[list[int]]:
    """Requests of one session for these places, each with its number."""
    return [[place, number] for number, place in enumerate(places)]


def permits(session: Ear) -> list[list[Any]]:
    """The places and permits that a session was sent."""
    return [[place, permit] for place, _, permit in session.of("permit")]


async def test_leases_are_counted_over_all_sessions_and_per_account() -> None:
    """Two sessions share two places, one each while both wait; another account has its own; what is given back goes to
    who waits."""
    lease_server, one, two = LeaseServer(plan()), Ear(), Ear()
    assert lease_server.join("one", "w1", one)
    assert lease_server.join("two", "w2", two)
    lease_server.receive("one", {"acquire": asks(0, 0, 0)})
    lease_server.receive("two", {"acquire": asks(0, 1)})
    await until(lambda: len(permits(one) + permits(two)) == 3)
    await a_moment()
    assert permits(one) == [[0, "granted"]]
    assert sorted(permits(two)) == [[0, "granted"], [1, "granted"]]
    lease_server.receive("two", {"took": [0], "release": [0]})
    await until(lambda: len(permits(one)) == 2)
    lease_server.receive("one", {"took": [0, 1], "release": [0]})
    await until(lambda: len(permits(one)) == 3)
    assert all(permit == "granted" for _, permit in permits(one))


async def test_one_that_hangs_gets_no_more_than_its_share_while_others_wait() -> None:
    """It asked for much and takes and gives back nothing, as nobody knows yet: of six places it gets three, and the
    other goes on with three for as long as it likes."""
    lease_server, hung, busy = LeaseServer(plan(6)), Ear(), Ear()
    lease_server.join("hung", "w1", hung)
    lease_server.join("busy", "w2", busy)
    lease_server.receive("hung", {"acquire": asks(*[0] * 50)})
    lease_server.receive("busy", {"acquire": asks(*[0] * 60)})
    for done in range(40):
        await until(lambda done=done: len(permits(busy)) > done)
        lease_server.receive("busy", {"took": [done], "release": [done]})
        await asyncio.sleep(0)
        assert len(permits(hung)) <= 4
    # Alone it may have all: nobody else waits.
    lease_server.leave("busy", "gone")
    lease_server._settle_s = 0.0
    await until(lambda: len(permits(hung)) == 6)


async def test_a_session_cannot_give_back_what_it_does_not_hold() -> None:
    """A confused worker does not widen the limit."""
    lease_server, one = LeaseServer(plan(1)), Ear()
    lease_server.join("one", "w1", one)
    lease_server.receive("one", {"release": [0, 0]})
    lease_server.receive("one", {"acquire": asks(0, 0, 0)})
    await a_moment()
    assert permits(one) == [[0, "granted"]]


async def test_a_second_claim_is_refused() -> None:
    """A task that the scheduler starts again under the same name gets no permit and is not told to anybody."""
    lease_server, coordinator = LeaseServer(plan()), Ear()
    lease_server.attend(coordinator)
    assert lease_server.join("one", "w1", Ear())
    lease_server.leave("one", "gone")
    again = Ear()
    assert not lease_server.join("one", "w3", again)
    lease_server.receive("one", {"acquire": asks(0), "rows": [[1, b"x"]]})
    await a_moment()
    assert again.heard == []
    assert coordinator.of("rows") == []


async def test_the_leases_of_the_dead_are_free_after_the_settling_time() -> None:
    """Not before: the vendor may still count their connections."""
    lease_server, coordinator, two = LeaseServer(plan(1), settle_s=0.05), Ear(), Ear()
    lease_server.attend(coordinator)
    lease_server.join("one", "w1", Ear())
    lease_server.join("two", "w2", two)
    lease_server.receive("one", {"acquire": asks(0, 0)})
    await a_moment()
    lease_server.receive("two", {"acquire": asks(0)})
    began_s = time.monotonic()
    lease_server.leave("one", "gone")
    await until(lambda: permits(two) == [[0, "granted"]])
    assert time.monotonic() - began_s >= 0.05
    assert coordinator.of("left")[0][0] == "one"


async def test_a_worker_that_the_cluster_counts_as_gone_may_still_have_connections() -> None:
    """Its work goes to others at once; its place is free only when the connection of its session ends."""
    lease_server, coordinator, two = LeaseServer(plan(1), settle_s=0.0), Ear(), Ear()
    lease_server.attend(coordinator)
    lease_server.join("one", "w1", Ear())
    lease_server.join("two", "w2", two)
    lease_server.receive("one", {"acquire": asks(0)})
    await a_moment()
    lease_server.receive("one", {"took": [0]})
    lease_server.receive("two", {"acquire": asks(0)})
    lease_server.worker_gone("w1")
    await a_moment()
    assert [name for name, *_ in coordinator.of("left")] == ["one"]
    assert permits(two) == []
    lease_server.leave("one", "its connection ended")
    await until(lambda: permits(two) == [[0, "granted"]])
    assert len(coordinator.of("left")) == 1


class Hanging:
    """Two sessions that share ``places``, of which the first hangs whenever it is not told to beat."""

    def __init__(self, places: int, **limits: float) -> None:
        self.coordinator, self.one, self.two = Ear(), Ear(), Ear()
        times = {"permit_life_s": 0.3, "hang_after_s": PATIENCE_S, "settle_s": 0.0, **limits}
        self.lease_server = LeaseServer(plan(places, max_requests=100), **times)
        self.lease_server.attend(self.coordinator)
        self.lease_server.join("one", "w1", self.one)
        self.lease_server.join("two", "w2", self.two)
        self.tasks = [asyncio.ensure_future(self.lease_server.watch()), asyncio.ensure_future(self._beat())]

    async def _beat(self) -> None:
        while True:
            self.lease_server.receive("two", {"beat": [time.monotonic()]})
            await asyncio.sleep(0.02)

    async def __aenter__(self) -> Hanging:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_what_a_silent_session_has_not_used_is_free_and_what_it_uses_is_not() -> None:
    """Of three places it holds one unused and one in flight and waits for more: the others get two, and what it waits
    for takes nothing from them until it speaks again."""
    async with Hanging(3) as both:
        both.lease_server.receive("one", {"beat": [1.0], "acquire": asks(0, 0)})
        await a_moment()
        both.lease_server.receive("one", {"took": [0], "acquire": [[0, 5], [0, 6]]})
        await a_moment()
        both.lease_server.receive("two", {"acquire": asks(0, 0, 0)})
        await until(lambda: len(permits(both.two)) == 2)
        await until(lambda: len(permits(both.one)) == 3)
        for _ in range(5):
            await a_moment()
        assert len(permits(both.two)) == 2
        both.lease_server.receive("two", {"took": [0, 1], "release": [0]})
        await until(lambda: len(permits(both.two)) == 3)
        both.lease_server.receive("two", {"took": [2], "release": [1, 2]})
        await a_moment()
        assert len(permits(both.one)) == 3
        both.lease_server.receive("one", {"beat": [2.0], "unused": [1, 5]})
        await until(lambda: len(permits(both.one)) == 4)
        assert both.one.of("beat") == [1.0, 2.0]
        # Three in flight, each counted once; what was given back unused is not.
        assert both.lease_server.requests == 5


async def test_what_a_silent_session_has_in_flight_counts_until_its_attempt_is_over() -> None:
    """Also after its work went to others; and its late rows are passed on."""
    async with Hanging(1, hang_after_s=0.4, attempt_s=1.2) as both:
        both.lease_server.receive("one", {"beat": [1.0], "acquire": asks(0)})
        await until(lambda: permits(both.one) == [[0, "granted"]])
        took_at = time.monotonic()
        both.lease_server.receive("one", {"took": [0]})
        both.lease_server.receive("two", {"acquire": asks(0)})
        await until(lambda: both.one.of("finish") == [True])
        assert [name for name, *_ in both.coordinator.of("left")] == ["one"]
        await until(lambda: permits(both.two) == [[0, "granted"]])
        assert time.monotonic() - took_at >= 1.2
        both.lease_server.receive("one", {"rows": [[7, b"late"]], "acquire": asks(0), "ended": [7]})
        await a_moment()
        assert both.coordinator.of("rows") == [["one", 7, b"late"]]
        assert both.coordinator.of("ended") == []
        assert len(permits(both.one)) == 1


@pytest.mark.parametrize("end", ["order", "abandon"])
async def test_a_closed_gate_gives_no_more_leave(end: str) -> None:
    """Whether it was told so or its coordinator vanished; who comes later hears it too."""
    lease_server, one = LeaseServer(plan(1)), Ear()
    lease_server.attend(Ear())
    lease_server.join("one", "w1", one)
    lease_server.receive("one", {"acquire": asks(0, 0)})
    await a_moment()
    closing: Callable[[], Any] = (
        (lambda: lease_server.order({"close": [True]})) if end == "order" else lease_server.abandon
    )
    closing()
    lease_server.receive("one", {"took": [0], "release": [0], "acquire": [[1, 2]]})
    await until(lambda: len(permits(one)) == 3)
    assert [permit for _, permit in permits(one)] == ["granted", "closed", "closed"]
    assert one.of("closed") == [True]
    late = Ear()
    lease_server.join("late", "w2", late)
    assert late.of("closed") == [True]


async def test_a_stopped_account_is_stopped_for_everybody() -> None:
    """One worker's refused key saves all others the question."""
    lease_server, one, two = LeaseServer(plan()), Ear(), Ear()
    lease_server.join("one", "w1", one)
    lease_server.join("two", "w2", two)
    lease_server.receive("one", {"stop": [[0, "no credit"]]})
    lease_server.receive("two", {"acquire": asks(0, 1)})
    await until(lambda: len(permits(two)) == 2)
    assert sorted(permits(two)) == [[0, "stopped"], [1, "granted"]]
    assert two.of("over") == ["a"]
    assert lease_server.facts()["stopped"] == {"a": "no credit"}


async def test_a_refused_entry_is_stopped_everywhere_and_its_sibling_nowhere() -> None:
    """Of two entries of one account the refused one gets no permit on any worker; who joins later hears of it too."""
    whole = plan()
    shared = replace(whole, entries=tuple(replace(each, account="same") for each in whole.entries))
    lease_server, one, two, late = LeaseServer(shared), Ear(), Ear(), Ear()
    lease_server.join("one", "w1", one)
    lease_server.join("two", "w2", two)
    lease_server.receive("one", {"stop": [[0, "bad key"]]})
    lease_server.receive("two", {"acquire": asks(0, 1)})
    await until(lambda: len(permits(two)) == 2)
    assert sorted(permits(two)) == [[0, "stopped"], [1, "granted"]]
    name = [shared.entries[0].model, shared.entries[0].label]
    assert (two.of("over"), two.of("refused")) == ([], [name])
    lease_server.join("late", "w3", late)
    assert late.of("refused") == [name]
    assert (lease_server.facts()["stopped"], lease_server.facts()["refused"]) == ({}, [[*name, "bad key"]])


async def test_a_spending_limit_is_kept_over_all_workers() -> None:
    """--max-requests counts what is begun anywhere and then closes it, with the reason for the manifest."""
    lease_server, coordinator, one, two = LeaseServer(plan(9, max_requests=3)), Ear(), Ear(), Ear()
    lease_server.attend(coordinator)
    lease_server.join("one", "w1", one)
    lease_server.join("two", "w2", two)
    lease_server.receive("one", {"acquire": asks(0, 1)})
    lease_server.receive("two", {"acquire": asks(0, 1)})
    await until(lambda: len(permits(one)) + len(permits(two)) == 4)
    assert sorted(permit for _, permit in permits(one) + permits(two)) == [
        "closed",
        "granted",
        "granted",
        "granted",
    ]
    assert coordinator.of("closed") == [True]
    assert lease_server.facts()["limit"] == "--max-requests 3 was reached"


async def test_what_a_session_that_was_given_up_may_have_in_flight_is_told() -> None:
    """Of permits that it used, until it gives them back or is gone; nothing of sessions at work."""
    lease_server, one, two = LeaseServer(plan(9)), Ear(), Ear()
    lease_server.join("one", "w1", one)
    lease_server.join("two", "w2", two)
    for name, ear in (("one", one), ("two", two)):
        lease_server.receive(name, {"acquire": asks(0, 1)})
        await until(lambda ear=ear: len(permits(ear)) == 2)
        lease_server.receive(name, {"took": [number for _, number, _ in ear.of("permit")]})
    assert lease_server.facts()["held"] == 0
    lease_server.worker_gone("w1")
    assert lease_server.facts()["held"] == 2
    lease_server.receive("one", {"release": [one.of("permit")[0][1]]})
    assert lease_server.facts()["held"] == 1
    lease_server.leave("one", "gone")
    assert lease_server.facts()["held"] == 0


async def test_sessions_are_told_how_long_it_stood_still() -> None:
    """Who waited for a permit meanwhile began late by our doing. An ordinary moment is told to nobody."""
    ear, server = Ear(), LeaseServer(plan())
    server.join("s", "w", ear)
    async with anyio.create_task_group() as group:
        group.start_soon(server.watch)
        await a_moment()
        time.sleep(0.3)
        # A busy machine may have made it stand still for a moment before.
        await until(lambda: max(ear.of("stalled"), default=0) > 0.25e9)
        group.cancel_scope.cancel()
    assert min(ear.of("stalled")) > 5e6
