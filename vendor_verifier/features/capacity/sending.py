"""Sends one level of a capacity search, as a run is sent, and says why one was cut short or cannot be judged.

Limits and the account book are those of the whole level however many processes or machines send it, and it judges
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from vendor_verifier.features.capacity.curve import aside_at
from vendor_verifier.features.capacity.values import EndReason, LoadKind, Session, Stage
from vendor_verifier.pipeline.execute import duplicates_of, job_of, send
from vendor_verifier.pipeline.plan import Prepared, wire_of
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import GuardedSpending
from vendor_verifier.run.conversation import Target
from vendor_verifier.run.event_loop_lag import MAX_CORE_SHARE, STALL_NS, quiet_collector
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.local_run import RunEnd
from vendor_verifier.run.retry import stops_vendor
from vendor_verifier.run.work_queue import Part, WorkQueue
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import TRIGGER
from vendor_verifier.transport.connect import most_connections
from vendor_verifier.values.plan import Arrival, Entry, ExecutorChoice, LoadShape, Plan, RetryRules
from vendor_verifier.values.record import Failure, Record
from vendor_verifier.values.sample import listed
from vendor_verifier.values.steps import Steps
from vendor_verifier.words import english

# Where requests come by the clock, a vendor that does not keep up collects them; beyond this many they wait here.
MOST_IN_FLIGHT = 1000


@dataclass(frozen=True, slots=True)
class Bench:
    """The shared resources for sending all levels of all vendors. ``guard`` counts the spending over all of them."""

    run: str
    plan: Plan
    prepared: Prepared
    kind: LoadKind
    arrival: Arrival
    folder: RunFolder
    journal: Journal
    scrubber: Scrubber
    guard: GuardedSpending
    on_record: Callable[[Record], None]
    on_notice: Callable[[str], None]


def send_level(
    bench: Bench, entry: Entry, stage: Stage, level: float, *, first: int, repetitions: int, rest_s: float = 0
) -> tuple[Session, tuple[Record, ...], int | None]:
    """The session that was sent, its records, and the signal that ended it, if one did.

    Every sample is asked ``repetitions`` times, numbered from ``first`` on. A place whose request failed stays empty
    until ``rest_s`` after its begin.

    Raises:
        StorageError: a record could not be kept.
        UsageError: this machine does not let us open that many connections.
    """
    name = f"{bench.run}:{level:g}:{first}" if stage == "level" else f"{bench.run}:{stage}"
    plan = _level_plan(bench, entry, stage, level, rest_s)
    own = plan.entries[0]
    records: list[Record] = []

    def emit(made: Sequence[Record]) -> Steps[None]:
        yield from bench.journal.appending(made)
        for record in made:
            records.append(record)
            bench.on_record(record)

    before = bench.guard.requests
    queue = _queue(bench.prepared, own, first, repetitions)
    with quiet_collector():
        sent = send(
            job_of(name, plan, bench.prepared),
            plan,
            queue,
            emit=emit,
            emit_duplicate=duplicates_of(bench.folder, bench.scrubber),
            scrubber=bench.scrubber,
            costs={},
            spending=bench.guard,
            on_notice=bench.on_notice,
        )
    end = sent.end
    cut, words = why_cut(end, bench.guard, own.account, stage, records)
    if end.lost and words is None:
        words = str(english("level_lost", count=len(end.lost), level=f"{level:g}", reason=end.lost[-1]))
    core_share = None if end.loop is None else end.loop.core_share
    lag_ms = _lag_ms(end)
    session = Session(
        name=name,
        stage=stage,
        level=level,
        first_repetition=first,
        repetitions=repetitions,
        requests=bench.guard.requests - before,
        processes=len(sent.executor.get("workers", [None])),
        lag_p99_ms=lag_ms,
        core_share=core_share,
        client_limited=(lag_ms or 0.0) > STALL_NS / 1e6 or (core_share or 0.0) > MAX_CORE_SHARE,
        # What hangs may have requests of the level in flight, so that more would be too many.
        cut="workers" if end.held and cut is None else cut,
        words=words,
        lost=len(end.lost),
    )
    return session, tuple(records), end.signal_number


def _level_plan(bench: Bench, entry: Entry, stage: Stage, level: float, rest_s: float) -> Plan:
    """One vendor, one level: by places, or by the clock; without load it is one request after the other."""
    by_clock = stage == "level" and bench.kind == "rate"
    at_most = min(MOST_IN_FLIGHT, most_connections())
    places = at_most if by_clock else int(level) if stage == "level" else 1
    aside = aside_at(level) if stage == "level" else 1
    load = LoadShape(
        request_rate=level if by_clock else None,
        arrival=bench.arrival,
        warmup=aside,
        cooldown=aside if stage == "level" else 0,
        rest_s=rest_s,
        keeps_places=True,
    )
    return structs.replace(
        bench.plan,
        entries=(structs.replace(entry, concurrency=places),),
        request_concurrency=places,
        vendor_concurrency=None,
        retry=RetryRules(retries=0),
        load=load,
        max_requests=None,
        # One request after the other takes no second process; but what is compared comes from the same machines.
        executor=bench.plan.executor if places > 1 or bench.plan.executor.name == "dask" else ExecutorChoice(),
    )


def _queue(prepared: Prepared, entry: Entry, first: int, repetitions: int) -> WorkQueue:
    task = prepared.plan.tasks[0]
    vendor = prepared.registry.vendor(entry.vendor)
    target = Target(entry, vendor, wire_of(entry, vendor, prepared.wires))
    part = Part(ready_suite(TRIGGER, task.options, task.samples), listed(task.samples), task.timeout_s)
    return WorkQueue([target], [part], [repetitions], first)


def _lag_ms(end: RunEnd) -> float | None:
    """The p99 lag of our own process: of its event loop, or of requests that were due and found a free place."""
    found = [] if end.loop is None else [end.loop.p99_ms]
    found += [offered.lag_p99_ms for offered in (end.load or {}).values() if not offered.held_back]
    return max((lag for lag in found if lag is not None), default=None)


def why_cut(
    end: RunEnd, guard: GuardedSpending, account: str, stage: Stage, records: Sequence[Record]
) -> tuple[EndReason | None, str | None]:
    """The reason that not everything was sent, or None, and a sentence about it.

    A vendor that cannot be reached any more is stopped by the limiter. Under load that is the failure of this level,
    and the search goes on below it.
    """
    if end.signal_number is not None:
        return "interrupted", None
    if account in end.stopped:
        words = f"the vendor was stopped: {end.stopped[account]}"
        is_refused = any(failure is not None and stops_vendor(failure) for failure in map(_failure, records))
        return ("stopped" if is_refused or stage != "level" else None), words
    if guard.is_late:
        return "time", None
    return ("cost", None) if guard.reason is not None else (None, None)


def _failure(record: Record) -> Failure | None:
    return None if record.final is None else record.final.failure
