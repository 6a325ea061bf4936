"""Runs the main job for the command line: plan, send, score, print, and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Collection

from vendor_verifier.config import read_environment
from vendor_verifier.console.options import CommandOptions
from vendor_verifier.console.output import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    SIGNAL_BASE,
    gates_exit_code,
    print_report,
    say,
    say_where,
)
from vendor_verifier.console.progress import progress
from vendor_verifier.lazy_import import registered
from vendor_verifier.pipeline.load_profile import foreseen
from vendor_verifier.pipeline.manifest import stored_load
from vendor_verifier.pipeline.plan import Prepared, prepare
from vendor_verifier.pipeline.run import RunOutcome, run, unfinished_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.run_conditions import load_words
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.words import Texts


def run_main_job(options: CommandOptions, *, meant_to_fail: Collection[str] = ()) -> int:
    """Run the main job by its flags and return the exit code.

    Vendors in ``meant_to_fail`` (``model: label``) may be incomplete without failing the run.
    """
    history = registered("file of the history")(options.history, none=options.no_history)
    prepared = prepare(options, read_environment(), require_keys=not options.dry_run)
    # Shown before anything is spent, with --quiet too, being no progress; the printed result does not repeat them.
    shown = prepared.plan.warnings
    for warning in shown:
        say(f"warning: {plain(warning)}")
    if options.dry_run:
        _print_plan(prepared)
        return EXIT_OK
    with progress(quiet=options.quiet, verbose=options.verbose) as watcher:
        outcome = run(prepared, on_start=watcher.started, on_record=watcher.finished)
    unkept = registered("remembering a run")(outcome.folder, outcome.report, history)
    if unkept is not None:
        say(f"warning: {plain(unkept)}")
    print_report(outcome.report, options.lang, as_json=options.json, shown=shown)
    if not options.quiet:
        say_where(outcome.folder.path)
    return _exit_code(outcome, meant_to_fail, can_go_on=not prepared.plan.load.plans_by_doing)


def _print_plan(prepared: Prepared) -> None:
    plan = prepared.plan
    lines = [
        plain(
            f"{task.suite}: {len(task.samples)} samples of {prepared.datasets[task.suite].name}, "
            + ("asked again and again" if plan.load.plans_by_doing else f"asked {plan.repeat} time(s)")
        )
        for task in plan.tasks
    ]
    for entry in plan.entries:
        words = [
            f"{entry.model} / {entry.label}",
            f"{_requests(plan, entry)} to {entry.endpoint.base_url}",
            f"model {entry.endpoint.model_id}",
            f"key {'from ' + entry.key_name if entry.key_name else 'none'}",
            f"{'at most ' if plan.load.is_open else ''}{entry.concurrency or plan.request_concurrency} at a time",
        ]
        times = "" if plan.load.plans_by_doing else f", asked {plan.repeat_of(entry)} time(s)"
        words += [f"baseline{times}"] if entry.is_baseline else []
        lines.append("  " + plain("; ".join(words)))
    shape = stored_load(plan.load)
    lines += [plain(load_words(shape, Texts("en")))] if shape is not None else []
    numbers = [foreseen(plan.load, plan.records_of(entry), plan.seed) for entry in plan.entries]
    aside = (plan.load.warmup + plan.load.cooldown) * len(plan.entries)
    whole = (
        "as many requests as the vendors answer in time"
        if None in numbers
        else f"{sum(filter(None, numbers)) + aside} requests in all"
    )
    lines.append(f"{whole}, retries not counted; nothing was sent")
    sys.stdout.write("\n".join(lines) + "\n")


def _requests(plan: Plan, entry: Entry) -> str:
    found = foreseen(plan.load, plan.records_of(entry), plan.seed)
    return "as many requests as are answered in time" if found is None else f"{found} requests"


def _exit_code(outcome: RunOutcome, meant_to_fail: Collection[str], *, can_go_on: bool) -> int:
    if outcome.signal_number is not None:
        return SIGNAL_BASE + outcome.signal_number
    unfinished = unfinished_vendors(outcome)
    for _, words in unfinished:
        say(f"incomplete: {plain(words)}")
    if outcome.limit is not None:
        say(f"incomplete: {outcome.limit}" + ("; go on with --incremental" if can_go_on else ""))
    if outcome.limit is not None or any(name not in meant_to_fail for name, _ in unfinished):
        return EXIT_INCOMPLETE
    return gates_exit_code(outcome.report)
