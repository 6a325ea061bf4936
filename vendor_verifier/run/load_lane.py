"""The order and due times of one entry's requests under a shaped load; it neither waits nor sends.

A lane has two stages: a warm-up, whose answers are thrown away, and what counts. Samples
stand in one random order for all vendors, repetition after repetition. What is thrown away is taken from the end of
that order, so that no counted question was just asked to warm something up.
"""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, repeat
from typing import Literal

from msgspec import structs

from vendor_verifier.records.failures import NOT_SENT, kinds_where
from vendor_verifier.records.plan import Arrival, LoadShape
from vendor_verifier.records.record import Record
from vendor_verifier.run.work_queue import WorkItem, WorkQueue

Stage = Literal["warmup", "counted"]
# What a play ends in once nothing more goes to its vendor.
_OF_A_STOPPED_VENDOR = kinds_where(lambda kind: kind.stops) & NOT_SENT


@dataclass(frozen=True, slots=True)
class Start:
    """One play to start; ``number`` counts those of its stage from 0."""

    item: WorkItem
    stage: Stage
    number: int


class LaneItems:
    """The items left of one target of ``queue``, by numbers in asking order; each is made when it is asked for."""

    def __init__(self, queue: WorkQueue, numbers: Sequence[int]) -> None:
        self._queue = queue
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: int) -> WorkItem:
        return self._queue.item(self._numbers[place])


def in_lanes(queue: WorkQueue, seed: int) -> list[LaneItems]:
    """The items of each entry in asking order, entries in the order in which they first appear."""
    lanes = queue.lanes(random.Random(seed))  # noqa: S311 an order, not a secret
    return [LaneItems(queue, numbers) for numbers in lanes]


class Lane:
    """One entry's plays. ``items`` are in asking order and at least one; a shape that plans by doing asks them again
    and again."""

    def __init__(self, items: LaneItems, shape: LoadShape) -> None:
        self.entry = items[0].target.entry
        self.begun = self.repetitions = self.under_way = self.most_under_way = 0
        self.discarded: Counter[Stage] = Counter()
        self.discarded_failed: Counter[Stage] = Counter()
        self.is_stopped = False
        self._shape = shape
        self._items = items
        self._drawn = self._drawn_aside = 0
        self._left = math.inf if shape.plans_by_doing else len(items)
        # By place in the lane.
        self._uses = array("Q", bytes(8 * len(items))) if shape.plans_by_doing else array("Q")
        self._since_s: float | None = None
        self._is_through = False

    def next(self, now_s: float) -> Start | None:
        """The play that starts at ``now_s`` (seconds on any clock); None when all is done."""
        if self.discarded["warmup"] < self._shape.warmup and not self.is_stopped:
            return self._discard("warmup")
        item = None if self._is_through or self._is_late(now_s) else self._next_counted()
        if item is not None:
            self.begun += 1
            self.repetitions = max(self.repetitions, item.repetition + 1)
            return Start(item, "counted", self.begun - 1)
        self._is_through = True
        return None

    def is_over_at(self, now_s: float) -> bool:
        """Whether nothing can start at ``now_s`` or later, as far as is known before."""
        if self.discarded["warmup"] < self._shape.warmup and not self.is_stopped:
            return False
        return self._is_through or not self._left or self._is_late(now_s)

    def sent(self) -> None:
        """Count a play that is under way from now on."""
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)

    def ended(self, start: Start, record: Record | None) -> None:
        """Count a play's end; ``None`` for one that did not start after all, because the run takes nothing new."""
        self.under_way -= 1
        if start.stage == "counted":
            self.begun -= record is None
        elif record is not None and not record.succeeded:
            self.discarded_failed[start.stage] += 1
        final = None if record is None else record.final
        if final is not None and final.failure is not None and final.failure.kind in _OF_A_STOPPED_VENDOR:
            self.is_stopped = True

    def _is_late(self, now_s: float) -> bool:
        """Whether the stated time since the first counted play is over, or the entry is stopped."""
        if self._since_s is None:
            self._since_s = now_s
        if self._shape.plans_by_doing and self.is_stopped:
            return True
        return self._shape.duration_s is not None and now_s >= self._since_s + self._shape.duration_s

    def _next_counted(self) -> WorkItem | None:
        if self._drawn >= len(self._items) and not self._shape.plans_by_doing:
            return None
        place = self._drawn % len(self._items)
        self._drawn += 1
        self._left -= 1
        if not self._shape.plans_by_doing:
            return self._items[place]
        self._uses[place] += 1
        return structs.replace(self._items[place], repetition=self._uses[place] - 1)

    def _discard(self, stage: Stage) -> Start:
        number = self.discarded[stage]
        self.discarded[stage] += 1
        place = -1 - self._drawn_aside % len(self._items)
        self._drawn_aside += 1
        return Start(self._items[place], stage, number)


def lanes_of(queue: WorkQueue, shape: LoadShape, seed: int) -> Iterator[Lane]:
    """A lane for every entry that has anything to be asked."""
    return (Lane(items, shape) for items in in_lanes(queue, seed))


def due_times(shape: LoadShape, seed: int) -> Iterator[float]:
    """When requests of an open loop are due, in order; without end unless the shape holds a schedule.

    The same seed gives the same times, so that every vendor is offered the same load.

    Raises:
        ValueError: the shape is a closed loop.
    """
    if shape.schedule:
        return iter(shape.schedule)
    if shape.request_rate is None:
        raise ValueError("a closed loop has no due times")
    rate, ramp_s = shape.request_rate, shape.ramp_up_s
    return (_on_clock(units, rate, ramp_s) for units in _units(shape.arrival, seed))


def offered(shape: LoadShape, until_s: float) -> float:
    """The number of requests of a rate that are expected to be offered by ``until_s``.

    Raises:
        ValueError: the shape has no rate.
    """
    if shape.request_rate is None:
        raise ValueError("only a rate offers so many a second")
    rate, ramp_s = shape.request_rate, shape.ramp_up_s
    return rate * until_s**2 / (2 * ramp_s) if until_s < ramp_s else rate * (until_s - ramp_s / 2)


def opening_times(places: int, ramp_up_s: float, turn: int = 0, turns: int = 1) -> Sequence[float]:
    """Seconds after which each place of a closed loop opens: the first at once, the last when the ramp is over.

    Where ``turns`` entries share the places, theirs open in turn, so that together they grow as one alone would;
    ``turn`` counts from 0.
    """
    if places == 1:
        return [0.0]
    return [min(ramp_up_s, ramp_up_s * (turns * place + turn) / (places - 1)) for place in range(places)]


def _units(arrival: Arrival, seed: int) -> Iterator[float]:
    if arrival == "constant":
        return iter(count())
    rng = random.Random(f"arrivals {seed}")  # noqa: S311 a schedule, not a secret
    return accumulate(rng.expovariate(1.0) for _ in repeat(None))


def _on_clock(units: float, rate: float, ramp_s: float) -> float:
    """The second by which ``units`` requests have been offered."""
    if units < rate * ramp_s / 2:
        return math.sqrt(2 * ramp_s * units / rate)
    return units / rate + ramp_s / 2
