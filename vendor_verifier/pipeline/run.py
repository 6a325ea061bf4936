"""The main job: plan → records → scores → files, with resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ClusterError, NobodyToSend, RunFolderError, UsageError
from vendor_verifier.pipeline.execute import queue_of, send, with_simulated_vendors
from vendor_verifier.pipeline.manifest import begun, redactor, resumed, with_ending
from vendor_verifier.pipeline.plan import Prepared, results_file, run_folder
from vendor_verifier.records.failures import SETTLED
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.record import Record
from vendor_verifier.records.request import ToolRunner
from vendor_verifier.records.results import Report
from vendor_verifier.run.event_loop import ensure_interruptible, quiet_collector
from vendor_verifier.run.journal import Journal, locked
from vendor_verifier.run.limits import Name
from vendor_verifier.run.load import Work, work_of
from vendor_verifier.run.local import RunEnd
from vendor_verifier.run.queue import WorkQueue
from vendor_verifier.store import RUNS, RunFolder, latest_run, point_to
from vendor_verifier.suites import is_diagnostic

if TYPE_CHECKING:
    from distributed import Security

    from vendor_verifier.scoring.figures import ScoredRun

OnRecord = Callable[[Record], None]
OnStart = Callable[[Mapping[Name, Work]], None]


class RunOutcome(msgspec.Struct, frozen=True):
    """A finished session: its run folder, its scores, and the signal or limit that ended it early, if any.

    ``spent_usd`` is what counted against a limit of costs, where this process sent itself.
    """

    folder: RunFolder
    scored: ScoredRun
    signal_number: int | None = None
    limit: str | None = None
    spent_usd: float | None = None

    @property
    def report(self) -> Report:
        """The results, as scores.json has them."""
        return self.scored.report


def run(
    prepared: Prepared,
    *,
    on_start: OnStart = lambda _work: None,
    on_record: OnRecord = lambda _record: None,
    security: Security | None = None,
) -> RunOutcome:
    """Run a plan, or resume its run if requested, and score it.

    ``on_start`` is called with the work due and done, ``on_record`` with every new record. Both are called by the
    thread that sends, so a slow callback distorts the times. ``security`` are the certificates of a Dask cluster.

    Raises:
        UsageError: it could not be ended from outside here.
        RunFolderError: the folder is locked, no run, or of another plan.
        StorageError: the disk refused a write; every record written before stays.
    """
    plan, options = prepared.plan, prepared.options
    ensure_interruptible()
    with ExitStack() as stack:
        # The tools that are really there, and what runs them.
        live = [
            stack.enter_context(each.hooks.live(task, plan.entries))
            for each, task in zip(prepared.evaluations, plan.tasks, strict=True)
        ]
        tools = next((runner for _, runner in live if runner is not None), None)
        prepared = replace(prepared, plan=structs.replace(plan, tasks=tuple(task for task, _ in live)))
        folder = _folder(options)
        stack.enter_context(locked(folder))
        stack.enter_context(_withdrawn_if_refused(folder, prepared))
        manifest, end = _fill(folder, prepared, tools, on_start, on_record, security)
        for each, stored in zip(prepared.evaluations, manifest.tasks, strict=True):
            # After a signal no further requests are sent.
            (each.hooks if end.signal_number is None else each.kind.around()).after_run(folder, stored)
    # pandas and scipy are loaded for scoring only, so that sending does not wait for them.
    from vendor_verifier.pipeline.score import score_and_write

    scored = score_and_write(folder, manifest.suites, results_file(options.output_dir))
    if run_folder(options.output_dir) is None:
        point_to(folder.path)
    return RunOutcome(folder, scored, end.signal_number, end.limit, end.spent_usd)


def _folder(options: RunOptions) -> RunFolder:
    """The folder of the run: a new one, the one that was asked for, or the one to resume."""
    output_dir = run_folder(options.output_dir)
    if options.incremental:
        folder = RunFolder(output_dir or latest_run())
        # A lock must not be left in a folder that is not ours.
        folder.read_manifest()
        return folder
    if output_dir is not None:
        return RunFolder(output_dir)
    # Named by the second (UTC), and numbered after the second's first.
    second = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = chain([second], (f"{second}-{number}" for number in count(2)))
    return next(folder for name in names if (folder := RunFolder(RUNS / name)).create())


def _fill(
    folder: RunFolder,
    prepared: Prepared,
    tools: ToolRunner | None,
    on_start: OnStart,
    on_record: OnRecord,
    security: Security | None,
) -> tuple[Manifest, RunEnd]:
    """Write the records that are missing in a locked folder; its manifest, and how sending ended."""
    is_new = not prepared.options.incremental
    manifest = begun(folder, prepared) if is_new else resumed(folder, prepared)
    with (
        Journal(folder, compress=prepared.options.compress) as journal,
        with_simulated_vendors(prepared.plan) as plan,
    ):
        queue = queue_of(plan, prepared.configuration.registry, prepared.wires)
        if not is_new:
            found = _cross_off(queue, folder, journal)
            manifest = structs.replace(manifest, warnings=list(dict.fromkeys([*manifest.warnings, *found])))
            folder.write_manifest(manifest)
        redact = redactor(plan, queue.parts)

        def emit(records: Sequence[Record]) -> None:
            if plan.redact_content:
                records = [redact(record) for record in records]
            journal.append(records)
            for record in records:
                on_record(record)

        on_start(work_of(prepared.plan, queue))
        try:
            with quiet_collector():
                end, executor = send(manifest.run, plan, queue, prepared, emit=emit, tools=tools, security=security)
        except ClusterError as error:
            # Its workers, versions, regions and losses are facts, too.
            if error.executor is not None:
                executors = [*manifest.executors, error.executor]
                folder.write_manifest(structs.replace(manifest, executors=executors))
            raise
        manifest = with_ending(manifest, end, prepared.plan, executor)
        folder.write_manifest(manifest)
    return manifest, end


def _cross_off(queue: WorkQueue, folder: RunFolder, journal: Journal) -> list[str]:
    """Remove answered samples from ``queue``, leaving failed and missing ones; return problems of unreadable lines."""
    warnings: list[str] = []
    if journal.torn:
        warnings.append("records.jsonl ended with an incomplete line. It is dropped; its sample is sent again.")

    for record in folder.read_records(
        lambda line, reason: warnings.append(f"{line} is not a record ({reason}); its sample is sent again.")
    ):
        if is_answered(record):
            queue.cross_off(record.key)
    return warnings


def is_answered(record: Record) -> bool:
    """Whether the record need not be asked again: it succeeded, or is a feature check answered by a refusal."""
    if record.succeeded:
        return True
    if not is_diagnostic(record.suite) or not record.finals:
        return False
    return all(each.failure.kind in SETTLED if each.failure is not None else each.succeeded for each in record.finals)


@contextmanager
def _withdrawn_if_refused(folder: RunFolder, prepared: Prepared) -> Iterator[None]:
    """Take a new folder away where the run is refused, or ended, before anything was sent, so that the same command can
    be given again."""
    try:
        yield
    except RunFolderError:
        # It holds another run.
        raise
    except (UsageError, NobodyToSend, KeyboardInterrupt):
        if not prepared.options.incremental:
            folder.withdraw(task.suite for task in prepared.plan.tasks)
        raise


def unfinished_vendors(outcome: RunOutcome) -> list[tuple[str, str]]:
    """(``model: label``, sentence) of vendors that were stopped, or of whose requests more than half failed.

    What a limit of ours kept from being sent is no failure.
    """
    stopped = outcome.scored.manifest.stopped
    found: list[tuple[str, str]] = [(name, f"{name} was stopped: {reason}") for name, reason in stopped.items()]
    for model, vendors in outcome.report.models.items():
        for label, vendor in vendors.vendors.items():
            name, asked = f"{model}: {label}", vendor.planned if outcome.limit is None else vendor.recorded
            if name not in stopped and 2 * vendor.succeeded < asked:
                found.append((name, f"{name} answered {vendor.succeeded} of {asked} requests"))
            for suite, result in vendor.suites.items():
                # Feature checks that gave no verdict at all, although features were there to check.
                if name not in stopped and not result.judged and "not_measurable" in result.checks.values():
                    found.append((name, f"{name}: nothing could be measured of {suite}"))
    return found
