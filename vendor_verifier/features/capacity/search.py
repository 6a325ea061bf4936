"""The search for capacity: unloaded, then level by level, one vendor after the other.

Vendors go one at a time, because they would disturb each other through our own process. Everything is on disk after
each level: ``capacity.json`` with what was found, ``records.jsonl`` with the answers it rests on.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial

from msgspec import structs

from vendor_verifier import __version__
from vendor_verifier.config.gates import NO_F1
from vendor_verifier.errors import NobodyToSend, Problem, ProblemsError, UsageError
from vendor_verifier.features.capacity.curve import Curve, requests_at
from vendor_verifier.features.capacity.levels_asked import highest, sweep_levels, sweep_problems
from vendor_verifier.features.capacity.limits import read_limits
from vendor_verifier.features.capacity.sending import Bench, send_level
from vendor_verifier.features.capacity.store import DOCUMENT, new_folder, new_rng, with_observations, write_capacity
from vendor_verifier.features.capacity.values import (
    FILLED,
    UNLOADED_REPEATS,
    CapacityOptions,
    CapacityReport,
    Ended,
    EndReason,
    Point,
    SearchBounds,
    Session,
    Stage,
    VendorCapacity,
)
from vendor_verifier.pipeline.manifest import now_text
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.prices import costs_of
from vendor_verifier.pipeline.simulated_vendors import with_simulated_vendors
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import GuardedSpending
from vendor_verifier.run.executors import kept_ready
from vendor_verifier.run.interruption import ensure_interruptible
from vendor_verifier.run.journal import Journal
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import TRIGGER
from vendor_verifier.transport.connect import ensure_descriptors
from vendor_verifier.transport.proxies import require_proxies
from vendor_verifier.values.judgement import Threshold
from vendor_verifier.values.plan import Arrival, Entry, Plan
from vendor_verifier.values.record import Record

OnPoint = Callable[[Entry, Point], None]


@dataclass(frozen=True, slots=True)
class CapacityOutcome:
    """A finished search: its folder, its report, and the signal that ended it, if one did."""

    folder: RunFolder
    report: CapacityReport
    signal_number: int | None = None


@dataclass(slots=True)
class _Search:
    """One vendor's search under way."""

    bench: Bench
    entry: Entry
    curve: Curve
    on_point: OnPoint
    signal_number: int | None = None

    def visit(self, stage: Stage, level: float, repetitions: int) -> EndReason | None:
        """Send one level and judge it; return the reason that it was cut short, or None.

        Where workers of ours were lost it is sent once more, and not judged if that happens again.
        """
        session, records = self._send(stage, level, repetitions)
        if session.is_aside and self.curve.has_room_for(session.requests):
            self.curve.set_aside(session)
            session, records = self._send(stage, level, repetitions)
        if session.is_aside:
            session = replace(session, cut="workers")
        task = self.bench.prepared.plan.tasks[0]
        own = [] if session.lost else records
        suite = ready_suite(TRIGGER, {}, task.samples)
        self.on_point(self.entry, self.curve.add(session, with_observations(own, task.samples, suite)))
        return session.cut

    def _send(self, stage: Stage, level: float, repetitions: int) -> tuple[Session, Sequence[Record]]:
        first = self.curve.repetitions_at(stage, level)
        unloaded = self.curve.unloaded
        # A refused place is not filled again at once: it comes back when an answer without load would have ended, as a
        # user's would, and the vendor is not flooded with what it refuses.
        rest_s = 0.0 if stage != "level" or unloaded is None else (unloaded.e2e_p50_ms or 0.0) / 1000
        session, records, self.signal_number = send_level(
            self.bench, self.entry, stage, level, first=first, repetitions=repetitions, rest_s=rest_s
        )
        return session, records


def measure_capacity(
    options: CapacityOptions,
    prepared: Prepared,
    *,
    on_point: OnPoint = lambda _entry, _point: None,
    on_record: Callable[[Record], None] = lambda _record: None,
    on_notice: Callable[[str], None] = lambda _words: None,
) -> CapacityOutcome:
    """Find the capacity of every vendor of the plan.

    ``on_point`` is called for every level when it is judged, ``on_record`` for every counted answer as it comes,
    ``on_notice`` is told once where else one may look on.

    Raises:
        UsageError: signals cannot be handled here, a proxy that cannot be spoken to, what contradicts itself, a limit
            that cannot be meant, a budget that does not even cover the unloaded level, or more requests in flight than
            this machine has open files for.
        RunFolderError: the folder holds something already.
        StorageError: the disk refused a write; every record written before stays.
        ClusterError: the cluster went away; what was found before stays.
    """
    problems = list(_contradictions(options))
    if problems:
        raise ProblemsError(problems)
    ensure_interruptible()
    require_proxies(entry.endpoint.base_url for entry in prepared.plan.entries)
    thresholds = read_limits(options.slo, options.by)
    if options.by == "concurrency":
        ensure_descriptors(int(highest(options)))
    bounds = _bounds(options, prepared)
    arrival = options.arrival or "poisson"
    plan = structs.replace(prepared.plan, max_cost_usd=options.max_cost)
    guard = GuardedSpending(max_cost_usd=options.max_cost, costs=costs_of(plan))
    folder = new_folder(options.output_dir, prepared)
    report = _blank_report(options, plan, bounds, thresholds, arrival)
    scrubber = Scrubber(prepared.configuration.secrets)
    with (
        _withdrawn_if_refused(folder),
        kept_ready(plan.executor),
        Journal(folder, scrubber) as journal,
        with_simulated_vendors(plan.entries, plan.seed, prepared.known_answers) as entries,
    ):
        told = cache(on_notice)
        bench = Bench(
            report.run, plan, prepared, options.by, arrival, folder, journal, scrubber, guard, on_record, told
        )
        signal_number: int | None = None
        for entry in entries:
            search = _Search(bench, entry, _curve(entry, report, plan), on_point)
            if signal_number is None:
                guard.is_late, guard.until_s = False, guard.clock() + options.max_seconds
                found = _searched(search, partial(_keep, folder, report, scrubber))
                signal_number = search.signal_number
            else:
                found = search.curve.concluded("interrupted")
            report = replace(report, vendors=(*report.vendors, found))
            write_capacity(folder, report, scrubber)
    return CapacityOutcome(folder, report, signal_number)


