"""The work of a run: every sample and repetition of every entry in one shuffled order, and its parts for processes.

The order is shuffled by the seed over samples sorted by the id of their content, so that neither the file's order nor
the number of vendors changes it. All entries follow it: what is compared between two vendors was asked at about the
same time. All repetitions of a sample come together, so that ``BLOCK`` consecutive samples make a unit that may be
resampled as one. A shard is the entries of some accounts, sent by one process: so an account's limits are exact.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import accumulate, chain, count, groupby
from math import inf
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from vendor_verifier.errors import UsageError, install_line
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import RecordKey
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.limits import places_of
from vendor_verifier.suites import Suite
from vendor_verifier.transport.proxies import is_loopback
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
    """The items of a run, made when they are taken; ``repeats`` is how often each target is asked everything. Places
    number the samples of all parts in a row."""

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


def check_workers(stated: int | str, entries: Sequence[Entry]) -> int | str:
    """The number of processes, or the address of a Dask scheduler.

    Raises:
        UsageError: neither a number of processes nor an address, a scheduler without encryption, simulated vendors that
            its workers cannot reach, or Dask is not installed.
    """
    if stated == 1:
        return 1
    if find_spec("distributed") is None:
        raise UsageError(f"--workers needs Dask distributed, which is not installed: {install_line('dask')}")
    if isinstance(stated, int):
        if stated < 1:
            raise UsageError(f"--workers {stated}: expected at least 1")
        return stated
    scheme = host = ""
    with suppress(ValueError):  # an invalid bracket or port
        parts = urlsplit(stated)
        scheme, host = parts.scheme, parts.hostname or "" if parts.port else ""
    if scheme not in ("tls", "tcp") or not host:
        raise UsageError(f"--workers {stated}: expected a number or tls://HOST:PORT (tcp:// on this machine)")
    is_here = is_loopback(host)
    if scheme != "tls" and not is_here:
        raise UsageError(
            f"{stated} is neither encrypted nor on this machine: whoever reaches it could read everything and run code "
            "on the workers; use tls:// (docs/load.md)"
        )
    if not is_here and any(entry.is_simulated for entry in entries):
        raise UsageError(
            "sim:// vendors are served on this machine and workers elsewhere cannot reach them; use --workers N, or "
            "serve them there and give their url"
        )
    return stated


@dataclass(frozen=True, slots=True)
class Job:
    """A shard as a worker gets it: a plan without keys, and where the coordinator read its files.

    ``done`` are not asked.
    """

    run: str
    plan: Plan
    config_file: Path
    env_file: Path | None
    vendor_paths: tuple[Path, ...]
    tokenizer_model: str | None
    done: tuple[RecordKey, ...] = ()


class Opened(NamedTuple):
    """A job with this machine's keys and plugins, ready to be sent."""

    plan: Plan
    queue: WorkQueue
    scrubber: Scrubber
    region: str | None


OpenJob = Callable[[Job], Opened]


@dataclass(slots=True, eq=False)
class Shard:
    """Some entries, and the state of their sending: ``number`` is the latest submission, to the worker at ``address``,
    ``ended`` its end. ``share`` is what it may spend, with what was spent ``before`` this submission; ``kept`` counts
    the records."""

    entries: list[Entry] = field(default_factory=list)
    places: int = 0
    number: int = -1
    address: str | None = None
    begun: bool = False
    ended: asyncio.Future[bytes] | None = None
    share: Spending = field(default_factory=Spending)
    before: tuple[int, float] = (0, 0.0)
    kept: int = 0


def shards_of(plan: Plan, workers: int) -> list[Shard]:
    """The entries of the plan in at most ``workers`` shards, with about the same number of places each."""
    accounts = sorted(places_of(plan.entries, plan.request_concurrency).items(), key=lambda each: -each[1])
    most = int(min(workers, len(accounts), plan.vendor_concurrency or inf, plan.max_requests or inf))
    shards = [Shard() for _ in range(most)]
    for account, places in accounts:
        shard = min(shards, key=lambda shard: (shard.places, len(shard.entries)))
        shard.entries += [entry for entry in plan.entries if entry.account == account]
        shard.places += places
    for number, shard in enumerate(shards):
        if plan.max_requests is not None:
            shard.share.max_requests = plan.max_requests // most + (number < plan.max_requests % most)
        if plan.max_cost_usd is not None:
            shard.share.max_cost_usd = plan.max_cost_usd / most
    return shards


def without_secrets(entry: Entry) -> Entry:
    """The entry as it may be sent: a worker puts in its own key and fills in the headers' templates."""
    headers = {name: text for name, text in entry.endpoint.headers.items() if name not in entry.header_templates}
    return structs.replace(entry, endpoint=replace(entry.endpoint, key=None, headers=headers))
