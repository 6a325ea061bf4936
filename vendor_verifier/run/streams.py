"""What each entry is asked, in an order that all entries share and at each one's own pace. It neither waits nor sends.

Samples stand in one random order for everybody, and ``block`` of them are a block. Both are labels: what stands in one
block is what the statistics may take together, and nobody waits for the end of one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from vendor_verifier.run.work_queue import Order, WorkItem, WorkQueue
from vendor_verifier.values.plan import Entry, Plan

# Samples in a block.
BLOCK = 25
# Where only so many entries may be asked at once: while the last requests of a turn end, places stay free, a fortieth
# of so many rounds if all take equally long. A short run has shorter turns: all should see about the same time of day.
_ROUNDS = 20
_LEAST_TURNS = 4
_LEAST_BEYOND = 25


def plays_at_once(concurrency: int) -> int:
    """Plays of one entry that are begun at a time, so that its places stay full.

    Beyond those that have a place there are as many again and some more: for each that rests between two tries another
    is there to take its place.
    """
    return 2 * concurrency + _LEAST_BEYOND


def plays_in_turn(concurrency: int, left: int) -> int:
    """Plays that an entry with so many ``left`` begins before it hands its slot over, where slots are limited."""
    return max(BLOCK, min(_ROUNDS * concurrency, left // _LEAST_TURNS))


class Stream:
    """What is left of one entry; items are made when they are taken."""

    def __init__(self, entry: Entry, concurrency: int, left: int, items: Iterator[tuple[int, WorkItem]]) -> None:
        self.entry = entry
        self.is_over = False
        # Set by whoever learns that nothing more will be sent to this entry.
        self.is_stopped = False
        self.plays = min(left, plays_at_once(concurrency))
        self.plays_in_turn = plays_in_turn(concurrency, left)
        self._items = items

    def take(self) -> tuple[int, WorkItem] | None:
        """The next item with the number of its block; None when there is none."""
        taken = next(self._items, None)
        self.is_over = taken is None
        return taken

    def blocks(self) -> Iterator[tuple[int, tuple[WorkItem, ...]]]:
        """Everything block by block, in place of :meth:`take`."""
        for number, items in groupby(self._items, itemgetter(0)):
            yield number, tuple(item for _, item in items)
        self.is_over = True


def streams_of(queue: WorkQueue, plan: Plan, block: int = BLOCK) -> list[Stream]:
    """A stream for every entry of which anything is left; who comes first is chance."""
    rng = random.Random(plan.seed)  # noqa: S311 an order, not a secret
    order = queue.order(rng)
    targets = [target for target in range(len(queue.targets)) if queue.left_of(target)]
    rng.shuffle(targets)
    return [_stream(queue, target, order, plan, block) for target in targets]


def _stream(queue: WorkQueue, target: int, order: Order, plan: Plan, block: int) -> Stream:
    entry = queue.targets[target].entry
    # A generator of its own: what one entry has taken must not change another one's order.
    rng = random.Random(f"{plan.seed} {target}")  # noqa: S311 as above
    items = ((position // block, item) for position, item in queue.in_order(target, order, rng))
    return Stream(entry, entry.concurrency or plan.request_concurrency, queue.left_of(target), items)
