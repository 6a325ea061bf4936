"""A worker's part of a run: takes blocks, runs them with the same engine as everywhere, hands in rows in small batches.

It ends when the lease server says so or cannot be reached; what was in flight then is left without a record. Keys
are its own.
"""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Callable, Sequence

import anyio
from anyio.abc import TaskGroup
from msgspec import structs

from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.cluster.job import Bench, Block, Channel, ChannelClosed, Outbox, SessionReport
from vendor_verifier.run.cluster.remote_limiter import RemoteLimiter
from vendor_verifier.run.conversation import Conversation
from vendor_verifier.run.engine import Engine
from vendor_verifier.run.event_loop_lag import LoopLag
from vendor_verifier.run.rate_limiter import LocalLimiter
from vendor_verifier.store import encode_record
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.connect import ensure_descriptors
from vendor_verifier.values.record import Record

BEAT_S = 2.0


async def serve(channel: Channel, bench: Bench, run: str, worker: str) -> None:
    """Work for one run until the lease server ends it. ``worker`` goes into every record.

    Raises:
        UsageError: an SDK is asked for and not installed here, or too few files may be opened.
    """
    plan = bench.plan
    # No machine can get more leases than all have together.
    ensure_descriptors(LocalLimiter(plan.entries, plan.request_concurrency).places)
    async with open_client(plan.client, plan.limits, {entry.wire for entry in plan.entries}, plan.transport) as client:
        outbox = Outbox(channel)
        limiter = RemoteLimiter(plan, outbox)
        rng = random.Random(f"{plan.seed} {worker}")  # noqa: S311 spreads waits, keeps no secret
        cpu_before_s = time.process_time()
        with LoopLag() as lag:
            conversation = Conversation(
                client, limiter, plan.retry, rng, bench.scrubber, KeyRing(bench.scrubber), lag=lag
            )
            session = _Session(channel, outbox, limiter, conversation, bench, run, worker)

            def report() -> SessionReport:
                return SessionReport(session.records, time.process_time() - cpu_before_s, lag.report())

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
            # Rows of what was finished still go out, if anybody is there to take them.
            self._outbox.send("report", report().told())
            with anyio.move_on_after(BEAT_S):
                await self._outbox.drain()
            group.cancel_scope.cancel()

    async def _listen(self, blocks: TaskGroup) -> None:
        """Do as the lease server says until it says ``finish`` or is gone."""
        while True:
            try:
                message = await self._channel.read()
            except ChannelClosed:
                return
            if "permit" in message:
                self._limiter.answer(message["permit"])
            if "permit_counted" in message:
                self._limiter.answer_counted(message["permit_counted"])
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

        await Engine(self._conversation, self._run, emit).make(self._bench.items(block), block.number)
        self._outbox.send("ended", dispatch)

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(BEAT_S)
            self._outbox.send("beat", True)
