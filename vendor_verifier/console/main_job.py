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
    warn,
)
from vendor_verifier.console.progress import progress
from vendor_verifier.lazy_import import registered
from vendor_verifier.pipeline.load_profile import foreseen
from vendor_verifier.pipeline.manifest import stored_load
from vendor_verifier.pipeline.plan import Prepared, prepare
from vendor_verifier.pipeline.run import RunOutcome, run, unfinished_vendors
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.run_conditions import load_words
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.words import Texts

_PLAN_WIDTH = 1_000


def run_main_job(options: CommandOptions, *, meant_to_fail: Collection[str] = ()) -> int:
    """Run the main job by its flags and return the exit code.

    Vendors in ``meant_to_fail`` (``model: label``) may be incomplete without failing the run.
    """
    # The database is loaded for a run that is to be remembered, and to refuse what contradicts itself.
    forgotten = options.no_history and options.history is None
    history = None if forgotten else registered("file of the history")(options.history, none=options.no_history)
    prepared = prepare(options, read_environment(), require_keys=not options.dry_run)
    # Shown before anything is spent, with --quiet too, being no progress; the printed result does not repeat them.
    shown = prepared.plan.warnings
    t = Texts()
    for warning in shown:
        warn(warning)
    if options.dry_run:
        _print_plan(prepared, t)
        return EXIT_OK
    with progress(quiet=options.quiet, verbose=options.verbose) as watcher:
        outcome = run(
            prepared,
            on_start=watcher.started,
            on_record=watcher.finished,
            on_notice=lambda words: None if options.quiet else say(plain(words, MAX_SENTENCE)),
        )
    unkept = None if history is None else registered("remembering a run")(outcome.folder, outcome.report, history)
    if unkept is not None:
        warn(unkept)
    print_report(outcome.report, run=outcome.folder.path, as_json=options.json, shown=shown)
    if not options.quiet:
        say_where(outcome.folder.path)
    return _exit_code(outcome, meant_to_fail, t, can_go_on=not prepared.plan.load.plans_by_doing)


def _print_plan(prepared: Prepared, t: Texts) -> None:
    plan = prepared.plan
    again = t("plan_again") if plan.load.plans_by_doing else t("plan_times", count=plan.repeat)
    lines = []
    for task in plan.tasks:
        name = prepared.datasets[task.suite].name
        lines.append(plain(t("plan_task", suite=task.suite, samples=len(task.samples), dataset=name, asked=again)))
        lines += ["  " + plain(words, _PLAN_WIDTH) for words in prepared.hooks[task.suite].planned()]
    lines += ["  " + plain(_planned(plan, entry, t)) for entry in plan.entries]
    shape = stored_load(plan.load)
    lines += [plain(load_words(shape, t))] if shape is not None else []
    numbers = [foreseen(plan.load, plan.records_of(entry), plan.seed) for entry in plan.entries]
    aside = (plan.load.warmup + plan.load.cooldown) * len(plan.entries)
    lines.append(
        t("plan_in_all_in_time") if None in numbers else t("plan_in_all", count=sum(filter(None, numbers)) + aside)
    )
    sys.stdout.write("\n".join(lines) + "\n")


def _planned(plan: Plan, entry: Entry, t: Texts) -> str:
    number = foreseen(plan.load, plan.records_of(entry), plan.seed)
    requests = t("plan_requests_in_time") if number is None else t("forecast_requests", requests=number)
    at_once = "forecast_at_once_most" if plan.load.is_open else "forecast_at_once"
    words = [
        f"{entry.model} / {entry.label}",
        t("plan_to", requests=requests, url=entry.endpoint.base_url),
        t("plan_model", model=entry.endpoint.model_id),
        t("plan_key", name=entry.key_name) if entry.key_name else t("plan_no_key"),
        t(at_once, count=entry.concurrency or plan.request_concurrency),
    ]
    if entry.is_baseline:
        times = None if plan.load.plans_by_doing else t("plan_times", count=plan.repeat_of(entry))
        words.append(t.joined([t("plan_baseline"), times], "clause"))
    return t.joined(words, "semicolon")


def _exit_code(outcome: RunOutcome, meant_to_fail: Collection[str], t: Texts, *, can_go_on: bool) -> int:
    if outcome.signal_number is not None:
        return SIGNAL_BASE + outcome.signal_number
    unfinished = unfinished_vendors(outcome)
    for _, words in unfinished:
        say(t("said_incomplete", words=plain(words, MAX_SENTENCE)))
    if outcome.limit is not None:
        words = t("said_go_on", words=outcome.limit) if can_go_on else outcome.limit
        say(t("said_incomplete", words=words))
    # What is proven of a run that is not whole stays proven.
    if (code := gates_exit_code(outcome.report)) != EXIT_OK:
        return code
    is_whole = outcome.limit is None and all(name in meant_to_fail for name, _ in unfinished)
    return EXIT_OK if is_whole else EXIT_INCOMPLETE
