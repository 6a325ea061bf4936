"""A worker's part of a run: takes blocks, runs them with the same engine as everywhere, hands in rows in small batches.

It ends when the lease server says so or cannot be reached; what was in flight then is left without a record. Keys
are its own.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import anyio
from anyio.abc import TaskGroup
from msgspec import structs

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import Attempt, Record, Response
from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.budgets import Ask
from vendor_verifier.run.cluster.job import (
    BEAT_S,
    PERMIT_LIFE_S,
    Bench,
    Block,
    Channel,
    ChannelClosed,
    Outbox,
    SessionReport,
    linger_of,
)
from vendor_verifier.run.conversation import Conversation
from vendor_verifier.run.engine import Engine, make_record
from vendor_verifier.run.event_loop_lag import LoopLag, Stall
from vendor_verifier.run.rate_limiter import Permit, places_of
from vendor_verifier.store import encode_record
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.connect import ensure_descriptors

# What was finished goes out within so many seconds, if anybody is there to take it.
_DRAIN_S = 2.0


async def serve(channel: Channel, bench: Bench, run: str, worker: str) -> None:
    """Work for one run until the lease server ends it. ``worker`` goes into every record.

    Raises:
        UsageError: an SDK is asked for and a wire has none, or too few files may be opened.
    """
    plan = bench.plan
    # No machine can get more leases than all have together.
    places = places_of(plan)
    ensure_descriptors(places)
    async with open_client(plan.client, plan.limits, {entry.wire for entry in plan.entries}) as client:
        outbox = Outbox(channel, linger_of(plan))
        limiter = RemoteLimiter(plan, outbox)
        rng = random.Random(f"{plan.seed} {worker}")  # noqa: S311 spreads waits, keeps no secret
        cpu_before_s = time.process_time()
        with LoopLag() as lag:
            conversation = Conversation(
                client,
                limiter,
                plan.retry,
                rng,
                bench.scrubber,
                KeyRing(bench.scrubber),
                lag=lag,
                streams=places,
            )
            session = _Session(channel, outbox, limiter, conversation, bench, run, worker)

            def report() -> SessionReport:
                return SessionReport(session.records, round(time.process_time() - cpu_before_s, 3), lag.report())

            await session.run(report)


class _Session:
    def __init__(
        self,
        channel: Channel,
        outbox: Outbox,
        limiter: RemoteLimiter,
        conversation: Conversation,
        bench: Bench,
        run: str,
        worker: str,
    ) -> None:
        self._channel = channel
        self._outbox = outbox
        self._limiter = limiter
        self._conversation = conversation
        self._bench = bench
        self._run = run
        self._worker = worker
        self.records = 0

    async def run(self, report: Callable[[], SessionReport]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._outbox.run)
            group.start_soon(self._beat)
            async with anyio.create_task_group() as blocks:
                await self._listen(blocks)
                self._limiter.close()
                blocks.cancel_scope.cancel()
            self._outbox.send("report", asdict(report()))
            with anyio.move_on_after(_DRAIN_S):
                await self._outbox.drain()
            group.cancel_scope.cancel()

    async def _listen(self, blocks: TaskGroup) -> None:
        """Do as the lease server's messages say until ``finish``, or until it is gone."""
        while True:
            try:
                message = await self._channel.read()
            except ChannelClosed:
                return
            for asked_ns in message.get("clock", ()):
                self._outbox.send("clock", [asked_ns, self._conversation.clock_ns()])
            if "beat" in message:
                self._limiter.heard(message["beat"][-1])
            for stalled_ns in message.get("stalled", ()):
                now_ns = self._conversation.clock_ns()
                self._conversation.permits.add(Stall(now_ns - stalled_ns, now_ns))
            if "permit" in message:
                self._limiter.answer(message["permit"])
            if "over" in message:
                self._limiter.over(message["over"])
            if "refused" in message:
                self._limiter.refused(message["refused"])
            if "closed" in message:
                self._limiter.close()
            for dispatch, data in message.get("blocks", ()):
                blocks.start_soon(self._run_block, dispatch, data)
            if "finish" in message:
                return

    async def _run_block(self, dispatch: int, data: bytes) -> None:
        block = pickle.loads(data)  # noqa: S301 the cluster's own channel carries code anyway
        assert isinstance(block, Block)

        def emit(records: Sequence[Record]) -> None:
            for record in records:
                placed = structs.replace(record, worker=self._worker, region=self._bench.region)
                line = encode_record(placed)
                self._outbox.send("rows", [dispatch, line])
            self.records += len(records)

        items = self._bench.items(block)
        if block.due is None:
            await Engine(self._conversation, self._run, emit).make(items, block.number)
        else:
            # Timers may go off early, and nothing may be sent before its time.
            while (left_ns := block.due.due_ns - time.perf_counter_ns()) > 0:
                await anyio.sleep(left_ns / 1e9)
            record = await make_record(items[0], block.number, self._conversation, self._run, block.due)
            emit(() if record is None else (record,))
        self._outbox.send("ended", dispatch)

    async def _beat(self) -> None:
        while True:
            self._outbox.send("beat", time.monotonic())
            await anyio.sleep(BEAT_S)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """One request that waits for a permit: the words it was ``wanted`` by, and what to wait for."""

    wanted: list[int | None]
    answer: asyncio.Future[Permit]


