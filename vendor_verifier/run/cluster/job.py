"""The values and messages between coordinator and workers: job, blocks, reports; without keys or expanded headers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from msgspec import structs

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.sample import Sample
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.event_loop_lag import LoopReport
from vendor_verifier.run.work_queue import DueAt, WorkItem


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a worker needs of a run besides its blocks.

    ``execution`` is the run's name with something of its own: a run that is resumed at once must not meet what is left
    of the execution before. ``plan`` holds no samples and entries without keys. ``suite_options`` are by suite. The
    paths are where the coordinator read its files; a worker that has the same files uses them, any other reads its
    environment only.
    """

    run: str
    execution: str
    plan: Plan
    suite_options: Mapping[str, Mapping[str, Any]]
    config_file: Path
    env_file: Path | None = None
    vendor_paths: tuple[Path, ...] = ()
    tokenizer_model: str | None = None


@dataclass(frozen=True, slots=True)
class BlockItem:
    """One record to be made, by positions in the job's entries and in the block's samples."""

    entry: int
    suite: str
    sample: int
    repetition: int
    total_s: float | None


@dataclass(frozen=True, slots=True)
class Block:
    """Some of one entry's work, as it is sent to a session.

    ``due`` is when its only item is to begin, on the clock of the machine that does it.
    """

    number: int
    samples: tuple[Sample, ...]
    items: tuple[BlockItem, ...]
    due: DueAt | None = None


@dataclass(frozen=True, slots=True)
class Hello:
    """A worker's introduction before it is used. ``wall_ns`` is its wall clock, to measure skew by.

    ``missing`` names variables that hold no value there, ``problem`` is why it cannot work at all.
    """

    identity: str
    name: str
    host: str
    version: str
    python: str
    distributed: str
    region: str | None
    wall_ns: int
    missing: tuple[str, ...] = ()
    problem: str | None = None


class Bench(Protocol):
    """A worker's side of a job, made there from its own files and environment."""

    @property
    def plan(self) -> Plan:
        """The job's plan with this machine's keys in its entries."""

    @property
    def scrubber(self) -> Scrubber: ...

    @property
    def region(self) -> str | None: ...

    def items(self, block: Block) -> Sequence[WorkItem]:
        """The block's work with its vendors, wires and suites."""


OpenBench = Callable[[Job], Bench]


@dataclass(frozen=True, slots=True)
class ClusterSide:
    """The functions of higher layers that run on a worker; all are importable there by name.

    ``hello`` takes the job and the worker's identity and name, ``open_here`` a job with its keys and their scrubber.
    """

    open_bench: OpenBench
    open_here: Callable[[Job, Scrubber], Bench]
    hello: Callable[[Job, str, str], Hello]


def without_secrets(entry: Entry) -> Entry:
    """The entry as it may be sent: a worker puts in its own key and fills in the headers' templates."""
    headers = {name: text for name, text in entry.endpoint.headers.items() if name not in entry.header_templates}
    return structs.replace(entry, endpoint=replace(entry.endpoint, key=None, headers=headers))


def travelling(plan: Plan) -> Plan:
    """The plan as it may be sent: without samples and secrets."""
    return structs.replace(plan, entries=tuple(without_secrets(entry) for entry in plan.entries), tasks=())


def pack(number: int, items: Sequence[WorkItem], entries: Sequence[Entry], due: DueAt | None = None) -> Block:
    """Work items as references into ``entries`` and the block's own samples."""
    entry_places = {(entry.model, entry.label): place for place, entry in enumerate(entries)}
    samples: dict[tuple[str, str], Sample] = {}
    for item in items:
        samples.setdefault((item.suite.name, item.sample.id), item.sample)
    places = {key: place for place, key in enumerate(samples)}
    return Block(
        number,
        tuple(samples.values()),
        tuple(
            BlockItem(
                entry_places[(item.target.entry.model, item.target.entry.label)],
                item.suite.name,
                places[(item.suite.name, item.sample.id)],
                item.repetition,
                item.total_s,
            )
            for item in items
        ),
        due,
    )


