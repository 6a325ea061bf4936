"""Runs a plan in this process: keeps every entry's places full, emits records, and ends on a signal.

A task takes the next item of its entry when its last one has ended: a request that is never answered costs its own
place and nothing else. No vendor waits for another one, but for a baseline that is asked more often, whose second half
would else be asked alone, at another hour: no entry may begin a larger share of its samples than the baseline has,
unless the baseline fails again and again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vendor_verifier.records.manifest import LoadReport, LoopReport
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.request import ToolRunner
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.conversation import Conversation, Emit
from vendor_verifier.run.event_loop import LoopLag, interruptible
from vendor_verifier.run.limits import Limiter, places_of
from vendor_verifier.run.load import Load
from vendor_verifier.run.queue import BLOCK, WorkItem, WorkQueue
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.connect import ensure_descriptors

# The turns of a group, where not all entries may be asked at once. While the last requests of a turn end, places stay
# free. A short run has shorter turns: all should see about the same time of day.
_ROUNDS = 20
_LEAST_TURNS = 4
# Plays of an entry beyond twice its places: when one rests between two tries another takes its place.
_BEYOND = 25
# A baseline that failed this often in a row no longer sets the pace.
_FAILURES = 10


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: the signal that ended it, if any, and the stopped accounts with the reason. ``refused`` are
    entries stopped on their own, ``limit`` is the spending limit that kept something from being sent. ``eased`` holds
    by account the requests at a time that were allowed, the fewest because it limited our rate, and those at the end.
    ``loop`` is the event loop's lag and ``spent_usd`` what was counted against a limit, where this process sent itself;
    ``load`` the load that was offered, where it had a shape."""

    signal_number: int | None
    stopped: Mapping[str, str]
    limit: str | None = None
    eased: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    loop: LoopReport | None = None
    load: Mapping[tuple[str, str], LoadReport] | None = None
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)
    spent_usd: float | None = None


async def run_local(
    plan: Plan,
    queue: WorkQueue,
    run: str,
    emit: Emit,
    scrubber: Scrubber,
    tools: ToolRunner | None = None,
    spending: Spending | None = None,
) -> RunEnd:
    """Send what is left of ``queue``; ``tools`` runs the real tools that models call.

    A first SIGINT, SIGTERM or SIGHUP stops new requests and waits a little; a second ends at once.
    ``spending`` counts in place of a count made here, for a caller who looks at it meanwhile.

    Raises:
        UsageError: this machine does not let us open as many connections as the plan may need.
    """
    spending = spending or Spending(plan.max_requests, plan.max_cost_usd)
    limiter = Limiter(plan.entries, plan.request_concurrency, spending, gives_way=not plan.load.is_open)
    ensure_descriptors(sum(places_of(plan.entries, plan.request_concurrency).values()))
    rng = random.Random(plan.seed)  # noqa: S311 spreads waits, keeps no secret
    lag, load = LoopLag(), None
    async with open_client(plan.client, plan.limits, {entry.wire for entry in plan.entries}) as client:
        conversation = Conversation(client, limiter, plan.retry, rng, scrubber, run, lag, tools)
        async with interruptible(limiter.close) as interruption:
            with lag:
                if plan.load.is_shaped:
                    load = await Load(plan, queue, conversation, emit).offer()
                else:
                    await Engine(plan, queue, conversation, emit).ask()
    eased = {
        name: (account.backoff.given, account.backoff.lowest, account.backoff.now)
        for name, account in limiter.accounts.items()
        if account.backoff.lowest < account.backoff.given
    }
    return RunEnd(
        interruption.signal_number,
        limiter.stopped,
        spending.reason,
        eased,
        lag.report(),
        load,
        limiter.refused,
        spending.cost_usd,
    )