@contextmanager
def _withdrawn_if_refused(folder: RunFolder) -> Iterator[None]:
    """Take the folder away where nothing could be sent, so that the same command can be given again."""
    try:
        yield
    except (UsageError, NobodyToSend, KeyboardInterrupt):
        folder.withdraw([TRIGGER])
        raise


def _blank_report(
    options: CapacityOptions, plan: Plan, bounds: SearchBounds, thresholds: tuple[Threshold, ...], arrival: Arrival
) -> CapacityReport:
    """The report of a search that has found nothing yet."""
    return CapacityReport(
        run=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}",
        created_at=now_text(),
        version=__version__,
        bounds=bounds,
        thresholds=thresholds,
        seed=plan.seed,
        vendors=(),
        arrival=arrival if options.by == "rate" else None,
        at_least=options.at_least,
        # Every vendor is compared with itself, so no baseline is needed.
        warnings=tuple(warning for warning in plan.warnings if not warning.endswith(NO_F1)),
    )


def _curve(entry: Entry, report: CapacityReport, plan: Plan) -> Curve:
    return Curve(
        entry.model,
        entry.label,
        entry.vendor,
        report.thresholds,
        [sample.id for sample in plan.tasks[0].samples],
        report.bounds,
        partial(new_rng, report.seed),
    )


def _keep(folder: RunFolder, report: CapacityReport, scrubber: Scrubber, so_far: VendorCapacity) -> None:
    """Write the intermediate result of a vendor's search, so that a search that is killed leaves it behind."""
    write_capacity(folder, replace(report, vendors=(*report.vendors, so_far)), scrubber, only=DOCUMENT)


def _searched(search: _Search, keep: Callable[[VendorCapacity], None]) -> VendorCapacity:
    curve = search.curve
    stopped = search.visit("unloaded", 1, UNLOADED_REPEATS)
    while stopped is None:
        keep(curve.concluded("interrupted"))
        step = curve.next_step()
        if isinstance(step, Ended):
            break
        stopped = search.visit("level", step.level, step.repetitions)
    if stopped is None and curve.gave_way() is not None:
        # Whether the missed limits are kept again once the load is gone: if not, load was not the cause.
        search.visit("afterwards", 1, 1)
    return curve.concluded(stopped)


def _contradictions(options: CapacityOptions) -> Iterator[Problem]:
    if options.by == "concurrency" and options.arrival is not None:
        yield Problem("says how requests of a rate follow each other; add --by rate, or leave it out", key="--arrival")
    if options.sweep is not None:
        yield from sweep_problems(options)
    elif not math.isfinite(options.up_to):
        yield Problem(f"read {options.up_to:g}; expected a number from 1 on", key="--up-to")
    elif options.by == "concurrency" and options.up_to != int(options.up_to):
        words = f"read {options.up_to:g}; requests in flight are whole; write a whole number, or add --by rate"
        yield Problem(words, key="--up-to")
    if options.at_least is not None and options.at_least > highest(options):
        flag = "--up-to" if options.sweep is None else "--sweep"
        words = f"{options.at_least:g} lies above the highest level tried, {highest(options):g}; raise {flag}"
        yield Problem(words, key="--at-least")


def _bounds(options: CapacityOptions, prepared: Prepared) -> SearchBounds:
    samples = len(prepared.plan.tasks[0].samples)
    # One request warms each connection up; afterwards everything is asked once more.
    aside = samples + 1
    bounds = SearchBounds(
        kind=options.by,
        highest=highest(options),
        samples=samples,
        max_requests=options.max_requests - aside,
        step=options.step,
        per_place=FILLED[options.by],
        sweep=sweep_levels(options),
    )
    levels = bounds.sweep or (min(2, options.up_to),)
    least = UNLOADED_REPEATS * samples + 1 + aside + sum(requests_at(level, bounds) for level in levels)
    if options.max_requests < least:
        which = f"{len(levels)} levels" if bounds.sweep else "one level"
        words = (
            f"read {options.max_requests}; {samples} samples need at least {least}: twice unloaded, {which}, once "
            "afterwards; allow more, or take fewer samples with --limit"
        )
        raise ProblemsError([Problem(words, key="--max-requests")])
    return bounds