class RemoteLimiter:
    """A limiter that asks the lease server for permits. Entries are named by their position in the plan."""

    def __init__(self, plan: Plan, outbox: Outbox) -> None:
        self._places = {(entry.model, entry.label): place for place, entry in enumerate(plan.entries)}
        self._outbox = outbox
        self._tells_all = plan.max_cost_usd is not None
        self._counted = {entry.account for entry in plan.entries if entry.tokens_per_minute is not None}
        self._waiting: dict[int, _Waiting] = {}
        # By place of the entry, the numbers of permits in use.
        self._used: dict[int, deque[int]] = {place: deque() for place in self._places.values()}
        self._beat: float | None = None
        self._last_number = 0
        # The numbers of requests whose tokens are counted: how each ended is reported under its own.
        self._numbers: dict[Ask, int] = {}
        self._over = {name: asyncio.Event() for name in self._places}
        self._accounts = {(entry.model, entry.label): entry.account for entry in plan.entries}
        self._closed = False

    async def acquire(self, entry: Entry, ask: Ask) -> Permit:
        if self._closed:
            return "closed"
        self._last_number = number = self._last_number + 1
        wanted: list[int | None] = [self._place(entry), number]
        if entry.account in self._counted:
            self._numbers[ask] = number
            wanted += [ask.size, ask.most_tokens]
        waiting = self._waiting[number] = _Waiting(wanted, asyncio.get_running_loop().create_future())
        self._outbox.send("acquire", wanted)
        permit = await waiting.answer
        if permit != "granted":
            self._numbers.pop(ask, None)
        return permit

    def release(self, entry: Entry) -> None:
        # Of several the one that began first: then none is thought to be over before it is.
        self._outbox.send("release", self._used[self._place(entry)].popleft())

    async def rest(self, entry: Entry, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._over[entry.model, entry.label].wait()

    def pause(self, entry: Entry, seconds: float) -> None:
        self._outbox.send("pause", [self._place(entry), seconds])

    def stop(self, entry: Entry, reason: str) -> None:
        self._outbox.send("stop", [self._place(entry), reason])

    def attempt_ended(self, entry: Entry, attempt: Attempt, ask: Ask) -> None:
        number = self._numbers.pop(ask, None)
        if attempt.failure is None and number is None and not self._tells_all:
            self._outbox.send("fine", self._place(entry))
        else:
            packed = pickle.dumps(self._shortened(attempt))
            self._outbox.send("attempt", [self._place(entry), packed, ask.size, number])

    def turn_ended(self, entry: Entry, attempt: Attempt) -> None:
        # A turn's success follows from that of its last attempt.
        if attempt.failure is not None:
            self._outbox.send("turn", [self._place(entry), pickle.dumps(self._shortened(attempt))])

    def heard(self, beat: float) -> None:
        """Note the last word about our clock that the lease server had heard."""
        self._beat = beat

    def answer(self, permits: Sequence[tuple[int, int, Permit]]) -> None:
        """Wake the requests that permits came for, once the lease server was told that they are used."""
        granted = [(place, number) for place, number, permit in permits if permit == "granted"]
        for _, number, permit in permits:
            if permit != "granted":
                self._wake(number, permit)
        if granted:
            self._outbox.send("took", *(number for _, number in granted))
            beat = self._beat
            self._outbox.then(lambda: self._use(granted, beat))

    def _use(self, granted: Sequence[tuple[int, int]], beat: float | None) -> None:
        """Use permits that came when ``beat`` was the last word heard; those that are too old or wanted by nobody any
        more go back."""
        is_old = beat is not None and time.monotonic() - beat > PERMIT_LIFE_S
        for place, number in granted:
            waiting = self._waiting.get(number)
            if waiting is not None and not waiting.answer.done() and not is_old:
                self._used[place].append(number)
                self._wake(number, "granted")
                continue
            self._outbox.send("unused", number)
            if waiting is not None and not waiting.answer.done():
                self._outbox.send("acquire", waiting.wanted)
            else:
                self._waiting.pop(number, None)

    def _wake(self, number: int, permit: Permit) -> None:
        waiting = self._waiting.pop(number, None)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(permit)

    def over(self, accounts: Sequence[str]) -> None:
        """Wake those who rest before a retry on these accounts: nothing more will be sent there."""
        self.refused(name for name, account in self._accounts.items() if account in accounts)

    def refused(self, entries: Iterable[Sequence[str]]) -> None:
        """Wake those who rest before a retry of these entries, each as (model, label)."""
        for model, label in entries:
            self._over[model, label].set()

    def close(self) -> None:
        """Give no more permits: the lease server closed the run, or is gone."""
        self._closed = True
        self.refused(self._over)
        for number in list(self._waiting):
            self._wake(number, "closed")

    def _place(self, entry: Entry) -> int:
        return self._places[(entry.model, entry.label)]

    def _shortened(self, attempt: Attempt) -> Attempt:
        """The attempt as pacing needs it: failure and usage; its words only when somebody counts the cost."""
        if self._tells_all:
            return attempt
        response = attempt.response
        return structs.replace(attempt, timing=None, response=response and Response(usage=response.usage))
