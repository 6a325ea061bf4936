"""The work of a run: every sample and repetition of every entry in one shuffled order, without what is done.

The order is shuffled once, by the seed, over samples sorted by the id of their content, so that neither the file's
order nor the number of vendors changes it. All entries follow it, each at its own pace: what is compared between two
vendors was then asked at about the same time. A sample that several tasks share, and all its repetitions, come
together, so that ``BLOCK`` consecutive samples make a unit that may be resampled as one.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, count, groupby

import msgspec

from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import RecordKey
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.suites import Suite
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire

# Samples in a block.
BLOCK = 25


@dataclass(frozen=True, slots=True)
class Target:
    """Everything needed to talk to one entry."""

    entry: Entry
    vendor: Vendor
    wire: Wire


@dataclass(frozen=True, slots=True)
class Part:
    """One evaluation: every target is asked all its samples."""

    suite: Suite
    samples: Samples
    total_s: float | None = None


class WorkItem(msgspec.Struct, frozen=True):
    """One record to be made."""

    target: Target
    suite: Suite
    sample: Sample
    repetition: int
    total_s: float | None = None


class WorkQueue:
    """The items of a run; ``repeats`` is how often each target is asked everything.

    Places number the samples of all parts in a row. Items are made when they are taken: ten vendors asked 200,000
    samples would be two million objects.
    """

    def __init__(self, targets: Sequence[Target], parts: Sequence[Part], repeats: Sequence[int]) -> None:
        self.targets, self.parts, self.repeats = tuple(targets), tuple(parts), tuple(repeats)
        self._begins = (0, *accumulate(len(part.samples) for part in parts))
        self._most = max(repeats, default=0)
        self._target_of = {(each.entry.model, each.entry.label): place for place, each in enumerate(targets)}
        self._part_of = {part.suite.name: place for place, part in enumerate(parts)}
        # By target; place and repetition as one number.
        self._done: list[set[int]] = [set() for _ in targets]

    def __len__(self) -> int:
        """The number of items left."""
        return sum(map(self.left_of, range(len(self.targets))))

    def left_of(self, target: int) -> int:
        """The number of items left of one target, by its position."""
        return self.repeats[target] * self._begins[-1] - len(self._done[target])

    def crossed_of(self, target: int) -> int:
        """The number of items crossed off of one target."""
        return len(self._done[target])

    def done_of(self, target: int, run: str) -> Iterator[RecordKey]:
        """The keys of the records whose items were crossed off, of one target."""
        entry = self.targets[target].entry
        for number in sorted(self._done[target]):
            place, repetition = divmod(number, self._most)
            suite = self.parts[bisect_right(self._begins, place) - 1].suite
            yield run, entry.model, entry.label, suite.name, self._ids[place], repetition

    def cross_off(self, key: RecordKey) -> bool:
        """Leave out the item that makes this record; False when there is none, or none any more."""
        _, model, label, suite, sample_id, repetition = key
        target, part = self._target_of.get((model, label)), self._part_of.get(suite)
        if target is None or part is None:
            return False
        place = self.parts[part].samples.place_of(sample_id)
        if place is None or not 0 <= repetition < self.repeats[target]:
            return False
        number, done = (self._begins[part] + place) * self._most + repetition, self._done[target]
        is_new = number not in done
        done.add(number)
        return is_new

    def order(self, seed: int) -> Sequence[int]:
        """All places in random order, those of one sample together."""
        known = sorted(set(self._ids))
        random.Random(seed).shuffle(known)  # noqa: S311 an order, not a secret
        rank = {sample_id: place for place, sample_id in enumerate(known)}
        return sorted(range(len(self._ids)), key=lambda place: rank[self._ids[place]])

    def items_of(self, target: int, order: Sequence[int], seed: int) -> Iterator[tuple[int, WorkItem]]:
        """The items left of one target, each with the number of its block."""
        # A generator of its own: what one entry has taken must not change another one's order.
        rng = random.Random(f"{seed} {target}")  # noqa: S311 as above
        for position, (_, places) in enumerate(groupby(order, key=self._ids.__getitem__)):
            pairs = [(place, repetition) for place in places for repetition in self._left_at(target, place)]
            rng.shuffle(pairs)
            for place, repetition in pairs:
                yield position // BLOCK, self.item(target, place, repetition)

    def rounds_of(self, target: int, order: Sequence[int], *, endless: bool) -> Iterator[WorkItem]:
        """The items left of one target, one repetition of all samples after the other; for ever if ``endless``."""
        for repetition in count() if endless else range(self.repeats[target]):
            for place in order:
                if endless or repetition in self._left_at(target, place):
                    yield self.item(target, place, repetition)

    def item(self, target: int, place: int, repetition: int) -> WorkItem:
        """The item of a target at a place, left or not."""
        number = bisect_right(self._begins, place) - 1
        part = self.parts[number]
        sample = part.samples[place - self._begins[number]]
        return WorkItem(self.targets[target], part.suite, sample, repetition, part.total_s)

    def _left_at(self, target: int, place: int) -> Sequence[int]:
        """The repetitions left at one place of a target."""
        every, done, first = range(self.repeats[target]), self._done[target], place * self._most
        return [repetition for repetition in every if first + repetition not in done] if done else every

    @cached_property
    def _ids(self) -> Sequence[str]:
        """The ids of the samples by place."""
        if len(self.parts) == 1:
            return self.parts[0].samples.ids
        return tuple(chain.from_iterable(part.samples.ids for part in self.parts))
