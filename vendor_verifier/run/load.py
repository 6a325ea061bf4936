"""Offers a load of a stated shape to each vendor entry, by the clock (open loop) or by places. It judges nothing.

In an open loop a play begins when it is due, whatever became of those before it; what it then waits for (a cap on
requests in flight, a budget, a busy process) is part of its time from schedule, so that a vendor that stalls cannot
hide it by slowing the questions down ("coordinated omission"). Further turns and retries follow from their own play.
Every entry goes at its own pace: no vendor waits for another one, unless only so many vendors may be in flight at once.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio

from vendor_verifier.records.plan import Plan
from vendor_verifier.records.record import Record
from vendor_verifier.run.conversation import Conversation
from vendor_verifier.run.engine import Emit, Slots, make_record
from vendor_verifier.run.load_lane import Lane, Start, due_times, lanes_of, opening_times
from vendor_verifier.run.work_queue import DueAt, WorkItem, WorkQueue

EntryKey = tuple[str, str]

# Plays of one entry that may wait beyond its places. Further ones are begun when one of these gets its turn: they begin
# no later for it, and a rate that is too high fills neither memory nor the event loop.
MOST_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The load offered to one entry.

    ``begun`` plays count, in ``repetitions`` of the samples; warm-up was thrown away. ``held_back`` of
    them found ``cap`` others in flight when they were due. Lags are from due to sent without the time to connect;
    ``None`` in a closed loop.
    """

    begun: int
    repetitions: int
    most_under_way: int
    cap: int
    held_back: int = 0
    warmup: int = 0
    warmup_failed: int = 0
    lag_p50_ms: float | None = None
    lag_p99_ms: float | None = None
    lag_max_ms: float | None = None


class Player(Protocol):
    """Whoever makes the records of plays, here or in other processes.

    ``lead_ns``: a play is handed over so long before it is due. ``hand`` gives what to wait for; ``None`` comes of it
    when the run takes nothing new.
    """

    lead_ns: int

    def clock_ns(self) -> int: ...

    def hand(self, item: WorkItem, block: int, due: DueAt | None) -> Awaitable[Record | None]: ...


class LocalPlayer:
    """Makes records in this process, each when it is waited for."""

    lead_ns = 0

    def __init__(self, conversation: Conversation, run: str) -> None:
        self._conversation = conversation
        self._run = run

    def clock_ns(self) -> int:
        return self._conversation.clock_ns()

    def hand(self, item: WorkItem, block: int, due: DueAt | None) -> Awaitable[Record | None]:
        return make_record(item, block, self._conversation, self._run, due)


