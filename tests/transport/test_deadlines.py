"""One timer watches all exchanges of a client: each is ended at its own limit, and progress costs no timer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from vendor_verifier.transport.exchange import ActiveExchange, Deadlines

pytestmark = pytest.mark.anyio


class Waiting:
    """Something with a deadline, in milliseconds from now, that notes its end."""

    def __init__(self, ms: float, ended: list[str], name: str) -> None:
        self.at_ns = time.perf_counter_ns() + int(ms * 1e6)
        self._ended, self._name = ended, name

    def due_ns(self) -> int:
        return self.at_ns

    def end_late(self) -> None:
        assert time.perf_counter_ns() >= self.at_ns
        self._ended.append(self._name)


def watched(deadlines: Deadlines, *waiting: Waiting) -> None:
    for each in waiting:
        deadlines.watch(cast(ActiveExchange, each))


async def test_each_ends_at_its_own_deadline() -> None:
    """Whichever came first; none twice; and one that left is not ended."""
    ended: list[str] = []
    deadlines = Deadlines()
    late, soon, gone, after = (Waiting(ms, ended, f"{ms}") for ms in (40, 10, 5, 70))
    watched(deadlines, late, soon, gone)
    deadlines.leave(cast(ActiveExchange, gone))
    await asyncio.sleep(0.03)
    watched(deadlines, after)
    while len(ended) < 3:
        await asyncio.sleep(0.005)
    assert sorted(ended) == ["10", "40", "70"]


async def test_progress_moves_a_deadline_without_a_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand exchanges that go on need one timer; a nearer deadline brings it nearer."""
    ended: list[str] = []
    loop, deadlines = asyncio.get_running_loop(), Deadlines()
    set_for: list[float] = []
    call_later = loop.call_later

    def counted(delay_s: float, callback: Callable[..., object], *arguments: object, **options: Any) -> object:
        if not arguments:
            set_for.append(delay_s)
        return call_later(delay_s, callback, *arguments, **options)

    monkeypatch.setattr(loop, "call_later", counted)
    many = [Waiting(60_000 + number, ended, "far") for number in range(1000)]
    watched(deadlines, *many)
    for each in many:
        each.at_ns += 10**9
    assert len(set_for) == 1
    watched(deadlines, Waiting(1, ended, "near"))
    assert len(set_for) == 2
    while not ended:
        await asyncio.sleep(0.001)
    assert ended == ["near"]
    deadlines.close()


async def test_a_deadline_that_moved_on_is_met_later() -> None:
    """The timer goes off, finds progress, and is set for the rest."""
    ended: list[str] = []
    deadlines = Deadlines()
    moved = Waiting(5, ended, "moved")
    watched(deadlines, moved)
    moved.at_ns += 30_000_000
    while not ended:
        await asyncio.sleep(0.002)
    assert ended == ["moved"]
