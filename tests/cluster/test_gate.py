"""The gate by itself: leases, claims, deaths, hangs and ends, with sessions that are lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from costs import PATIENCE_S

from vendor_verifier.run.cluster.lease_server import Gate
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.values.request import Endpoint

pytestmark = pytest.mark.anyio


class Ear:
    """Somebody whom the gate tells things."""

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


async def test_leases_are_counted_over_all_sessions_and_per_account() -> None:
    """Two sessions share two places; another account has its own; what is given back goes to who waits longest."""
    gate, one, two = Gate(plan()), Ear(), Ear()
    assert gate.join("one", "w1", one)
    assert gate.join("two", "w2", two)
    gate.hear("one", {"acquire": [0, 0, 0]})
    gate.hear("two", {"acquire": [0, 1]})
    await a_moment()
    assert one.of("leave") == [[0, "go"], [0, "go"]]
    assert two.of("leave") == [[1, "go"]]
    gate.hear("one", {"release": [0]})
    await until(lambda: len(one.of("leave")) == 3)
    gate.hear("one", {"release": [0]})
    await until(lambda: two.of("leave") == [[1, "go"], [0, "go"]])


async def test_a_session_cannot_give_back_what_it_does_not_hold() -> None:
    """A confused worker does not widen the limit."""
    gate, one = Gate(plan(1)), Ear()
    gate.join("one", "w1", one)
    gate.hear("one", {"release": [0, 0]})
    gate.hear("one", {"acquire": [0, 0, 0]})
    await a_moment()
    assert one.of("leave") == [[0, "go"]]


async def test_a_second_claim_is_refused() -> None:
    """A task that the scheduler starts again under the same name gets no leave and is not told to anybody."""
    gate, coordinator = Gate(plan()), Ear()
    gate.attend(coordinator)
    assert gate.join("one", "w1", Ear())
    gate.leave("one", "gone")
    again = Ear()
    assert not gate.join("one", "w3", again)
    gate.hear("one", {"acquire": [0], "rows": [[1, b"x"]]})
    await a_moment()
    assert again.heard == []
    assert coordinator.of("rows") == []


@pytest.mark.parametrize("how", ["leave", "worker_gone"])
async def test_the_leases_of_the_dead_are_free_after_the_settling_time(how: str) -> None:
    """Not before: the vendor may still count their connections."""
    gate, coordinator, two = Gate(plan(1), settle_s=0.05), Ear(), Ear()
    gate.attend(coordinator)
    gate.join("one", "w1", Ear())
    gate.join("two", "w2", two)
    gate.hear("one", {"acquire": [0, 0]})
    await a_moment()
    gate.hear("two", {"acquire": [0]})
    end: Callable[[], None] = (lambda: gate.leave("one", "gone")) if how == "leave" else lambda: gate.worker_gone("w1")
    began_s = time.monotonic()
    end()
    await until(lambda: two.of("leave") == [[0, "go"]])
    assert time.monotonic() - began_s >= 0.05
    assert coordinator.of("left")[0][0] == "one"


async def test_a_silent_session_is_given_up_but_its_rows_still_count() -> None:
    """Its places go to others, it is told to end, and what it hands in late is passed on."""
    gate, coordinator, one, two = Gate(plan(1), hang_after_s=1.0, settle_s=0.0), Ear(), Ear(), Ear()
    gate.attend(coordinator)
    gate.join("one", "w1", one)
    gate.join("two", "w2", two)
    gate.hear("one", {"acquire": [0]})
    await a_moment()
    watching = asyncio.ensure_future(gate.watch())

    async def beat() -> None:
        while True:
            gate.hear("two", {"beat": [True]})
            await asyncio.sleep(0.02)

    beating = asyncio.ensure_future(beat())
    gate.hear("two", {"acquire": [0]})
    await until(lambda: two.of("leave") == [[0, "go"]])
    assert one.of("finish") == [True]
    gate.hear("one", {"rows": [[7, b"late"]], "acquire": [0], "ended": [7]})
    await a_moment()
    assert coordinator.of("rows") == [["one", 7, b"late"]]
    assert coordinator.of("ended") == []
    assert one.of("leave") == [[0, "go"]]
    await cancelled(watching, beating)


async def cancelled(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("end", ["order", "abandon"])
async def test_a_closed_gate_gives_no_more_leave(end: str) -> None:
    """Whether it was told so or its coordinator vanished; who comes later hears it too."""
    gate, one = Gate(plan(1)), Ear()
    gate.attend(Ear())
    gate.join("one", "w1", one)
    gate.hear("one", {"acquire": [0, 0]})
    await a_moment()
    closing: Callable[[], Any] = (lambda: gate.order({"close": [True]})) if end == "order" else gate.abandon
    closing()
    gate.hear("one", {"release": [0], "acquire": [1]})
    await until(lambda: len(one.of("leave")) == 3)
    assert [leave for _, leave in one.of("leave")] == ["go", "closed", "closed"]
    assert one.of("closed") == [True]
    late = Ear()
    gate.join("late", "w2", late)
    assert late.of("closed") == [True]


async def test_a_stopped_account_is_stopped_for_everybody() -> None:
    """One worker's refused key saves all others the question."""
    gate, one, two = Gate(plan()), Ear(), Ear()
    gate.join("one", "w1", one)
    gate.join("two", "w2", two)
    gate.hear("one", {"stop": [[0, "no credit"]]})
    gate.hear("two", {"acquire": [0, 1]})
    await until(lambda: len(two.of("leave")) == 2)
    assert sorted(two.of("leave")) == [[0, "stopped"], [1, "go"]]
    assert two.of("over") == ["a"]
    assert gate.facts()["stopped"] == {"a": "no credit"}


async def test_a_refused_entry_is_stopped_everywhere_and_its_sibling_nowhere() -> None:
    """Of two entries of one account the refused one gets no leave on any worker; who joins later hears of it too."""
    whole = plan()
    shared = replace(whole, entries=tuple(replace(each, account="same") for each in whole.entries))
    gate, one, two, late = Gate(shared), Ear(), Ear(), Ear()
    gate.join("one", "w1", one)
    gate.join("two", "w2", two)
    gate.hear("one", {"stop": [[0, "bad key"]]})
    gate.hear("two", {"acquire": [0, 1]})
    await until(lambda: len(two.of("leave")) == 2)
    assert sorted(two.of("leave")) == [[0, "stopped"], [1, "go"]]
    name = [shared.entries[0].model, shared.entries[0].label]
    assert (two.of("over"), two.of("refused")) == ([], [name])
    gate.join("late", "w3", late)
    assert late.of("refused") == [name]
    assert (gate.facts()["stopped"], gate.facts()["refused"]) == ({}, [[*name, "bad key"]])


async def test_a_spending_limit_is_kept_over_all_workers() -> None:
    """--max-requests counts what is begun anywhere and then closes the gate, with the reason for the manifest."""
    gate, coordinator, one, two = Gate(plan(9, max_requests=3)), Ear(), Ear(), Ear()
    gate.attend(coordinator)
    gate.join("one", "w1", one)
    gate.join("two", "w2", two)
    gate.hear("one", {"acquire": [0, 1]})
    gate.hear("two", {"acquire": [0, 1]})
    await until(lambda: len(one.of("leave")) + len(two.of("leave")) == 4)
    assert sorted(leave for _, leave in one.of("leave") + two.of("leave")) == ["closed", "go", "go", "go"]
    assert coordinator.of("closed") == [True]
    assert gate.facts()["limit"] == "--max-requests 3 was reached"