class Load:
    """The shaped load of one execution. ``block`` is how many plays of a vendor make a block of its records."""

    def __init__(self, plan: Plan, emit: Emit, block: int) -> None:
        self._plan = plan
        self._emit = emit
        self._block = block
        self._over = anyio.Event()
        self._under_way: Counter[str] = Counter()
        self._held_back: Counter[EntryKey] = Counter()
        self._lags: dict[EntryKey, array[float]] = {}
        self._turns: Mapping[EntryKey, tuple[int, int]] = {}

    def close(self) -> None:
        """Start nothing more; what is in flight goes on."""
        self._over.set()

    def closing(self, close: Callable[[], None]) -> Callable[[], None]:
        """A function that calls ``close`` and closes this load."""

        def both() -> None:
            close()
            self.close()

        return both

    async def offer(self, queue: WorkQueue, player: Player, slots: Slots) -> Mapping[EntryKey, LoadReport]:
        """Offer what is left of ``queue`` to its entries; the load offered to each."""
        lanes = list(lanes_of(queue, self._plan.load, self._plan.seed))
        self._turns = self._turns_of(lanes)
        async with anyio.create_task_group() as group:
            for place, lane in enumerate(lanes):
                group.start_soon(self._run_lane, lane, player, slots, place / len(lanes))
        return {_key(lane): self._report(lane) for lane in lanes}

    def _turns_of(self, lanes: Sequence[Lane]) -> dict[EntryKey, tuple[int, int]]:
        """Each lane's position among the lanes of its account that run at the same time, and their number."""
        found = {}
        sharing = Counter(lane.entry.account for lane in lanes)
        seen: Counter[str] = Counter()
        for lane in lanes:
            account = lane.entry.account
            turns = min(sharing[account], self._plan.vendor_concurrency or len(lanes))
            found[_key(lane)] = (seen[account] % turns, turns)
            seen[account] += 1
        return found

    async def _run_lane(self, lane: Lane, player: Player, slots: Slots, phase: float) -> None:
        """Offer one lane; ``phase`` (0..1) spreads vendors asked at one rate over the time between two requests."""
        async with slots:
            if self._plan.load.is_open:
                rate = self._plan.load.request_rate
                await self._by_clock(lane, player, phase / rate if rate else 0.0)
            else:
                await self._by_places(lane, player)

    async def _by_clock(self, lane: Lane, player: Player, shift_s: float) -> None:
        # The first is handed over ahead of its time, too.
        zero_ns = player.clock_ns() + player.lead_ns + int(shift_s * 1e9)
        room = anyio.Semaphore(self._cap(lane) + MOST_WAITING)

        async def play(start: Start, due: DueAt) -> None:
            try:
                await self._play(lane, start, player, due)
            finally:
                room.release()

        async with anyio.create_task_group() as group:
            for due_s in due_times(self._plan.load, self._plan.seed):
                if lane.is_over_at(due_s):
                    return
                due_ns = zero_ns + int(due_s * 1e9)
                if not lane.is_stopped:
                    await self._wait_until(due_ns - player.lead_ns, player)
                # Also lets the others run, when many are due at once or none has to be waited for.
                is_full = room.value == 0
                await room.acquire()
                taken_ns = player.clock_ns() if is_full else due_ns
                start = None if self._over.is_set() else lane.next(due_s)
                if start is None:
                    return
                group.start_soon(play, start, DueAt(due_ns, due_s, max(due_ns, taken_ns)))

    async def _by_places(self, lane: Lane, player: Player) -> None:
        zero_ns = player.clock_ns()
        places = self._cap(lane)

        async def place(opens_s: float) -> None:
            await self._wait_until(zero_ns + int(opens_s * 1e9), player)
            while not self._over.is_set() and (start := lane.next(time.perf_counter())) is not None:
                await self._play(lane, start, player, None)

        async with anyio.create_task_group() as group:
            for opens_s in opening_times(places, self._plan.load.ramp_up_s, *self._turns[_key(lane)]):
                group.start_soon(place, opens_s)

    async def _wait_until(self, due_ns: int, player: Player) -> None:
        """Wait until then, or until the run closes. Timers may go off early, and nothing may be sent before its
        time."""
        while not self._over.is_set() and (left_ns := due_ns - player.clock_ns()) > 0:
            with anyio.move_on_after(left_ns / 1e9):
                await self._over.wait()

    async def _play(self, lane: Lane, start: Start, player: Player, due: DueAt | None) -> Record | None:
        account = lane.entry.account
        playing = player.hand(start.item, start.number // self._block, due)
        if due is not None:
            await self._wait_until(due.due_ns, player)
        is_held = due is not None and self._under_way[account] >= self._cap(lane)
        self._under_way[account] += 1
        lane.sent()
        record: Record | None = None
        try:
            record = await playing
        finally:
            self._under_way[account] -= 1
            lane.ended(start, record)
        if record is None:
            self.close()
        elif start.stage == "counted":
            self._held_back[_key(lane)] += is_held
            lag = lag_ms(record)
            if lag is not None:
                self._lags.setdefault(_key(lane), array("d")).append(lag)
            self._emit((record,))
        return record

    def _cap(self, lane: Lane) -> int:
        return lane.entry.concurrency or self._plan.request_concurrency

    def _report(self, lane: Lane) -> LoadReport:
        lags = sorted(self._lags.get(_key(lane), ()))
        return LoadReport(
            begun=lane.begun,
            repetitions=lane.repetitions,
            most_under_way=lane.most_under_way,
            cap=self._cap(lane),
            held_back=self._held_back[_key(lane)],
            warmup=lane.discarded["warmup"],
            warmup_failed=lane.discarded_failed["warmup"],
            lag_p50_ms=percentile(lags, 50) if lags else None,
            lag_p99_ms=percentile(lags, 99) if lags else None,
            lag_max_ms=lags[-1] if lags else None,
        )


def _key(lane: Lane) -> EntryKey:
    return (lane.entry.model, lane.entry.label)


def lag_ms(record: Record) -> float | None:
    """First attempt sent − due − time to connect; None where it was not sent, or not due at a moment."""
    if record.offered_s is None or not record.turns or not record.turns[0].attempts:
        return None
    first = record.turns[0].attempts[0].timing
    if first is None or first.scheduled_ns is None:
        return None
    return (-first.scheduled_ns - (first.connect_ns or 0)) / 1e6


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The percentile (0–100) of ascending numbers, linear between closest ranks (Hyndman–Fan type 7)."""
    position = (len(ordered) - 1) * percent / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
