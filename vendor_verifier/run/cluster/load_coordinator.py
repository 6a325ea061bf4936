"""The coordinator of a shaped load: plays are handed to worker processes one by one, each with the moment it is due.

The schedule is kept here, by the same code as in one process, so that warm-up, cool-down, duration, caps and counts are
those of the whole load. A play goes out some time before it is due, to the worker that has least to do, and waits there
for its moment on the clock that all processes of a machine share. So no message lies between a request's moment and its
permit but the one that asks for it.
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import anyio

from vendor_verifier.run.cluster.coordinator import Coordinator
from vendor_verifier.run.cluster.job import pack
from vendor_verifier.run.engine import VendorSlots
from vendor_verifier.run.load import DueAt, EntryKey, Load, LoadReport
from vendor_verifier.run.local_run import RunEnd, Work
from vendor_verifier.run.work_queue import BLOCK, WorkItem
from vendor_verifier.values.record import Record


@dataclass(slots=True)
class _Handed:
    """One play that a session has."""

    item: WorkItem
    block: int
    due: DueAt | None
    session: str
    answer: asyncio.Future[Record | None]


class LoadCoordinator(Coordinator):
    """Offers a shaped load over worker processes; what a lost worker had is handed to another, as late as it is."""

    # Longer than a message takes on a busy machine, and short enough that a run ends soon after it is told to.
    lead_ns = 300_000_000

    def __init__(self, work: Work, order: Callable[..., None]) -> None:
        super().__init__(work, BLOCK, order)
        self._load = Load(work.plan, work.emit, BLOCK)
        self._handed: dict[int, _Handed] = {}
        self._busy: Counter[str] = Counter()
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
            slots = VendorSlots(plan.vendor_concurrency, len(plan.entries))
            self._offered = await self._load.offer(self._queue, self, slots)
            group.cancel_scope.cancel()
        if self.failed is not None:
            raise self.failed

    def close(self) -> None:
        self._load.close()
        super().close()

    def run_end(self, signal_number: int | None) -> RunEnd:
        return replace(super().run_end(signal_number), load=self._offered)

    async def _until_failed(self, scope: anyio.CancelScope) -> None:
        while self.failed is None:
            self._news.clear()
            await self._news.wait()
        scope.cancel()

    def _give(self, handed: _Handed) -> None:
        if self._closed or not self._sessions:
            handed.answer.set_result(None)
            return
        handed.session = min(self._sessions, key=self._busy.__getitem__)
        self._busy[handed.session] += 1
        self._issued += 1
        self._handed[self._issued] = handed
        block = pack(handed.block, [handed.item], self._work.plan.entries, handed.due)
        self._order("blocks", [handed.session, self._issued, pickle.dumps(block)])

    def _taken(self, dispatch: int) -> _Handed | None:
        """The play of that number, which is expected no longer."""
        handed = self._handed.pop(dispatch, None)
        if handed is not None:
            self._busy[handed.session] -= 1
        return handed

    def _keep(self, dispatch: int, record: Record) -> None:
        handed = self._taken(dispatch)
        if handed is None:
            # From a session that had been given up: another one was asked in its place.
            self.losses.duplicates += 1
            self._work.emit_duplicate(record)
            return
        self._fruitless = 0
        if not handed.answer.done():
            handed.answer.set_result(record)

    def _end(self, dispatch: int) -> None:
        handed = self._taken(dispatch)
        if handed is not None and not handed.answer.done():
            handed.answer.set_result(None)

    def _lose(self, name: str, reason: str, silent_s: float) -> None:
        is_at_work = name in self._sessions
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
