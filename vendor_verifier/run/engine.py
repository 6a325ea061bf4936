"""The engine: one function that runs a shard of work. It does not know whether it is alone, one of several or remote.

A shard is a block of samples × all entries × repetitions. Entries run side by side on the same samples, so that the
time of day is the same for every vendor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import anyio

from vendor_verifier.run.agenda import Shard, WorkItem
from vendor_verifier.run.drive import Driver, RunClosed
from vendor_verifier.values.record import Record

Emit = Callable[[Sequence[Record]], None]


class Slots(Protocol):
    """Entered by an entry before it sends anything of a shard, and left when it is through."""

    @property
    def limited(self) -> bool:
        """Whether entries may have to wait for each other."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


class VendorSlots:
    """At most ``limit`` entries have requests in flight at any moment; None lets all of them."""

    def __init__(self, limit: int | None, entries: int) -> None:
        self._slots = anyio.Semaphore(limit) if limit is not None and limit < entries else None

    @property
    def limited(self) -> bool:
        return self._slots is not None

    async def __aenter__(self) -> None:
        if self._slots is not None:
            await self._slots.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Give one back."""
        if self._slots is not None:
            self._slots.release()


async def run_shard(shard: Shard, driver: Driver, run: str, emit: Emit, slots: Slots) -> None:
    """Make every record of the shard; each is emitted the moment it is finished."""
    # asyncio's own groups: a task of anyio's costs three times as much, which counts where every request has one.
    async with asyncio.TaskGroup() as group:
        if not slots.limited:
            # Sample by sample, vendors in random order: nobody is always asked before the same other.
            for item in shard.items:
                group.create_task(_run_item(item, shard.number, driver, run, emit))
            return
        for items in _by_entry(shard, rotation=shard.number).values():
            group.create_task(_run_entry(items, shard.number, driver, run, emit, slots))


async def _run_entry(items: Sequence[WorkItem], block: int, driver: Driver, run: str, emit: Emit, slots: Slots) -> None:
    async with slots, asyncio.TaskGroup() as group:
        for item in items:
            group.create_task(_run_item(item, block, driver, run, emit))


async def _run_item(item: WorkItem, block: int, driver: Driver, run: str, emit: Emit) -> None:
    record = await make_record(item, block, driver, run)
    if record is not None:
        emit((record,))


async def make_record(
    item: WorkItem, block: int, driver: Driver, run: str, due: tuple[int, float] | None = None
) -> Record | None:
    """Ask and wait for the answer; ``None`` when the run takes nothing new.

    ``due``: when it was to begin by a schedule, on the driver's clock in ns and in seconds after the schedule's start.
    """
    entry = item.line.entry
    due_ns, offered_s = due or (None, None)
    try:
        turns = await driver.play(item.suite.play(item.sample), item.line, item.total_s, due_ns)
    except RunClosed:
        return None
    return Record(
        run=run,
        model=entry.model,
        label=entry.label,
        vendor=entry.vendor,
        suite=item.suite.name,
        sample=item.sample.id,
        repetition=item.repetition,
        turns=turns,
        block=block,
        offered_s=offered_s,
    )


def _by_entry(shard: Shard, rotation: int) -> Mapping[tuple[str, str], list[WorkItem]]:
    """Items per entry, the first entry another one in each shard."""
    groups: dict[tuple[str, str], list[WorkItem]] = {}
    for item in shard.items:
        groups.setdefault((item.line.entry.model, item.line.entry.label), []).append(item)
    keys = list(groups)
    turn = rotation % len(keys) if keys else 0
    return {key: groups[key] for key in keys[turn:] + keys[:turn]}