Message = dict[str, list[Any]]

# A session says so often what its clock shows.
BEAT_S = 1.0
# A permit is used while the last such word that the lease server is known to have heard is younger than this.
PERMIT_LIFE_S = 3.0


def longest_attempt_s(plan: Plan) -> float:
    """The most seconds one attempt of the plan may take, connecting included."""
    own = [task.timeout_s for task in plan.tasks if task.timeout_s is not None]
    return max([plan.limits.total_s, *own]) + plan.limits.connect_s


# From one write to the next: a write costs as much CPU as a third of a request, and a place that is free for so much
# longer is nothing against any answer of a vendor. A side that writes seldom does not wait.
LINGER_S = 0.004


# What the coordinator is told can wait longer: a message costs it as much as ten records, and every entry has more
# handed out than its places need.
NEWS_LINGER_S = 0.025


def linger_of(plan: Plan, linger_s: float = LINGER_S) -> float:
    """Seconds from one write to the next: none where requests are due at moments, which a message must not blur."""
    return 0.0 if plan.load.is_open else linger_s


class ChannelClosed(Exception):
    """Raised when the other side is gone."""


class Channel(Protocol):
    """Two-way messages, in order."""

    async def read(self) -> Message:
        """The next message. Raises ChannelClosed."""

    async def write(self, message: Message) -> None:
        """Send one message. Raises ChannelClosed."""

    def abort(self) -> None:
        """Give the connection up at once."""


class Outbox:
    """One side's outgoing messages. ``send`` never waits; :meth:`run` writes until the channel closes."""

    def __init__(self, channel: Channel, linger_s: float = LINGER_S) -> None:
        self._channel = channel
        self._linger_s = linger_s
        self._next_at = 0.0
        self._pending: Message = {}
        self._after: list[Callable[[], None]] = []
        self._has_some = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.closed = False

    def send(self, kind: str, *items: Any) -> None:
        """Queue ``items`` of one kind, behind those queued before of the same kind."""
        if self.closed:
            return
        self._pending.setdefault(kind, []).extend(items)
        self._is_idle.clear()
        self._has_some.set()

    def then(self, act: Callable[[], None]) -> None:
        """Have ``act`` called when what is queued now has been written; never if it cannot be."""
        self._after.append(act)

    async def run(self) -> None:
        """Write what is queued until the channel closes."""
        try:
            while True:
                await self._has_some.wait()
                if (early_s := self._next_at - time.monotonic()) > 0:
                    await asyncio.sleep(early_s)
                self._next_at = time.monotonic() + self._linger_s
                self._has_some.clear()
                message, self._pending = self._pending, {}
                acts, self._after = self._after, []
                await self._channel.write(message)
                for act in acts:
                    act()
                if not self._pending:
                    self._is_idle.set()
        except ChannelClosed:
            pass
        finally:
            self.closed = True
            self._is_idle.set()

    async def drain(self) -> None:
        """Wait until everything queued is written, or cannot be any more."""
        await self._is_idle.wait()


@dataclass(frozen=True, slots=True)
class SessionReport:
    """One session's records, the CPU seconds of its process meanwhile, and the lag of its event loop."""

    records: int
    cpu_s: float
    event_loop: LoopReport


def worst_loop(reports: Iterable[SessionReport]) -> LoopReport | None:
    """One report for the run: the loop of the latest session, the fullest core of any, the stalls of all."""
    loops = [report.event_loop for report in reports]
    if not loops:
        return None
    worst = max(loops, key=lambda loop: (loop.p99_ms is not None, loop.p99_ms or 0.0))
    shares = [loop.core_share for loop in loops if loop.core_share is not None]
    return replace(worst, core_share=max(shares, default=None), stalls=sum(loop.stalls for loop in loops))
