"""The coordinator: hands every entry's blocks out at its own pace, and owns the truth about which records there are.

A record counts when its row has been kept; the first complete row of a key wins, a later one was paid for and is kept
aside. When a session is lost only the keys that are still missing go out again, under a new dispatch number. It opens
no connection and starts no worker.
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from vendor_verifier.errors import ClusterError
from vendor_verifier.records.record import Record, RecordKey
from vendor_verifier.run.cluster.job import Message, SessionReport, pack, worst_loop
from vendor_verifier.run.engine import is_skipped
from vendor_verifier.run.local_run import RunEnd, Work
from vendor_verifier.run.work_queue import BLOCK, Stream, WorkItem, WorkQueue, streams_of
from vendor_verifier.store import decode_record

# Blocks of each entry that a session has at once: one under way while the last requests of another end.
BLOCKS_PER_SESSION = 2
# In a short run a worker gets at least so many while there are samples: none idles, and no region is left out.
_BLOCKS_PER_WORKER = 4
# So many sessions in a row lost without one new record: it is the work that kills them.
MAX_FRUITLESS_LOSSES = 5


def block_size(queue: WorkQueue, workers: int) -> int:
    """Samples in a block."""
    return max(1, min(BLOCK, -(-queue.samples // (_BLOCKS_PER_WORKER * workers))))


@dataclass(slots=True)
class _Dispatch:
    """One block handed out: its session and the records still missing."""

    supply: Supply
    block: int
    session: str
    missing: dict[RecordKey, WorkItem]

    def arrived(self, key: RecordKey) -> None:
        """Expect this record no longer."""
        if self.missing.pop(key, None) is not None:
            self.supply.out[self.session] -= 1

    def end(self) -> None:
        """Expect nothing more."""
        self.supply.out[self.session] -= len(self.missing)


@dataclass(slots=True)
class Losses:
    """The sessions that were lost and what that cost. ``lost_s`` adds up the silence of lost sessions."""

    lost_sessions: list[dict[str, Any]] = field(default_factory=list)
    lost_s: float = 0.0
    issued_again: int = 0
    duplicates: int = 0


class Coordinator:
    """Keeps sessions busy until every record is there. ``order(kind, *items)`` sends a message to the lease server.

    ``reports`` are those of ended sessions, by name.
    """

    def __init__(self, work: Work, block: int, order: Callable[..., None]) -> None:
        plan = work.plan
        self._work = work
        self._queue = work.queue
        self._supplies = {supply.name: supply for supply in map(Supply, streams_of(work.queue, plan, block))}
        self._rota = Rota(self._supplies.values(), plan.vendor_concurrency)
        self._plays_of_sessions = BLOCKS_PER_SESSION * block * plan.repeat
        self._order = order
        self._sessions: dict[str, None] = {}
        self._dispatches: dict[int, _Dispatch] = {}
        self._issued = 0
        self._fruitless = 0
        self._closed = False
        self._winding_down = False
        self._news = asyncio.Event()
        self._cpu_before_s = time.process_time()
        self._cpu_s: float | None = None
        self.has_facts = asyncio.Event()
        self.facts: dict[str, Any] = {}
        self.reports: dict[str, SessionReport] = {}
        self.losses = Losses()
        self.failed: BaseException | None = None

    @property
    def sessions(self) -> int:
        """Sessions at work now."""
        return len(self._sessions)

    @property
    def way_on(self) -> str:
        """The advice for a run that broke off; a stretch of time cannot be resumed."""
        return "start a new run" if self._work.plan.load.plans_by_doing else "go on with --incremental"

    @property
    def is_finished(self) -> bool:
        """Whether nothing is in flight and nothing will be."""
        return not self._dispatches and (self._closed or not self._has_more())

    async def until_finished(self) -> None:
        """Wait for the last record, or after :meth:`close` for the last that was in flight.

        Raises:
            ClusterError: workers die of the work.
            StorageError: a record could not be kept.
        """
        while not self.is_finished and self.failed is None:
            self._news.clear()
            await self._news.wait()
        if self.failed is not None:
            raise self.failed

    def close(self) -> None:
        """Hand out nothing more, and have the lease server give no more permits."""
        self._closed = True
        self._order("close", True)
        self._news.set()

    def wind_down(self) -> list[str]:
        """Note that the run is over, so that sessions that end now are no loss; the names of those still working."""
        self._winding_down = True
        return list(self._sessions)

    def lose_all(self, reason: str) -> None:
        """Count every working session as lost, because nobody can be reached any more."""
        self.losses.lost_sessions += [{"session": name, "reason": reason} for name in self._sessions]
        self._sessions.clear()

    def run_end(self, signal_number: int | None) -> RunEnd:
        """The run's end, by the lease server's facts and the sessions' reports."""
        self._cpu_s = time.process_time() - self._cpu_before_s
        facts = self.facts
        return RunEnd(
            signal_number,
            dict(facts.get("stopped", {})),
            facts.get("limit"),
            {account: (given, low, now) for account, (given, low, now) in facts.get("eased", {}).items()},
            worst_loop(self.reports.values()),
            refused={(model, label): reason for model, label, reason in facts.get("refused", ())},
            lost=[lost["reason"] for lost in self.losses.lost_sessions],
            held=facts.get("held", 0),
        )

    def describe(self) -> dict[str, Any]:
        """The losses and the CPU that coordinating cost, for the manifest."""
        described = asdict(self.losses) | {"lost_s": round(self.losses.lost_s, 1)}
        return described if self._cpu_s is None else {**described, "coordinator_cpu_s": round(self._cpu_s, 3)}

    def fail(self, error: BaseException) -> None:
        """End the run with ``error``."""
        self.failed = self.failed or error
        self._news.set()

    def receive(self, message: Message) -> None:
        """Take a message of the lease server. Rows come first: what ended with them is complete then."""
        try:
            self._take_rows(message.get("rows", ()))
        except Exception as error:  # noqa: BLE001 whatever keeps a record from being kept ends the run, which reports it
            self.fail(error)
            return
        if "closed" in message:
            self._closed = True
        for name, report in message.get("report", ()):
            self.reports[name] = msgspec.convert(report, SessionReport)
        for facts in message.get("facts", ()):
            self.facts = dict(facts)
            self.has_facts.set()
        for name in message.get("joined", ()):
            self._sessions[name] = None
        for _, dispatch in message.get("ended", ()):
            self._end(dispatch)
        for name, reason, silent_s in message.get("left", ()):
            self._lose(name, reason, silent_s)
        self._hand_out()
        self._news.set()

    def _take_rows(self, rows: Iterable[tuple[str, int, bytes]]) -> None:
        """Keep the rows of one message together: a write costs as much as all else that a row asks for."""
        kept: list[Record] = []
        try:
            for _, dispatch, line in rows:
                record = decode_record(bytes(line))
                if self._keep(dispatch, record):
                    kept.append(record)
        finally:
            # Those before one that cannot be read were paid for, too.
            if kept:
                self._work.emit(kept)

    def _keep(self, dispatch: int, record: Record) -> bool:
        """Expect a record no longer; whether it is to be written."""
        if not self._queue.cross_off(record.key):
            self.losses.duplicates += 1
            self._work.emit_duplicate(record)
            return False
        self._fruitless = 0
        if is_skipped(record):
            self._supplies[record.model, record.label].is_stopped = True
        sent = self._dispatches.get(dispatch)
        # From a session that had been given up: the one asked in its place need not be waited for.
        for expecting in self._dispatches.values() if sent is None else (sent,):
            expecting.arrived(record.key)
        return True

    def _end(self, dispatch: int) -> None:
        sent = self._dispatches.pop(dispatch, None)
        if sent is not None:
            self._again(sent)

    def _lose(self, name: str, reason: str, silent_s: float) -> None:
        if name not in self._sessions:
            return
        del self._sessions[name]
        if self._winding_down:
            return
        self.losses.lost_sessions.append({"session": name, "reason": reason})
        self.losses.lost_s += silent_s
        self._fruitless += 1
        if self._fruitless >= MAX_FRUITLESS_LOSSES:
            self.fail(
                ClusterError(f"{self._fruitless} workers in a row were lost without one new record, last: {reason}")
            )
        for number in [number for number, sent in self._dispatches.items() if sent.session == name]:
            self._again(self._dispatches.pop(number))

    def _again(self, sent: _Dispatch) -> None:
        """Put what is still missing of a block first in line."""
        sent.end()
        missing = [item for key, item in sent.missing.items() if self._queue.awaits(key)]
        if missing and not self._closed:
            self.losses.issued_again += len(missing)
            sent.supply.again((sent.block, missing))

    def _hand_out(self) -> None:
        """Hand out blocks of every entry whose turn it is, until it has enough in flight."""
        if self._closed or not self._sessions:
            return
        enough = len(self._sessions) * self._plays_of_sessions
        hungry = [supply for supply in self._rota.open() if self._wants(supply, enough)]
        while hungry:
            for supply in hungry:
                self._send(supply)
            hungry = [supply for supply in self._rota.open() if self._wants(supply, enough)]

    def _wants(self, supply: Supply, enough: int) -> bool:
        return supply.all_out < max(enough, supply.plays) and supply.has_more()

    def _send(self, supply: Supply) -> None:
        """Send the entry's next block to the session that has least of it."""
        block, items = supply.take()
        missing = {key: item for item in items if self._queue.awaits(key := self._key(item))}
        if not missing:
            return
        name = min(self._sessions, key=lambda name: (supply.out[name], self._out_of(name)))
        supply.out[name] += len(missing)
        self._issued += 1
        self._dispatches[self._issued] = _Dispatch(supply, block, name, missing)
        packed = pickle.dumps(pack(block, list(missing.values()), self._work.plan.entries))
        self._order("blocks", [name, self._issued, packed])

    def _out_of(self, session: str) -> int:
        return sum(supply.out[session] for supply in self._supplies.values())

    def _has_more(self) -> bool:
        """Whether there is a block to hand out."""
        return any(supply.has_more() for supply in self._supplies.values())

    def _key(self, item: WorkItem) -> RecordKey:
        entry = item.target.entry
        return (self._work.job.run, entry.model, entry.label, item.suite.name, item.sample.id, item.repetition)


