"""Divides a plan into shards, of which each is sent by one process: the entries of some accounts.

One process has all of an account, so its limits are exact and need no message. Only an account with more places than
one process can time is split, into fixed shares of its places, requests and tokens a minute. It opens no connection
and does not need Dask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import product
from math import ceil, inf
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import structs

from vendor_verifier.errors import UsageError, install_line
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import RecordKey
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import CostOf, Spending
from vendor_verifier.run.limits import places_of
from vendor_verifier.run.queue import WorkQueue
from vendor_verifier.transport.proxies import is_loopback

# The most streams that one process times well.
MOST_PLACES = 700
# (place from 0 on, count): every ``count``-th sample, from that place on.
Part = tuple[int, int]


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
    try:
        parts = urlsplit(stated)
        is_whole = parts.scheme in ("tls", "tcp") and bool(parts.hostname and parts.port)
    except ValueError:
        is_whole = False
    if not is_whole:
        raise UsageError(f"--workers {stated}: expected a number or tls://HOST:PORT (tcp:// on this machine)")
    is_here = is_loopback(parts.hostname or "")
    if parts.scheme != "tls" and not is_here:
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

    ``parts`` are by entry: which of the samples the job asks. ``done`` are not asked.
    """

    run: str
    plan: Plan
    config_file: Path
    env_file: Path | None
    vendor_paths: tuple[Path, ...]
    tokenizer_model: str | None
    parts: tuple[Part, ...] = ()
    done: tuple[RecordKey, ...] = ()

    def leave_out(self, queue: WorkQueue) -> None:
        """Cross off what is done, and the samples that other shards ask of the same entries."""
        for key in self.done:
            queue.cross_off(key)
        for target, (place, count) in enumerate(self.parts):
            for number, key in keys_of(queue, self.run, target) if count > 1 else ():
                if number % count != place:
                    queue.cross_off(key)


class Opened(NamedTuple):
    """A job with this machine's keys and plugins, ready to be sent."""

    plan: Plan
    queue: WorkQueue
    scrubber: Scrubber
    costs: Mapping[tuple[str, str], CostOf]
    region: str | None


OpenJob = Callable[[Job], Opened]


@dataclass(slots=True, eq=False)
class Shard:
    """Some entries, and the state of their sending.

    ``number`` is the latest submission, to the worker at ``address``, ``ended`` its end, and ``share`` what it may
    spend and has spent; ``kept`` counts the records of all submissions.
    """

    entries: list[Entry] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    places: int = 0
    number: int = -1
    address: str | None = None
    begun: bool = False
    ended: asyncio.Future[bytes] | None = None
    share: Spending = field(default_factory=Spending)
    kept: int = 0


def keys_of(queue: WorkQueue, run: str, target: int) -> Iterator[tuple[int, RecordKey]]:
    """The key of every record of one entry, with the number of its sample."""
    entry = queue.targets[target].entry
    for part in queue.parts:
        for (number, sample), repetition in product(enumerate(part.samples.ids), range(queue.repeats[target])):
            yield number, (run, entry.model, entry.label, part.suite.name, sample, repetition)


def shards_of(plan: Plan, workers: int) -> list[Shard]:
    """The entries of the plan in at most ``workers`` shards, with about the same number of places each."""
    most = int(min(workers, plan.vendor_concurrency or inf, plan.max_requests or inf))
    pieces: list[tuple[int, list[Entry], Part]] = []
    for account, places in places_of(plan.entries, plan.request_concurrency).items():
        # The schedule of an entry needs one clock, so a shaped load is never split.
        count = 1 if plan.load.is_shaped else min(most, ceil(places / MOST_PLACES))
        entries = [entry for entry in plan.entries if entry.account == account]
        for place in range(count):
            given = places // count + (place < places % count)
            pieces.append((given, [_share_of(entry, given, count) for entry in entries], (place, count)))
    shards = [Shard() for _ in range(min(most, len(pieces)))]
    for given, entries, part in sorted(pieces, key=lambda piece: -piece[0]):
        accounts = {entry.account for entry in entries}
        free = [shard for shard in shards if accounts.isdisjoint(entry.account for entry in shard.entries)]
        shard = min(free, key=lambda shard: (shard.places, len(shard.entries)))
        shard.entries += entries
        shard.parts += [part] * len(entries)
        shard.places += given
    return shards


def _share_of(entry: Entry, places: int, count: int) -> Entry:
    if count == 1:
        return entry
    requests, tokens = entry.requests_per_minute, entry.tokens_per_minute
    return structs.replace(
        entry,
        concurrency=places,
        requests_per_minute=None if requests is None else requests / count,
        tokens_per_minute=None if tokens is None else tokens / count,
    )


def without_secrets(entry: Entry) -> Entry:
    """The entry as it may be sent: a worker puts in its own key and fills in the headers' templates."""
    headers = {name: text for name, text in entry.endpoint.headers.items() if name not in entry.header_templates}
    return structs.replace(entry, endpoint=replace(entry.endpoint, key=None, headers=headers))


class Purse:
    """What a run may spend, handed out in shares. What a share did not use up is handed out again when it ends."""

    def __init__(self, max_requests: int | None, max_cost_usd: float | None) -> None:
        self._spent = Spending(max_requests, max_cost_usd)
        self._open: list[Spending] = []
        # The limit that kept something from being sent, in words.
        self.reason: str | None = None

    def share(self, among: int = 1) -> Spending | None:
        """One of ``among`` equal shares of what is left; None, with the ``reason``, when that is not worth a shard."""
        spent, requests, cost_usd = self._spent, None, None
        if spent.max_requests is not None:
            given = sum(each.max_requests or 0 for each in self._open)
            requests = (spent.max_requests - spent.requests - given) // among
        if spent.max_cost_usd is not None:
            given_usd = sum(each.max_cost_usd or 0.0 for each in self._open)
            cost_usd = (spent.max_cost_usd - spent.cost_usd - given_usd) / among
        self.reason = None
        if requests is not None and requests < 1:
            self.reason = f"--max-requests {spent.max_requests} was reached"
        if cost_usd is not None and cost_usd <= (spent.max_cost_usd or 0.0) / 1000:
            words = f"about {spent.cost_usd:.4f} US dollars spent"
            self.reason = f"--max-cost {spent.max_cost_usd:g} was reached ({words})"
        if self.reason is not None:
            return None
        self._open.append(Spending(requests, cost_usd))
        return self._open[-1]

    def end(self, share: Spending) -> None:
        """Count what was spent of a share."""
        self._open = [each for each in self._open if each is not share]
        self._spent.requests += share.requests
        self._spent.cost_usd += share.cost_usd
