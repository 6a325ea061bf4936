"""A worker's part of a run: takes blocks, runs them with the same engine as everywhere, hands in rows in small batches.

It ends when the lease server says so or cannot be reached; what was in flight then is left without a record. Keys
are its own.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

import anyio
from anyio.abc import TaskGroup
from msgspec import structs

from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.budgets import Ask
from vendor_verifier.run.cluster.job import Bench, Block, Channel, ChannelClosed, Outbox, SessionReport, linger_of
from vendor_verifier.run.conversation import Conversation
from vendor_verifier.run.engine import Engine, make_record
from vendor_verifier.run.event_loop_lag import LoopLag
from vendor_verifier.run.fine_timer import FineTimer
from vendor_verifier.run.rate_limiter import Permit, places_of
from vendor_verifier.store import encode_record
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.connect import ensure_descriptors
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.values.record import Attempt, Record, Response

BEAT_S = 2.0


async def serve(channel: Channel, bench: Bench, run: str, worker: str) -> None:
    """Work for one run until the lease server ends it. ``worker`` goes into every record.

    Raises:
        UsageError: an SDK is asked for and a wire has none, or too few files may be opened.
    """
    plan = bench.plan
    # No machine can get more leases than all have together.
    ensure_descriptors(places_of(plan))
    async with open_client(plan.client, plan.limits, {entry.wire for entry in plan.entries}, plan.transport) as client:
        outbox = Outbox(channel, linger_of(plan))
        limiter = RemoteLimiter(plan, outbox)
        rng = random.Random(f"{plan.seed} {worker}")  # noqa: S311 spreads waits, keeps no secret
        cpu_before_s = time.process_time()
        with LoopLag() as lag, FineTimer() as moments:
            conversation = Conversation(
                client, limiter, plan.retry, rng, bench.scrubber, KeyRing(bench.scrubber), lag=lag
            )
            session = _Session(channel, outbox, limiter, conversation, bench, run, worker, moments)

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
        moments: FineTimer,
    ) -> None:
        self._channel = channel
        self._outbox = outbox
        self._limiter = limiter
        self._conversation = conversation
        self._bench = bench
        self._run = run
        self._worker = worker
        self._moments = moments
        self.records = 0

    async def run(self, report: Callable[[], SessionReport]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._outbox.run)
            group.start_soon(self._beat)
            async with anyio.create_task_group() as blocks:
                await self._listen(blocks)
                self._limiter.close()
                blocks.cancel_scope.cancel()
            # Rows of what was finished still go out, if anybody is there to take them.
            self._outbox.send("report", asdict(report()))
            with anyio.move_on_after(BEAT_S):
                await self._outbox.drain()
            group.cancel_scope.cancel()

    async def _listen(self, blocks: TaskGroup) -> None:
        """Do as the lease server's messages say until ``finish``, or until it is gone."""
        while True:
            try:
                message = await self._channel.read()
            except ChannelClosed:
                return
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
                self._outbox.send("rows", [dispatch, self._bench.scrubber.bytes(encode_record(placed))])
            self.records += len(records)

        items = self._bench.items(block)
        if block.due is None:
            await Engine(self._conversation, self._run, emit).make(items, block.number)
        else:
            await self._moments.until(block.due[0])
            record = await make_record(items[0], block.number, self._conversation, self._run, block.due)
            emit(() if record is None else (record,))
        self._outbox.send("ended", dispatch)

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(BEAT_S)
            self._outbox.send("beat", True)


class RemoteLimiter:
    """A limiter that asks the lease server for permits. Entries are named by their position in the plan."""

    def __init__(self, plan: Plan, outbox: Outbox) -> None:
        self._places = {(entry.model, entry.label): place for place, entry in enumerate(plan.entries)}
        self._outbox = outbox
        self._tells_all = plan.max_cost_usd is not None
        self._counted = {entry.account for entry in plan.entries if entry.tokens_per_minute is not None}
        self._waiting: dict[int, asyncio.Future[Permit]] = {}
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
        answer: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        if entry.account not in self._counted:
            self._outbox.send("acquire", [self._place(entry), number])
            return await answer
        self._numbers[ask] = number
        self._outbox.send("acquire", [self._place(entry), number, ask.size, ask.most_tokens])
        permit = await answer
        if permit != "granted":
            del self._numbers[ask]
        return permit

    def release(self, entry: Entry) -> None:
        self._outbox.send("release", self._place(entry))

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

    def answer(self, permits: Sequence[tuple[int, int, Permit]]) -> None:
        """Wake the requests that permits came for; a permit whose request was cancelled goes straight back."""
        for place, number, permit in permits:
            future = self._waiting.pop(number, None)
            if future is not None and not future.done():
                future.set_result(permit)
            elif permit == "granted":
                self._outbox.send("release", place)

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
        for future in self._waiting.values():
            if not future.done():
                future.set_result("closed")
        self._waiting.clear()

    def _place(self, entry: Entry) -> int:
        return self._places[(entry.model, entry.label)]

    def _shortened(self, attempt: Attempt) -> Attempt:
        """The attempt as pacing needs it: failure and usage; its words only when somebody counts the cost."""
        if self._tells_all:
            return attempt
        response = attempt.response
        return structs.replace(attempt, timing=None, response=response and Response(usage=response.usage))