WorkBlock = tuple[int, Sequence[WorkItem]]


class Supply:
    """One entry's blocks. ``out`` counts by session the records still to come of the blocks handed out."""

    def __init__(self, stream: Stream) -> None:
        entry = stream.entry
        self.name = (entry.model, entry.label)
        self.plays = stream.plays
        self.plays_in_turn = stream.plays_in_turn
        self.out: Counter[str] = Counter()
        self.handed_in_turn = 0
        # Nothing more is sent to this entry: what is left of it comes back at once and needs no turn.
        self.is_stopped = False
        self._blocks = stream.blocks()
        # Blocks that are made: those that go out again, and no more than one that never did.
        self._ready: deque[WorkBlock] = deque()

    @property
    def all_out(self) -> int:
        """Records that are still to come, from all sessions."""
        return self.out.total()

    def has_more(self) -> bool:
        """Whether there is a block to hand out."""
        if not self._ready and (block := next(self._blocks, None)) is not None:
            self._ready.append(block)
        return bool(self._ready)

    def take(self) -> WorkBlock:
        """The next block; there must be one."""
        block = self._ready.popleft()
        self.handed_in_turn += len(block[1])
        return block

    def again(self, block: WorkBlock) -> None:
        """Put a block that came back undone first in line."""
        self._ready.appendleft(block)


