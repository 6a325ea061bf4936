"""The engine: keeps every entry's places full, each at its own pace, and emits records; it stores none.

An entry's plays are begun by workers that pull: one takes the next item when its last one has ended. So a request that
is never answered costs its own place and nothing else, and no vendor waits for another one, but for a baseline that is
asked more often (see :mod:`vendor_verifier.run.baseline_pace`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import anyio

from vendor_verifier.records.record import Record
from vendor_verifier.run.baseline_pace import BaselinePace
from vendor_verifier.run.conversation import Conversation, RunClosed
from vendor_verifier.run.work_queue import DueAt, Stream, WorkItem

# Scrubbing so long texts takes a millisecond or more, in which no stream would be read.
_LONG_CHARACTERS = 256 * 1024

# Keeps finished records, which hold no secret any more.
Emit = Callable[[Sequence[Record]], None]


class Slots(Protocol):
    """A context that an entry holds while it has requests in flight."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


class VendorSlots:
    """At most ``limit`` entries have requests in flight at any moment; None lets all of them."""

    def __init__(self, limit: int | None, entries: int) -> None:
        self._slots = anyio.Semaphore(limit) if limit is not None and limit < entries else None

    @property
    def limited(self) -> bool:
        """Whether entries may have to wait for each other."""
        return self._slots is not None

    @property
    def wanted(self) -> bool:
        """Whether an entry waits for a slot."""
        return self._slots is not None and self._slots.statistics().tasks_waiting > 0

    async def __aenter__(self) -> None:
        if self._slots is not None:
            await self._slots.acquire()

    async def __aexit__(self, *_: object) -> None:
        if self._slots is not None:
            self._slots.release()


class Engine:
    """Makes the records of one run; each is emitted the moment it is finished."""

    def __init__(self, conversation: Conversation, run: str, emit: Emit) -> None:
        self._conversation = conversation
        self._run = run
        self._emit = emit

    async def ask(self, streams: Sequence[Stream], slots: VendorSlots) -> None:
        """Make every record of ``streams``."""
        # asyncio's own groups: a task of anyio's costs three times as much.
        async with asyncio.TaskGroup() as group:
            if slots.limited:
                for stream in streams:
                    group.create_task(self._in_turns(stream, slots))
                return
            pace = BaselinePace(streams)
            for number in range(max((stream.plays for stream in streams), default=0)):
                # In turn, so that no vendor is always asked before the others, and a few at a time: each builds a body.
                for stream in streams:
                    if number < stream.plays:
                        group.create_task(self._pull(stream, pace=pace))
                await asyncio.sleep(0)

    async def make(self, items: Iterable[WorkItem], block: int) -> None:
        """Make the records of some items, all of them at once; the limiter paces them."""
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(self._make(item, block))

    async def _in_turns(self, stream: Stream, slots: VendorSlots) -> None:
        """Ask while the entry holds a slot; a stopped entry needs none."""
        while not stream.is_over and not stream.is_stopped:
            async with slots, asyncio.TaskGroup() as group:
                turn = _Turn(stream.plays_in_turn, slots)
                for _ in range(stream.plays):
                    group.create_task(self._pull(stream, turn))
        await self._pull(stream)

    async def _pull(self, stream: Stream, turn: _Turn | None = None, pace: BaselinePace | None = None) -> None:
        """Make one record after the other until there are no more, or the turn is over."""
        while turn is None or turn.goes_on(stream):
            if pace is not None:
                await pace.wait(stream)
            taken = stream.take()
            if taken is None:
                return
            record = await self._make(taken[1], taken[0])
            stream.is_over = stream.is_over or record is None
            stream.is_stopped = stream.is_stopped or (record is not None and is_skipped(record))
            if pace is not None:
                pace.end_one(stream, is_last=record is None or stream.is_stopped)
            if record is None:
                return

    async def _make(self, item: WorkItem, block: int) -> Record | None:
        record = await make_record(item, block, self._conversation, self._run)
        if record is not None:
            self._emit((record,))
        return record


class _Turn:
    """The plays left of an entry's turn; it goes on while no other entry waits."""

    def __init__(self, plays: int, slots: VendorSlots) -> None:
        self._left = plays
        self._slots = slots

    def goes_on(self, stream: Stream) -> bool:
        """Whether one more play may begin; counts it."""
        self._left -= 1
        return not stream.is_stopped and not stream.is_over and (self._left >= 0 or not self._slots.wanted)


def is_skipped(record: Record) -> bool:
    """Whether nothing was sent because the vendor was stopped before."""
    final = record.final
    return final is not None and final.failure is not None and final.failure.kind == "skipped"


async def make_record(
    item: WorkItem, block: int, conversation: Conversation, run: str, due: DueAt | None = None
) -> Record | None:
    """The record of one item, after all its turns; ``None`` when the run takes nothing new.

    ``due``: when it was to begin by a schedule.
    """
    entry = item.target.entry
    due_ns, taken_ns = (None, None) if due is None else (due.due_ns, due.taken_ns)
    try:
        turns = await conversation.play(item.suite.play(item.sample), item.target, item.total_s, due_ns, taken_ns)
    except RunClosed:
        return None
    made = Record(
        run=run,
        model=entry.model,
        label=entry.label,
        vendor=entry.vendor,
        suite=item.suite.name,
        sample=item.sample.id,
        repetition=item.repetition,
        turns=turns,
        block=block,
        offered_s=None if due is None else due.offered_s,
    )
    if not [attempt for turn in turns for attempt in turn.attempts if attempt.timing is not None]:
        # Nothing was sent, so nothing was awaited: many such records in a row must not block the loop.
        await asyncio.sleep(0)
    scrubber, tools = conversation.scrubber, item.sample.turn.tools
    if _characters(made) > _LONG_CHARACTERS:
        return await anyio.to_thread.run_sync(scrubber.record, made, tools)
    return scrubber.record(made, tools)


def _characters(record: Record) -> int:
    """The characters of the record's answers, without names and ids."""
    found = 0
    for turn in record.turns:
        for attempt in turn.attempts:
            if (response := attempt.response) is not None:
                found += len(response.text) + len(response.reasoning)
                found += sum([len(call.arguments) for call in response.tool_calls])
    return found
