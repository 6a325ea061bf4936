"""Offers a load of a stated shape to each vendor entry, by the clock (open loop) or by slots. It judges nothing.

In an open loop a play begins when it is due, whatever became of those before it; what it then waits for is part of its
time from schedule, so that a vendor that stalls cannot hide it by slowing the questions down ("coordinated omission").
The samples of a warm-up are taken from the end of the order, so that no counted question was just asked.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, count, repeat
from typing import NamedTuple

import anyio

from vendor_verifier.records.manifest import LoadReport
from vendor_verifier.records.plan import Entry, LoadShape, Plan, Price
from vendor_verifier.records.record import Record
from vendor_verifier.run.conversation import Conversation, Due, Emit
from vendor_verifier.run.limits import Limiter, Name
from vendor_verifier.run.queue import BLOCK, WorkItem, WorkQueue

# Plays of one entry that may wait beyond its places, so that a rate that is too high fills neither memory nor the loop.
MOST_WAITING = 10_000


@dataclass(slots=True, eq=False)
class _Lane:
    """One entry's plays. ``items`` are in asking order, those ``aside`` are for the warm-up."""

    entry: Entry
    limiter: Limiter
    shape: LoadShape
    left: float
    items: Iterator[WorkItem]
    aside: Iterator[WorkItem]
    report: LoadReport
    lags: array[float] = field(default_factory=lambda: array("d"))
    ends_s: float | None = None

    @property
    def is_stopped(self) -> bool:
        return self.limiter.is_stopped(self.entry)

    @property
    def is_warming(self) -> bool:
        return self.report.warmup < self.shape.warmup and not self.is_stopped

    def goes_on(self, now_s: float) -> bool:
        """Whether a play may begin at ``now_s`` (seconds on any clock); the first counted one begins the duration."""
        if self.is_warming:
            return True
        if self.ends_s is None:
            self.ends_s = now_s + (math.inf if self.shape.duration_s is None else self.shape.duration_s)
        # One record says that the entry was stopped, even where the warm-up stopped it.
        is_idle = self.is_stopped and self.shape.is_timed and self.report.begun > 0
        return now_s < self.ends_s and self.report.begun < self.left and not is_idle

    def draw(self) -> tuple[WorkItem, int | None]:
        """The next play, with its number; None for one of the warm-up."""
        if self.is_warming:
            self.report.warmup += 1
            return next(self.aside), None
        self.report.begun += 1
        return next(self.items), self.report.begun - 1

    def end(self) -> LoadReport:
        """The report, with the lag that 99 % of the plays do not exceed."""
        if self.lags:
            self.report.lag_p99_ms = sorted(self.lags)[math.ceil(0.99 * len(self.lags)) - 1]
        return self.report


