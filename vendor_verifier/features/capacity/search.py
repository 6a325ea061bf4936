"""The search for capacity: unloaded, then level by level, one vendor after the other. It wires; rules live elsewhere.

Vendors go one at a time, because they would disturb each other through our own process. Everything is on disk after
each level: ``capacity.json`` with what was found, ``records.jsonl`` with the answers it rests on.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from vendor_verifier import __version__
from vendor_verifier.config.gates import NO_F1
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.features.capacity.curve import Curve, next_step, read_limits, requests_at
from vendor_verifier.features.capacity.run_level import Bench, send_level
from vendor_verifier.features.capacity.store import DOCUMENT, new_folder, new_rng, with_facts, write_capacity
from vendor_verifier.features.capacity.values import (
    FILLED,
    SUITE,
    UNLOADED_REPEATS,
    CapacityReport,
    CapacityRequest,
    Ended,
    EndReason,
    Point,
    SearchBounds,
    Stage,
    VendorCapacity,
)
from vendor_verifier.pipeline.manifest import now_text
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.run_warnings import costs_of
from vendor_verifier.pipeline.simulated_vendors import with_simulated_vendors
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import GuardedSpending
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.local_run import ensure_signals
from vendor_verifier.store import RunFolder
from vendor_verifier.transport.connect import ensure_descriptors
from vendor_verifier.transport.proxies import require_proxies
from vendor_verifier.values.judgement import Threshold
from vendor_verifier.values.plan import Arrival, Entry, Plan
from vendor_verifier.values.record import Record

OnPoint = Callable[[Entry, Point], None]


@dataclass(frozen=True, slots=True)
class CapacityOutcome:
    """A finished search: where it lies, what was found, and the signal that ended it, if one did."""

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
        """Send one level and judge it; why it was cut short, if it was."""
        first = self.curve.repetitions_at(stage, level)
        sitting, records, self.signal_number = send_level(
            self.bench, self.entry, stage, level, first=first, repetitions=repetitions
        )
        task = self.bench.prepared.plan.tasks[0]
        point = self.curve.add(sitting, with_facts(records, task.samples, ready_suite(SUITE, {}, task.samples)))
        self.on_point(self.entry, point)
        return sitting.cut


def measure_capacity(
    request: CapacityRequest,
    prepared: Prepared,
    *,
    on_point: OnPoint = lambda _entry, _point: None,
    on_record: Callable[[Record], None] = lambda _record: None,
) -> CapacityOutcome:
    """Find what every vendor of the plan bears.

    ``on_point`` is told of every level when it is judged, ``on_record`` of every counted answer as it comes.

    Raises:
        UsageError: signals cannot be handled here, a proxy that cannot be spoken to, what contradicts itself, a limit
            that cannot be meant, a budget that does not even cover the unloaded level, or more requests in flight than
            this machine has open files for.
        RunFolderError: the folder holds something already.
        StorageError: the disk refused a write; every record written before stays.
    """
    problems = list(_contradictions(request))
    if problems:
        raise ProblemsError(problems)
    ensure_signals()
    require_proxies(entry.endpoint.base_url for entry in prepared.plan.entries)
    thresholds = read_limits(request.limits, request.kind)
    if request.kind == "concurrency":
        ensure_descriptors(int(request.highest))
    bounds = _bounds(request, prepared)
    arrival = request.arrival or "poisson"
    plan = replace(prepared.plan, max_cost_usd=request.max_cost_usd)
    guard = GuardedSpending(max_cost_usd=request.max_cost_usd, costs=costs_of(plan))
    folder = new_folder(request.run.output_dir, prepared)
    report = _blank_report(request, plan, bounds, thresholds, arrival)
    scrubber = Scrubber(prepared.configuration.secrets)
    with (
        Journal(folder, scrubber) as journal,
        with_simulated_vendors(plan.entries, plan.seed, prepared.known_answers) as entries,
    ):
        bench = Bench(report.run, plan, prepared, request.kind, arrival, journal, scrubber, guard, on_record)
        signal_number: int | None = None
        for entry in entries:
            search = _Search(bench, entry, _curve(entry, report, plan), on_point)
            if signal_number is None:
                guard.is_late, guard.until_s = False, guard.clock() + request.max_s
                found = _searched(search, partial(_keep, folder, report, scrubber))
                signal_number = search.signal_number
            else:
                found = search.curve.concluded("interrupted")
            report = replace(report, vendors=(*report.vendors, found))
            write_capacity(folder, report, scrubber, language=request.run.language)
    return CapacityOutcome(folder, report, signal_number)


def _blank_report(
    request: CapacityRequest, plan: Plan, bounds: SearchBounds, thresholds: tuple[Threshold, ...], arrival: Arrival
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
        arrival=arrival if request.kind == "rate" else None,
        at_least=request.at_least,
        # Every vendor is compared with itself; that there is no baseline takes nothing away.
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
    """What is known while a vendor's search goes on; a search that is killed leaves this behind."""
    write_capacity(folder, replace(report, vendors=(*report.vendors, so_far)), scrubber, only=DOCUMENT)


def _searched(search: _Search, keep: Callable[[VendorCapacity], None]) -> VendorCapacity:
    curve = search.curve
    stopped = search.visit("unloaded", 1, UNLOADED_REPEATS)
    while stopped is None:
        keep(curve.concluded("interrupted"))
        step = next_step(curve.tried(), curve.bounds)
        if isinstance(step, Ended):
            break
        stopped = search.visit("level", step.level, step.repetitions)
    if stopped is None and curve.gave_way() is not None:
        # Whether what gave way comes back once the load is gone: if not, load was not the cause.
        search.visit("afterwards", 1, 1)
    return curve.concluded(stopped)


def _contradictions(request: CapacityRequest) -> Iterator[Problem]:
    if request.kind == "concurrency" and request.arrival is not None:
        yield Problem("says how requests of a rate follow each other; add --by rate, or leave it out", key="--arrival")
    if not math.isfinite(request.highest):
        yield Problem(f"read {request.highest:g}; expected a number from 1 on", key="--up-to")
    elif request.kind == "concurrency" and request.highest != int(request.highest):
        words = f"read {request.highest:g}; requests in flight are whole; write a whole number, or add --by rate"
        yield Problem(words, key="--up-to")
    if request.at_least is not None and request.at_least > request.highest:
        words = f"{request.at_least:g} lies above the highest level tried, {request.highest:g}; raise --up-to"
        yield Problem(words, key="--at-least")


def _bounds(request: CapacityRequest, prepared: Prepared) -> SearchBounds:
    samples = len(prepared.plan.tasks[0].samples)
    # One request warms each connection up; afterwards everything is asked once more.
    aside = samples + 1
    bounds = SearchBounds(
        kind=request.kind,
        highest=request.highest,
        samples=samples,
        max_requests=request.max_requests - aside,
        step=request.step,
        per_place=FILLED[request.kind],
    )
    least = UNLOADED_REPEATS * samples + 1 + aside + requests_at(min(2, request.highest), bounds)
    if request.max_requests < least:
        words = (
            f"read {request.max_requests}; {samples} samples need at least {least}: twice unloaded, one level, once "
            "afterwards; allow more, or take fewer samples with --limit"
        )
        raise ProblemsError([Problem(words, key="--max-requests")])
    return bounds
