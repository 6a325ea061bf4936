"""Moments are kept finely and in order, never early, and the thread that keeps them ends with them."""

from __future__ import annotations

import asyncio
import random
import threading
import time

import pytest

from vendor_verifier.run import fine_timer
from vendor_verifier.run.fine_timer import FineTimer

pytestmark = pytest.mark.anyio


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "fine timer"]


async def test_nobody_is_woken_early() -> None:
    """Two hundred moments within 50 ms, asked for in any order: each waits until its own, and the thread ends."""
    rng = random.Random(0)
    begun_ns = time.perf_counter_ns()
    early_ns: list[int] = []

    async def wait(due_ns: int, timer: FineTimer) -> None:
        await timer.until(due_ns)
        early_ns.append(due_ns - time.perf_counter_ns())

    with FineTimer() as timer:
        async with asyncio.TaskGroup() as group:
            for _ in range(200):
                group.create_task(wait(begun_ns + rng.randrange(50_000_000), timer))
    assert len(early_ns) == 200
    assert max(early_ns) <= 0
    assert watchers() == []


async def test_the_last_stretch_hangs_on_no_timer_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are rounded to milliseconds: where there are none at all, the moment still comes."""
    monkeypatch.setattr(fine_timer, "AHEAD_NS", 10**12)
    with FineTimer() as timer:
        with monkeypatch.context() as patch:
            patch.delattr(asyncio.BaseEventLoop, "call_at")
            await timer.until(time.perf_counter_ns() + 20_000_000)
        assert len(watchers()) == 1


async def test_what_has_passed_takes_no_thread() -> None:
    """A moment before now is over at once."""
    with FineTimer() as timer:
        await timer.until(time.perf_counter_ns() - 1)
        assert watchers() == []


async def test_who_is_cancelled_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leaves before its moment is waited for by nobody, and the other is woken at its own all the same."""
    monkeypatch.setattr(fine_timer, "AHEAD_NS", 10**12)
    with FineTimer() as timer:
        now_ns = time.perf_counter_ns()
        leaving = asyncio.create_task(timer.until(now_ns + 10**11))
        staying = asyncio.create_task(timer.until(now_ns + 20_000_000))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await staying
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    gone.cancel()
    fine_timer._wake(gone)
