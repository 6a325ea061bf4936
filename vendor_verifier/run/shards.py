"""Divides a plan into shards, each sent by one process: the entries of some accounts.

One process has all of an account, so its limits are exact and need no message. What the run may spend is divided
equally. It opens no connection and does not need Dask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from math import inf
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
    with suppress(ValueError):  # of a bracket or a port that is none
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
    costs: Mapping[tuple[str, str], CostOf]
    region: str | None


OpenJob = Callable[[Job], Opened]


@dataclass(slots=True, eq=False)
class Shard:
    """Some entries, and the state of their sending.

    ``number`` is the latest submission, to the worker at ``address``, ``ended`` its end. ``share`` is what it may
    spend, with what was spent ``before`` this submission; ``kept`` counts the records of all.
    """

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
