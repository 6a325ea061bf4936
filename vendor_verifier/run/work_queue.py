"""The items of a run in a random order common to all entries, made when they are taken; nothing waits or sends here.

Theory of operation. A run is the product of samples, repetitions and targets: ten vendors asked 200,000 samples each
would be two million objects. So items exist as numbers only. The number of an item grows by task, sample, repetition
and target, and each of these follows from it by division; the queue keeps the order of the samples and, once anything
is crossed off (resuming, or a record that came), one byte an item.

The order is shuffled once, by the seed, over samples sorted by their content's id, so neither the file's order nor the
number of vendors changes it. All entries follow the same order, each at its own pace: what the statistics compare
between two vendors was then asked at about the same time of the run. A sample that several tasks share, and all its
repetitions, stand together, so that ``block`` consecutive samples make a unit that may be resampled as one; a block is
a label, and nobody waits for its end. Repetitions of one entry are shuffled by a generator of its own, for what one
entry has taken must not change another one's order.

A shaped load needs another order, repetition after repetition (:meth:`WorkQueue.lanes`), because it may end at any
moment.
"""

from __future__ import annotations

import random
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby
from operator import itemgetter

import msgspec

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import RecordKey
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.run.conversation import Target
from vendor_verifier.suites import Suite


class DueAt(msgspec.Struct, frozen=True):
    """When a play was due: on the clock of its process in ns, and in seconds after the schedule's start.

    ``taken_ns`` is since when it could begin, which is later only where as many waited before it as may wait at a time.
    """

    due_ns: int
    offered_s: float
    taken_ns: int

    def later(self, by_ns: int) -> DueAt:
        """The same on a clock that shows so many ns more."""
        return DueAt(self.due_ns + by_ns, self.offered_s, self.taken_ns + by_ns)