class Rota:
    """The entries that may be handed blocks: all, or with a ``limit`` so many at a time.

    An entry gives its turn to the next when it has had so many plays and all of them have ended, or when it is through.
    """

    def __init__(self, supplies: Iterable[Supply], limit: int | None) -> None:
        self._waiting = deque(supplies)
        self._limit = len(self._waiting) if limit is None else limit
        self._running: list[Supply] = []

    def open(self) -> list[Supply]:
        """The entries that may be handed something now."""
        for supply in list(self._running):
            if self._is_due_to_leave(supply) and (supply.is_stopped or not supply.all_out):
                self._running.remove(supply)
                self._waiting.append(supply)
        for _ in range(len(self._waiting)):
            if len(self._running) >= self._limit:
                break
            supply = self._waiting.popleft()
            if supply.has_more() and not supply.is_stopped:
                supply.handed_in_turn = 0
                self._running.append(supply)
            else:
                self._waiting.append(supply)
        stopped = [supply for supply in self._waiting if supply.is_stopped and supply.has_more()]
        return [supply for supply in self._running if not self._is_due_to_leave(supply)] + stopped

    def _is_due_to_leave(self, supply: Supply) -> bool:
        if supply.is_stopped or not supply.has_more():
            return True
        is_wanted = any(other.has_more() and not other.is_stopped for other in self._waiting)
        return is_wanted and supply.handed_in_turn >= supply.plays_in_turn