@dataclass(slots=True, eq=False)
class _Stream:
    """The items left of one entry, and how many have begun and ended. ``plays`` is how many go on at once, ``turn`` how
    many more may begin before it hands its slot over. ``lead`` is the baseline whose pace it keeps; ``phase``, from 0
    to 1, spreads entries that would else all go on at the same moments. ``moved`` is set, and replaced, when a play
    ends."""

    entry: Entry
    items: Iterator[tuple[int, WorkItem]]
    left: int
    repeats: int
    places: int
    plays: int
    turn: int = 0
    begun: int = 0
    ended: int = 0
    failed_in_a_row: int = 0
    is_over: bool = False
    lead: _Stream | None = None
    phase: float = 0.0
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep_pace(self) -> None:
        """Wait while the entry has begun a larger share of its items than its baseline, whose places count as begun."""
        lead = self.lead
        while lead is not None and not lead.is_over and lead.failed_in_a_row < _FAILURES:
            if self.begun < max(1, int((lead.ended + lead.places) / lead.left * self.left + self.phase)):
                return
            await lead.moved.wait()


class Engine:
    """Makes the records of one run; each is emitted the moment it is finished."""

    def __init__(self, plan: Plan, queue: WorkQueue, conversation: Conversation, emit: Emit) -> None:
        self._conversation = conversation
        self._emit = emit
        order = queue.order(plan.seed)
        self._streams: list[_Stream] = []
        for target, repeats in enumerate(queue.repeats):
            entry, items = queue.targets[target].entry, queue.items_of(target, order, plan.seed)
            places = entry.concurrency or plan.request_concurrency
            if left := queue.left_of(target):
                self._streams.append(_Stream(entry, items, left, repeats, places, min(left, 2 * places + _BEYOND)))
        random.Random(plan.seed).shuffle(self._streams)  # noqa: S311 an order, not a secret
        self._most = min(plan.vendor_concurrency or len(self._streams), len(self._streams))

    async def ask(self) -> None:
        """Make every record."""
        # asyncio's own groups: a task of anyio's costs three times as much.
        async with asyncio.TaskGroup() as group:
            if self._most < len(self._streams):
                slots = asyncio.Semaphore(self._most)
                for stream in self._streams:
                    group.create_task(self._in_turns(stream, slots))
                return
            for lead in self._streams:
                if lead.entry.is_baseline:
                    same_model = [each for each in self._streams if each.entry.model == lead.entry.model]
                    slower = [each for each in same_model if each.repeats < lead.repeats]
                    for place, stream in enumerate(slower):
                        stream.lead, stream.phase = lead, place / len(slower)
            for number in range(max((stream.plays for stream in self._streams), default=0)):
                # In turn, so that no vendor is always asked before the others, and a few at a time: each builds a body.
                for stream in self._streams:
                    if number < stream.plays:
                        group.create_task(self._pull(stream))
                await asyncio.sleep(0)

    async def _in_turns(self, stream: _Stream, slots: asyncio.Semaphore) -> None:
        """Ask while the entry holds a slot; a stopped entry needs none."""
        # One that is asked everything more often has longer turns, so that all end together.
        turn = stream.repeats * max(BLOCK, min(_ROUNDS * stream.places, stream.left // stream.repeats // _LEAST_TURNS))
        while self._needs_slot(stream):
            async with slots:
                stream.turn = turn
                async with asyncio.TaskGroup() as group:
                    for _ in range(stream.plays):
                        group.create_task(self._pull(stream, in_turn=True))
        await self._pull(stream)

    async def _pull(self, stream: _Stream, *, in_turn: bool = False) -> None:
        """Make one record after the other until there are no more, or the turn is over."""
        while not stream.is_over:
            if in_turn:
                is_slot_wanted = sum(map(self._needs_slot, self._streams)) > self._most
                if not self._needs_slot(stream) or (stream.turn <= 0 and is_slot_wanted):
                    return
                stream.turn -= 1
            await stream.keep_pace()
            taken = next(stream.items, None)
            if taken is None:
                stream.is_over = True
                return
            stream.begun += 1
            record = await self._conversation.record(taken[1], taken[0])
            stream.ended += 1
            if record is None:
                # The run takes nothing new.
                stream.is_over = True
            else:
                stream.failed_in_a_row = 0 if record.succeeded else stream.failed_in_a_row + 1
                self._emit((record,))
            stream.moved.set()
            stream.moved = asyncio.Event()

    def _needs_slot(self, stream: _Stream) -> bool:
        return not stream.is_over and not self._conversation.limiter.is_stopped(stream.entry)