class WorkItem(msgspec.Struct, frozen=True):
    """One record to be made."""

    target: Target
    suite: Suite
    sample: Sample
    repetition: int
    total_s: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One evaluation: every target is asked all its samples."""

    suite: Suite
    samples: Samples
    total_s: float | None = None


class Order:
    """Samples in asking order, each as its positions in the tasks: a sample that several tasks share is one."""

    def __init__(self, places: array[int], begins: array[int], order: array[int]) -> None:
        self._places = places
        self._begins = begins
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Sequence[int]]:
        begins = self._begins
        return (self._places[begins[group] : begins[group + 1]] for group in self._order)


class WorkQueue:
    """The items of a run. ``repeats`` is how often each target is asked everything; repetitions are numbered from
    ``first`` on."""

    def __init__(
        self, targets: Sequence[Target], parts: Sequence[Part], repeats: Sequence[int], first: int = 0
    ) -> None:
        self.parts = tuple(parts)
        self.targets = tuple(targets)
        self.repeats = tuple(repeats)
        self._first = first
        self._most = max(repeats, default=0)
        # Numbers per sample; those of repetitions that a target does not have stand for no item.
        self._each = self._most * len(self.targets)
        self._begins = (0, *accumulate(len(part.samples) for part in parts))
        self._target_of = {(target.entry.model, target.entry.label): place for place, target in enumerate(targets)}
        self._part_of = {part.suite.name: place for place, part in enumerate(parts)}
        self._crossed = bytearray()
        self._crossed_of = [0] * len(self.targets)

    def __len__(self) -> int:
        """The number of items left."""
        return sum(map(self.left_of, range(len(self.targets))))

    def left_of(self, target: int) -> int:
        """The number of items left of one target, by its position."""
        return self.repeats[target] * self._begins[-1] - self._crossed_of[target]

    def crossed_of(self, target: int) -> int:
        """The number of items crossed off of one target."""
        return self._crossed_of[target]

    def awaits(self, key: RecordKey) -> bool:
        """Whether the item that makes this record is still left."""
        number = self._number(key)
        return number is not None and self.is_left(number)

    def cross_off(self, key: RecordKey) -> bool:
        """Leave out the item that makes this record; False when there is none, or none any more."""
        number = self._number(key)
        if number is None or not self.is_left(number):
            return False
        if not self._crossed:
            self._crossed = bytearray(self._each * self._begins[-1])
        self._crossed[number] = 1
        self._crossed_of[number % len(self.targets)] += 1
        return True

    def is_left(self, number: int) -> bool:
        """Whether the item of that number is still to be made."""
        repetition, target = divmod(number % self._each, len(self.targets))
        return repetition < self.repeats[target] and not (self._crossed and self._crossed[number])

    def item(self, number: int) -> WorkItem:
        """The item of that number, left or not."""
        place, rest = divmod(number, self._each)
        repetition, target = divmod(rest, len(self.targets))
        part = bisect_right(self._begins, place) - 1
        task = self.parts[part]
        sample = task.samples.at(place - self._begins[part])
        return WorkItem(self.targets[target], task.suite, sample, self._first + repetition, task.total_s)

    def sample_id(self, number: int) -> str:
        """The id of the sample of that item."""
        return self._ids[number // self._each]

    @property
    def samples(self) -> int:
        """The number of different samples of which anything is left."""
        return len(self._groups()[1]) - 1

    def order(self, rng: random.Random) -> Order:
        """Everything of which anything is left, in random order."""
        places, begins = self._groups()
        order = array("Q", range(len(begins) - 1))
        rng.shuffle(order)
        return Order(places, begins, order)

    def in_order(self, target: int, order: Order, rng: random.Random) -> Iterator[tuple[int, WorkItem]]:
        """The items left of one target, sample by sample, each with its sample's position in ``order``.

        The items of one sample, of all tasks that have it and all repetitions, stand together in random order.
        """
        for position, places in enumerate(order):
            numbers = [number for place in places for number in self._numbers_at(place, target)]
            if len(numbers) > 1:
                rng.shuffle(numbers)
            for number in numbers:
                yield position, self.item(number)

    def lanes(self, rng: random.Random) -> list[array[int]]:
        """Numbers of the items left, by target, without empty ones; the target to be asked first comes first.

        Each has the samples in the same random order, repetition after repetition.
        """
        order = array("Q", chain.from_iterable(self.order(rng)))
        lanes = (
            array("Q", filter(self.is_left, self._numbers_of(target, order))) for target in range(len(self.targets))
        )
        return sorted((lane for lane in lanes if lane), key=min)

    def _numbers_of(self, target: int, order: Sequence[int]) -> Iterator[int]:
        count = len(self.targets)
        for repetition in range(self.repeats[target]):
            shift = repetition * count + target
            yield from (place * self._each + shift for place in order)

    def _numbers_at(self, place: int, target: int) -> Iterable[int]:
        """The numbers left of one sample of a target."""
        first = place * self._each + target
        numbers = range(first, first + self.repeats[target] * len(self.targets), len(self.targets))
        return filter(self.is_left, numbers) if self._crossed else numbers

    def _groups(self) -> tuple[array[int], array[int]]:
        """Positions that have anything left, sorted by id; and where each id starts, and the end.

        Ids are content: so the order does not depend on the file's.
        """
        ids, every = self._ids, range(self._begins[-1])
        left = filter(self._has_any, every) if self._crossed else every
        places = array("Q", sorted(left, key=ids.__getitem__))
        begins = array("Q", (at for at, place in enumerate(places) if not at or ids[place] != ids[places[at - 1]]))
        begins.append(len(places))
        return places, begins

    def _has_any(self, place: int) -> bool:
        return any(map(self.is_left, range(place * self._each, (place + 1) * self._each)))

    def _number(self, key: RecordKey) -> int | None:
        _, model, label, suite, sample_id, repetition = key
        target, part = self._target_of.get((model, label)), self._part_of.get(suite)
        if target is None or part is None:
            return None
        place = self.parts[part].samples.place_of(sample_id)
        repetition -= self._first
        if place is None or not 0 <= repetition < self.repeats[target]:
            return None
        return (self._begins[part] + place) * self._each + repetition * len(self.targets) + target

    @cached_property
    def _ids(self) -> Sequence[str]:
        if len(self.parts) == 1:
            return self.parts[0].samples.ids
        return tuple(chain.from_iterable(part.samples.ids for part in self.parts))


# Samples in a block.
BLOCK = 25
# Where only so many entries may be asked at once: while the last requests of a turn end, places stay free, a fortieth
# of so many rounds if all take equally long. A short run has shorter turns: all should see about the same time of day.
_ROUNDS = 20
_LEAST_TURNS = 4
_LEAST_BEYOND = 25


def plays_at_once(concurrency: int) -> int:
    """Plays of one entry that are started at a time, so that its places stay full.

    Beyond those that have a place there are as many again and some more: when one rests between two tries another takes
    its place.
    """
    return 2 * concurrency + _LEAST_BEYOND


def plays_in_turn(concurrency: int, left: int, weight: int = 1) -> int:
    """Plays that an entry with so many ``left`` starts before it hands its slot over, where slots are limited.

    One that is asked everything ``weight`` times as often as others has longer turns, so that all end together.
    """
    return weight * max(BLOCK, min(_ROUNDS * concurrency, left // weight // _LEAST_TURNS))


class Stream:
    """The items left of one entry, which is asked everything ``repeats`` times; each is made when it is taken."""

    def __init__(
        self, entry: Entry, concurrency: int, left: int, items: Iterator[tuple[int, WorkItem]], repeats: int = 1
    ) -> None:
        self.entry = entry
        self.repeats = repeats
        self.places = concurrency
        self.left = left
        self.is_over = False
        # Set when nothing more will be sent to this entry.
        self.is_stopped = False
        self.plays = min(left, plays_at_once(concurrency))
        self.plays_in_turn = plays_in_turn(concurrency, left, repeats)
        self._items = items

    def take(self) -> tuple[int, WorkItem] | None:
        """The next item with the number of its block; None when there is none."""
        taken = next(self._items, None)
        self.is_over = taken is None
        return taken

    def blocks(self) -> Iterator[tuple[int, tuple[WorkItem, ...]]]:
        """All items left block by block, in place of :meth:`take`."""
        for number, items in groupby(self._items, itemgetter(0)):
            yield number, tuple(item for _, item in items)
        self.is_over = True


def streams_of(queue: WorkQueue, plan: Plan, block: int = BLOCK) -> list[Stream]:
    """A stream for every entry of which anything is left, in random order."""
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
    places = entry.concurrency or plan.request_concurrency
    return Stream(entry, places, queue.left_of(target), items, queue.repeats[target])
