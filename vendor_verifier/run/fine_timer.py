"""Wakes coroutines at moments to a tenth of a millisecond; event loops keep whole milliseconds only.

At 120 requests a second every ninth gap is shorter than a millisecond: timers rounded to one make of random arrivals
something that is not Poisson. The kernel keeps finer time, so a thread sleeps through the last two milliseconds before
each moment and wakes the loop then. It never spins: a moment costs about 0.1 ms of CPU.
"""

from __future__ import annotations

import asyncio
import heapq
import threading
import time
from itertools import count

# Longer than any loop's timer is late when nothing holds it up.
AHEAD_NS = 2_000_000
_Waiting = tuple[int, int, asyncio.Future[None]]


class FineTimer:
    """The moments of one event loop, on ``perf_counter_ns``; a context, whose thread begins with the first moment."""

    def __init__(self) -> None:
        self._news = threading.Condition(threading.Lock())
        self._waiting: list[_Waiting] = []
        self._numbers = count()
        self._is_over = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> FineTimer:
        return self

    def __exit__(self, *_: object) -> None:
        with self._news:
            self._is_over = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()

    async def until(self, due_ns: int) -> None:
        """Wait until ``due_ns``, and never less; where it has passed, not at all."""
        while (left_ns := due_ns - AHEAD_NS - time.perf_counter_ns()) > 0:
            await asyncio.sleep(left_ns / 1e9)
        if due_ns <= time.perf_counter_ns():
            return
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, args=(loop,), name="fine timer", daemon=True)
            self._thread.start()
        come: asyncio.Future[None] = loop.create_future()
        with self._news:
            heapq.heappush(self._waiting, (due_ns, next(self._numbers), come))
            if self._waiting[0][2] is come:
                self._news.notify()
        await come

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._news:
            while not self._is_over:
                left_ns = self._waiting[0][0] - time.perf_counter_ns() if self._waiting else None
                if left_ns is None or left_ns > 0:
                    self._news.wait(None if left_ns is None else left_ns / 1e9)
                else:
                    loop.call_soon_threadsafe(_wake, heapq.heappop(self._waiting)[2])


def _wake(come: asyncio.Future[None]) -> None:
    if not come.done():
        come.set_result(None)
