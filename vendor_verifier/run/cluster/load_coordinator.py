"""The coordinator of a shaped load: plays are handed to workers one by one, each with the moment it is due.

The schedule is kept here, by the same code as in one process, so that warm-up, duration, caps and counts are
those of the whole load. A play goes out some time before it is due, to the worker that has least to do, and waits there
for its moment: on the clock that all processes of a machine share, or on its own, whose offset from ours is known. So
no message lies between a request's moment and its permit but the one that asks for it.
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio

from vendor_verifier.records.record import Record
from vendor_verifier.run.cluster.coordinator import Coordinator, block_size
from vendor_verifier.run.cluster.job import Message, pack
from vendor_verifier.run.cluster.worker_clocks import WorkerClocks
from vendor_verifier.run.engine import VendorSlots
from vendor_verifier.run.load import EntryKey, Load, LoadReport
from vendor_verifier.run.local_run import RunEnd, Work
from vendor_verifier.run.work_queue import BLOCK, DueAt, WorkItem


@dataclass(slots=True)
class _Handed:
    """One play that a session has."""

    item: WorkItem
    block: int
    due: DueAt | None
    session: str
    answer: asyncio.Future[Record | None]


# Longer than a message takes on a busy machine, and short enough that a run ends soon after it is told to.
_LEAD_NS = 300_000_000
_FAR_LEAD_NS = 1_000_000_000
# The schedule begins when all workers are there, or so long after the first of them.
_ALL_WITHIN_S = 5.0
# Clocks drift by some 0.05 ms a second at most.
_CLOCKS_EVERY_S = 10.0


def coordinator_of(work: Work, sessions: int, order: Callable[..., None], *, is_far: bool) -> Coordinator:
    """The coordinator for what the plan asks for, over ``sessions`` workers; ``is_far``: with clocks of their own."""
    if work.plan.load.is_shaped:
        return LoadCoordinator(work, sessions, order, is_far=is_far)
    return Coordinator(work, block_size(work.queue, sessions), order)


class LoadCoordinator(Coordinator):
    """Offers a shaped load over workers; what a lost worker had is handed to another, as late as it is."""

    def __init__(self, work: Work, sessions: int, order: Callable[..., None], *, is_far: bool) -> None:
        super().__init__(work, BLOCK, order)
        self.lead_ns = _FAR_LEAD_NS if is_far else _LEAD_NS
        self._load = Load(work.plan, work.emit, BLOCK)
        self._expected = sessions
        # Where clocks need not be asked, or nothing goes by the clock, a session is ready when it has joined.
        needs_clocks = is_far and work.plan.load.is_open
        self._clocks = WorkerClocks(self._ask_clock) if needs_clocks else None
        self._ready: dict[str, None] = {}
        self._waiting: deque[_Handed] = deque()
        self._handed: dict[int, _Handed] = {}
        self._busy: Counter[str] = Counter()
        self._given: Counter[str] = Counter()
        self._offered: Mapping[EntryKey, LoadReport] | None = None

    def clock_ns(self) -> int:
        return time.perf_counter_ns()

    def hand(self, item: WorkItem, block: int, due: DueAt | None) -> Awaitable[Record | None]:
        """Send a play to a worker; what to wait for its record by."""
        answer: asyncio.Future[Record | None] = asyncio.get_running_loop().create_future()
        self._give(_Handed(item, block, due, "", answer))
        return answer

    async def until_finished(self) -> None:
        plan = self._work.plan
        async with anyio.create_task_group() as group:
            group.start_soon(self._until_failed, group.cancel_scope)
            group.start_soon(self._keep_clocks)
            await self._until_ready()
            slots = VendorSlots(plan.vendor_concurrency, len(plan.entries))
            self._offered = await self._load.offer(self._queue, self, slots)
            group.cancel_scope.cancel()
        if self.failed is not None:
            raise self.failed

    def close(self) -> None:
        self._load.close()
        super().close()
        while self._waiting:
            self._give(self._waiting.popleft())

    def describe(self) -> dict[str, Any]:
        found = super().describe()
        return found if self._clocks is None else {**found, "clock_error_ms": self._clocks.error_ms}

    def receive(self, message: Message) -> None:
        super().receive(message)
        if self._clocks is None:
            for name in message.get("joined", ()):
                self._get_ready(name)
            return
        for name in message.get("joined", ()):
            self._clocks.joined(name)
        for name, asked_ns, theirs_ns in message.get("clock", ()):
            if self._clocks.answered(name, asked_ns, theirs_ns, self.clock_ns()):
                self._get_ready(name)

    def run_end(self, signal_number: int | None) -> RunEnd:
        return replace(super().run_end(signal_number), load=self._offered)

    async def _until_ready(self) -> None:
        """Wait for the first worker, and a little for the others, so that the first of them does not get it all."""
        while not (self._ready or self._closed):
            self._news.clear()
            await self._news.wait()
        with anyio.move_on_after(_ALL_WITHIN_S):
            while len(self._ready) < self._expected and not self._closed:
                self._news.clear()
                await self._news.wait()

    def _get_ready(self, name: str) -> None:
        self._ready[name] = None
        self._given[name] = max(self._given.values(), default=0)
        waiting, self._waiting = self._waiting, deque()
        for handed in waiting:
            self._give(handed)
        self._news.set()

    def _ask_clock(self, name: str) -> None:
        self._order("clock", [name, self.clock_ns()])

    async def _keep_clocks(self) -> None:
        while self._clocks is not None:
            await anyio.sleep(_CLOCKS_EVERY_S)
            self._clocks.ask_all()

    async def _until_failed(self, scope: anyio.CancelScope) -> None:
        while self.failed is None:
            self._news.clear()
            await self._news.wait()
        scope.cancel()

    def _give(self, handed: _Handed) -> None:
        if self._closed:
            handed.answer.set_result(None)
            return
        if not self._ready:
            # Workers come back, or nobody does within a minute and the run ends.
            self._waiting.append(handed)
            return
        # In turn where all are as busy, so that requests one after the other come from all places, too.
        handed.session = min(self._ready, key=lambda name: (self._busy[name], self._given[name]))
        self._busy[handed.session] += 1
        self._given[handed.session] += 1
        self._issued += 1
        self._handed[self._issued] = handed
        due = handed.due
        if due is not None and self._clocks is not None:
            due = due.later(self._clocks.offset_ns(handed.session))
        block = pack(handed.block, [handed.item], self._work.plan.entries, due)
        self._order("blocks", [handed.session, self._issued, pickle.dumps(block)])

    def _taken(self, dispatch: int) -> _Handed | None:
        """The play of that number, which is expected no longer."""
        handed = self._handed.pop(dispatch, None)
        if handed is not None:
            self._busy[handed.session] -= 1
        return handed

    def _keep(self, dispatch: int, record: Record) -> bool:
        """Expect a record no longer; the load writes it, where it counts."""
        handed = self._taken(dispatch)
        if handed is None:
            # From a session that had been given up: another one was asked in its place.
            self.losses.duplicates += 1
            self._work.emit_duplicate(record)
            return False
        self._fruitless = 0
        if not handed.answer.done():
            handed.answer.set_result(record)
        return False

    def _end(self, dispatch: int) -> None:
        handed = self._taken(dispatch)
        if handed is not None and not handed.answer.done():
            handed.answer.set_result(None)

    def _lose(self, name: str, reason: str, silent_s: float) -> None:
        is_at_work = name in self._sessions
        self._ready.pop(name, None)
        if self._clocks is not None:
            self._clocks.left(name)
        super()._lose(name, reason, silent_s)
        if not is_at_work or self._winding_down:
            return
        lost = [dispatch for dispatch, handed in self._handed.items() if handed.session == name]
        self.losses.issued_again += len(lost)
        for dispatch in lost:
            if (handed := self._taken(dispatch)) is not None and not handed.answer.done():
                self._give(handed)

    def _hand_out(self) -> None:
        """Nothing goes out but by the clock or when a place is free."""
