"""What more workers bring, on a clock that jumps: simulated workers over the real coordinator, gate and messages."""

from __future__ import annotations

import asyncio
import itertools
import pickle
from pathlib import Path
from unittest.mock import patch

import jumping_loop
import pytest
from asking import kept_in

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.cluster.coordinator import Coordinator, block_size
from vendor_verifier.run.cluster.job import NEWS_LINGER_S, Block, Job, Message, Outbox
from vendor_verifier.run.cluster.lease_server import LeaseServer
from vendor_verifier.run.conversation import Target
from vendor_verifier.run.local_run import Work
from vendor_verifier.run.work_queue import Part, WorkQueue
from vendor_verifier.store import encode_record
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat

SAMPLES, PLACES = 3000, 300
# A worker's core has so much to do for one request, and the server sleeps so long.
CORE_S, SERVER_S = 0.01, 0.5
ENTRIES = tuple(
    Entry("model", label, "plain", Endpoint("http://127.0.0.1", "m"), "openai", label, concurrency=PLACES)
    for label in ("a", "b")
)


class Pipe:
    """One side of a channel in memory."""

    def __init__(self) -> None:
        self.inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.other = self

    async def read(self) -> Message:
        return await self.inbox.get()

    async def write(self, message: Message) -> None:
        self.other.inbox.put_nowait(message)

    def abort(self) -> None:
        """Nothing to give up."""


def pipes() -> tuple[Pipe, Pipe]:
    ours, theirs = Pipe(), Pipe()
    ours.other, theirs.other = theirs, ours
    return ours, theirs


class Worker:
    """A session whose engine is one core that one request after the other has for ``CORE_S``."""

    def __init__(self, channel: Pipe, group: asyncio.TaskGroup) -> None:
        self._channel, self._group = channel, group
        self._outbox = Outbox(channel)
        self._core = asyncio.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        group.create_task(self._outbox.run())
        group.create_task(self._listen())

    async def _listen(self) -> None:
        while True:
            message = await self._channel.read()
            for _, number, _ in message.get("permit", ()):
                self._waiting.pop(number).set_result(None)
            for dispatch, data in message.get("blocks", ()):
                self._group.create_task(self._block(dispatch, pickle.loads(data)))

    async def _block(self, dispatch: int, block: Block) -> None:
        async with asyncio.TaskGroup() as group:
            for item in block.items:
                sample = block.samples[item.sample].id
                record = Record("run", "model", ENTRIES[item.entry].label, "plain", item.suite, sample, 0)
                group.create_task(self._play(dispatch, item.entry, record))
        self._outbox.send("ended", dispatch)

    async def _play(self, dispatch: int, place: int, record: Record) -> None:
        number = next(self._numbers)
        self._waiting[number] = permit = asyncio.get_running_loop().create_future()
        self._outbox.send("acquire", [place, number])
        await permit
        self._outbox.send("took", number)
        async with self._core:
            await asyncio.sleep(CORE_S)
        await asyncio.sleep(SERVER_S)
        self._outbox.send("release", number)
        self._outbox.send("fine", place)
        self._outbox.send("rows", [dispatch, encode_record(record)])


async def took_s(workers: int) -> float:
    """Seconds, by the loop's clock, until every record is there."""
    samples = [Sample(f"{number:05}-1", Turn(({"role": "user", "content": "?"},))) for number in range(SAMPLES)]
    targets = [Target(entry, OpenAICompatible(), OpenAIChat()) for entry in ENTRIES]
    queue = WorkQueue(targets, [Part(TriggerSuite(), listed(samples))], [1, 1])
    kept: list[Record] = []
    plan = Plan(ENTRIES, ())
    work = Work(plan, queue, Job("run", "run", plan, {}, Path("c.yaml")), kept_in(kept), kept.append, Scrubber(()))
    lease_server = LeaseServer(plan)
    coordinator = Coordinator(
        work, block_size(queue, workers), lambda kind, *items: lease_server.order({kind: [*items]})
    )
    loop = asyncio.get_running_loop()

    async def serve(name: str, channel: Pipe) -> None:
        while True:
            lease_server.receive(name, await channel.read())

    async def coordinate(channel: Pipe) -> None:
        while not coordinator.is_finished:
            coordinator.receive(await channel.read())
        raise asyncio.CancelledError

    try:
        async with asyncio.TaskGroup() as group:
            ours, theirs = pipes()
            news = Outbox(ours, NEWS_LINGER_S)
            group.create_task(news.run())
            lease_server.attend(news.send)
            for number in range(workers):
                here, there = pipes()
                outbox = Outbox(here)
                group.create_task(outbox.run())
                lease_server.join(f"w{number}", f"w{number}", outbox.send)
                group.create_task(serve(f"w{number}", here))
                Worker(there, group)
            began_s = loop.time()
            await coordinate(theirs)
    except asyncio.CancelledError:
        assert len({record.key for record in kept}) == len(kept) == 2 * SAMPLES
    return loop.time() - began_s


@pytest.mark.slow  # thousands of requests, three times
def test_twice_the_workers_send_twice_as_fast_while_they_are_what_is_waited_for() -> None:
    """One, two and four workers of a core each, against a server that sleeps: nothing between them waits."""
    # Nothing here goes through a socket.
    with patch.object(jumping_loop, "_GRACE_S", 0):
        one, two, four = (jumping_loop.run_jumping(took_s(workers)) for workers in (1, 2, 4))
    assert one / two > 1.8
    assert one / four > 3.4