class Load:
    """The shaped load of one execution."""

    def __init__(self, plan: Plan, queue: WorkQueue, conversation: Conversation, emit: Emit) -> None:
        self._plan = plan
        self._emit = emit
        self._conversation = conversation
        self._over = conversation.limiter.closed
        self._under_way: Counter[str] = Counter()
        order = queue.order(plan.seed)
        self._lanes = [
            _Lane(
                target.entry,
                conversation.limiter,
                plan.load,
                left=math.inf if plan.load.is_timed else queue.left_of(place),
                items=queue.rounds_of(place, order, endless=plan.load.is_timed),
                aside=queue.rounds_of(place, order[::-1], endless=True),
                report=LoadReport(cap=target.entry.concurrency or plan.request_concurrency),
            )
            for place, target in enumerate(queue.targets)
            if queue.left_of(place)
        ]

    async def offer(self) -> Mapping[Name, LoadReport]:
        """Offer everything; the load offered to each entry."""
        slots = asyncio.Semaphore(self._plan.vendor_concurrency or max(1, len(self._lanes)))
        rate = self._plan.load.request_rate

        async def run(lane: _Lane, place: int) -> None:
            async with slots:
                if self._plan.load.is_open:
                    # Vendors asked at one rate are spread over the time between two requests.
                    await self._by_clock(lane, place / len(self._lanes) / rate if rate else 0.0)
                else:
                    await self._by_places(lane)

        async with asyncio.TaskGroup() as group:
            for place, lane in enumerate(self._lanes):
                group.create_task(run(lane, place))
        return {(lane.entry.model, lane.entry.label): lane.end() for lane in self._lanes}

    async def _by_clock(self, lane: _Lane, shift_s: float) -> None:
        zero_ns = time.perf_counter_ns() + int(shift_s * 1e9)
        room = asyncio.Semaphore(lane.report.cap + MOST_WAITING)
        async with asyncio.TaskGroup() as group:
            for due_s in due_times(self._plan.load, self._plan.seed):
                if not lane.goes_on(due_s):
                    return
                due_ns = zero_ns + int(due_s * 1e9)
                if not lane.is_stopped:
                    await self._wait_until(due_ns)
                await room.acquire()
                # Lets the others run, when many are due at once or none has to be waited for.
                await asyncio.sleep(0)
                if not lane.goes_on(due_s):
                    return
                playing = group.create_task(self._play(lane, *lane.draw(), Due(due_ns, due_s)))
                playing.add_done_callback(lambda _: room.release())
                if self._over.is_set():
                    # That one is not sent, and tells the limits that something was left.
                    return

    async def _by_places(self, lane: _Lane) -> None:
        zero_ns = time.perf_counter_ns()

        async def place(opens_s: float) -> None:
            await self._wait_until(zero_ns + int(opens_s * 1e9))
            while lane.goes_on(time.perf_counter()) and await self._play(lane, *lane.draw(), None):
                pass

        async with asyncio.TaskGroup() as group:
            for number in range(lane.report.cap):
                # The first opens at once, the last when the ramp is over.
                group.create_task(place(self._plan.load.ramp_up_s * number / max(1, lane.report.cap - 1)))

    async def _wait_until(self, due_ns: int) -> None:
        """Wait until then, or until the run closes. Timers may go off early, and nothing may be sent before its
        time."""
        while not self._over.is_set() and (left_ns := due_ns - time.perf_counter_ns()) > 0:
            with anyio.move_on_after(left_ns / 1e9):
                await self._over.wait()

    async def _play(self, lane: _Lane, item: WorkItem, number: int | None, due: Due | None) -> bool:
        """Make one record; False when the run takes nothing new."""
        account, report = lane.entry.account, lane.report
        is_held = due is not None and self._under_way[account] >= report.cap
        self._under_way[account] += 1
        try:
            record = await self._conversation.record(item, (number or 0) // BLOCK, due)
        finally:
            self._under_way[account] -= 1
        if record is None:
            report.begun -= number is not None
            report.warmup -= number is None
            # What was drawn for it is gone.
            lane.left = 0
            return False
        if number is None:
            report.warmup_failed += not record.succeeded
            return True
        report.repetitions = max(report.repetitions, item.repetition + 1)
        report.held_back += is_held
        if (lag := lag_ms(record)) is not None:
            lane.lags.append(lag)
        self._emit((record,))
        return True


def lag_ms(record: Record) -> float | None:
    """First attempt sent − due − time to connect; None where it was not sent, or not due at a moment."""
    if record.offered_s is None or not record.turns or not record.turns[0].attempts:
        return None
    first = record.turns[0].attempts[0].timing
    if first is None or first.scheduled_ns is None:
        return None
    return (-first.scheduled_ns - (first.connect_ns or 0)) / 1e6


def due_times(shape: LoadShape, seed: int) -> Iterator[float]:
    """When requests of an open loop are due, in order and without end.

    The same seed gives the same times, so that every vendor is offered the same load.
    """
    assert shape.request_rate is not None
    rate, ramp_s = shape.request_rate, shape.ramp_up_s
    units: Iterator[float] = iter(count())
    if shape.arrival == "poisson":
        rng = random.Random(f"arrivals {seed}")  # noqa: S311 a schedule, not a secret
        units = accumulate(rng.expovariate(1.0) for _ in repeat(None))
    return (moment_of(number, rate, ramp_s) for number in units)


def moment_of(units: float, rate: float, ramp_s: float) -> float:
    """The second by which ``units`` requests have been offered."""
    if units < rate * ramp_s / 2:
        return math.sqrt(2 * ramp_s * units / rate)
    return units / rate + ramp_s / 2


def offered(shape: LoadShape, until_s: float) -> float:
    """The number of requests of a rate that are expected to be offered by ``until_s``."""
    assert shape.request_rate is not None
    rate, ramp_s = shape.request_rate, shape.ramp_up_s
    return rate * until_s**2 / (2 * ramp_s) if until_s < ramp_s else rate * (until_s - ramp_s / 2)


class Work(NamedTuple):
    """The work of a session at one vendor: records due now (None: its speed decides), and done in earlier sessions."""

    due: int | None
    done: int
    price: Price | None = None
    warmup: int = 0


def work_of(plan: Plan, queue: WorkQueue) -> dict[Name, Work]:
    """The work of a plan by (model, label), given the ``queue`` of its entries."""
    work: dict[Name, Work] = {}
    for at, entry in enumerate(plan.entries):
        due = foreseen(plan.load, 0) if plan.load.is_timed else queue.left_of(at)
        work[entry.model, entry.label] = Work(due, queue.crossed_of(at), entry.price, plan.load.warmup)
    return work


def foreseen(load: LoadShape, planned: int) -> int | None:
    """The number of counted requests an entry will get: ``planned`` without a time limit, as many as are expected where
    they arrive at random, None where the vendor decides."""
    if not load.is_timed:
        return planned
    if load.request_rate is None or load.duration_s is None:
        return None
    first_s = moment_of(load.warmup, load.request_rate, load.ramp_up_s)
    return round(offered(load, first_s + load.duration_s) - load.warmup)
