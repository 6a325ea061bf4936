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

from vendor_verifier.run.cluster.lease_server import LeaseServer
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.values.request import Endpoint

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
    """Two sessions share two places; another account has its own; what is given back goes to who waits longest."""
    lease_server, one, two = LeaseServer(plan()), Ear(), Ear()
    assert lease_server.join("one", "w1", one)
    assert lease_server.join("two", "w2", two)
    lease_server.receive("one", {"acquire": asks(0, 0, 0)})
    lease_server.receive("two", {"acquire": asks(0, 1)})
    await a_moment()
    assert permits(one) == [[0, "granted"], [0, "granted"]]
    assert permits(two) == [[1, "granted"]]
    lease_server.receive("one", {"release": [0]})
    await until(lambda: len(permits(one)) == 3)
    lease_server.receive("one", {"release": [0]})
    await until(lambda: permits(two) == [[1, "granted"], [0, "granted"]])


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


@pytest.mark.parametrize("how", ["leave", "worker_gone"])
async def test_the_leases_of_the_dead_are_free_after_the_settling_time(how: str) -> None:
    """Not before: the vendor may still count their connections."""
    lease_server, coordinator, two = LeaseServer(plan(1), settle_s=0.05), Ear(), Ear()
    lease_server.attend(coordinator)
    lease_server.join("one", "w1", Ear())
    lease_server.join("two", "w2", two)
    lease_server.receive("one", {"acquire": asks(0, 0)})
    await a_moment()
    lease_server.receive("two", {"acquire": asks(0)})
    end: Callable[[], None] = (
        (lambda: lease_server.leave("one", "gone")) if how == "leave" else lambda: lease_server.worker_gone("w1")
    )
    began_s = time.monotonic()
    end()
    await until(lambda: permits(two) == [[0, "granted"]])
    assert time.monotonic() - began_s >= 0.05
    assert coordinator.of("left")[0][0] == "one"


async def test_a_silent_session_is_given_up_but_its_rows_still_count() -> None:
    """Its places go to others, it is told to end, and what it hands in late is passed on."""
    lease_server, coordinator, one, two = LeaseServer(plan(1), hang_after_s=1.0, settle_s=0.0), Ear(), Ear(), Ear()
    lease_server.attend(coordinator)
    lease_server.join("one", "w1", one)
    lease_server.join("two", "w2", two)
    lease_server.receive("one", {"acquire": asks(0)})
    await a_moment()
    watching = asyncio.ensure_future(lease_server.watch())

    async def beat() -> None:
        while True:
            lease_server.receive("two", {"beat": [True]})
            await asyncio.sleep(0.02)

    beating = asyncio.ensure_future(beat())
    lease_server.receive("two", {"acquire": asks(0)})
    await until(lambda: permits(two) == [[0, "granted"]])
    assert one.of("finish") == [True]
    lease_server.receive("one", {"rows": [[7, b"late"]], "acquire": asks(0), "ended": [7]})
    await a_moment()
    assert coordinator.of("rows") == [["one", 7, b"late"]]
    assert coordinator.of("ended") == []
    assert permits(one) == [[0, "granted"]]
    await cancelled(watching, beating)


async def cancelled(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


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
    lease_server.receive("one", {"release": [0], "acquire": asks(1)})
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
