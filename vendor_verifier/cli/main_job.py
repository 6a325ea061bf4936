"""Runs the main job for the command line: plan, send, score, print, and an exit code."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from vendor_verifier.cli.options import Display
from vendor_verifier.cli.output import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    SIGNAL_BASE,
    gates_exit_code,
    print_report,
    say,
    warn,
)
from vendor_verifier.cli.progress import progress
from vendor_verifier.config.load import read_environment
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.lazy_import import registered
from vendor_verifier.pipeline.plan import prepare
from vendor_verifier.pipeline.run import RunOutcome, run, unfinished_vendors
from vendor_verifier.reports.escape import MAX_SENTENCE, plain

# The options that a run keeps from its first session.
_SCORING = frozenset({"undecided", "schema_policy", "rank_metric", "baseline_f1", "monthly_requests", "monthly_tokens"})


def run_main_job(
    options: RunOptions, display: Display, *, dry_run: bool = False, meant_to_fail: Collection[str] = ()
) -> int:
    """Run the main job by its flags and return the exit code.

    Vendors in ``meant_to_fail`` (``model: label``) may be incomplete without failing the run.
    """
    is_rescored = bool(options.model_fields_set & _SCORING)
    prepared = prepare(options, read_environment(), require_keys=not dry_run)
    options = prepared.options
    # Shown before anything is spent, with --quiet too, being no progress; the printed result does not repeat them.
    shown = prepared.plan.warnings
    if options.incremental and is_rescored:
        warn("a resumed run keeps its scoring options; use `score` to change them")
    for warning in shown:
        warn(warning)
    if dry_run:
        from vendor_verifier.cli.dry_run import print_dry_run

        print_dry_run(prepared, as_json=display.json)
        return EXIT_OK
    with progress(quiet=display.quiet, verbose=display.verbose) as watcher:
        outcome = run(prepared, on_start=watcher.started, on_record=watcher.finished)
    if options.history != Path("none"):
        file = registered("file of the history")(options.history)
        if (unkept := registered("remembering a run")(outcome.folder, outcome.scored, file)) is not None:
            warn(unkept)
    print_report(outcome.scored, run=outcome.folder.path, as_json=display.json, shown=shown)
    return _exit_code(outcome, meant_to_fail, can_go_on=not prepared.plan.load.plans_by_doing)


def _exit_code(outcome: RunOutcome, meant_to_fail: Collection[str], *, can_go_on: bool) -> int:
    if outcome.signal_number is not None:
        return SIGNAL_BASE + outcome.signal_number
    unfinished = unfinished_vendors(outcome)
    for _, words in unfinished:
        say(f"incomplete: {plain(words, MAX_SENTENCE)}")
    if outcome.limit is not None:
        say(f"incomplete: {outcome.limit}" + ("; go on with --incremental" if can_go_on else ""))
    # What is proven of a run that is not whole stays proven.
    if (code := gates_exit_code(outcome.report)) != EXIT_OK:
        return code
    is_whole = outcome.limit is None and all(name in meant_to_fail for name, _ in unfinished)
    return EXIT_OK if is_whole else EXIT_INCOMPLETE
