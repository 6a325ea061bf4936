"""The commands ``run`` and ``demo``.

What sends and scores is imported when they are called: help stays quick.
"""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

import shlex
from collections.abc import Collection
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated

from vendor_verifier.cli.options import DISPLAY, Display, Settings
from vendor_verifier.cli.output import EXIT_INCOMPLETE, EXIT_OK, SIGNAL_BASE, gates_exit_code, print_lines, say, warn
from vendor_verifier.config.document import read_environment
from vendor_verifier.config.run_config import INPUT, OUTPUT, OutputDir, RunOptions, option, run_options
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.resources import shipped
from vendor_verifier.store import NO_HISTORY

if TYPE_CHECKING:
    from vendor_verifier.pipeline.run import RunOutcome


def run_command(
    *,
    options: Settings = None,
    dry_run: Annotated[bool, option("Show what would be sent, its time and cost; send nothing.", INPUT)] = False,
    display: Display = DISPLAY,
) -> int:
    """Send every sample to every configured vendor, score the answers, rank the vendors."""
    return _run(options or RunOptions(), display, dry_run=dry_run)


def demo_command(
    *,
    limit: Annotated[int | None, option("Use only N samples, of all categories.", OUTPUT, "-n")] = None,
    suite: Annotated[tuple[str, ...], option("Run this evaluation (repeatable). [default: trigger]", OUTPUT)] = (),
    set: Annotated[tuple[str, ...], option("Option of an evaluation, as suite.key=value (repeatable).", OUTPUT)] = (),
    seed: Annotated[int, option("Seed of the simulated answers.", OUTPUT)] = 0,
    output_dir: OutputDir = None,
    dry_run: Annotated[bool, option("Show what would be sent; send nothing.", OUTPUT)] = False,
    serve: Annotated[bool, option("Serve the simulated vendors on port 8600 instead.", OUTPUT)] = False,
    display: Display = DISPLAY,
) -> int:
    """Try it on built-in simulated vendors: no key, no network, under a minute."""
    if serve:
        return int(resolve_name("vendor_verifier.features.simulate.command:simulate_command")(seed=seed))
    from vendor_verifier.config.entries import SIMULATED_MODEL

    options = run_options(
        config_file_path=shipped("config_simulated.yaml"),
        model=(SIMULATED_MODEL,),
        suite=suite,
        set=set,
        limit=limit,
        seed=seed,
        request_concurrency=5,
        output_dir=output_dir,
        history=NO_HISTORY,
    )
    # So bad that a small run is incomplete, which must not fail the demonstration.
    return _run(options, display, dry_run=dry_run, meant_to_fail=(f"{SIMULATED_MODEL}: cutter",))


def _run(options: RunOptions, display: Display, *, dry_run: bool, meant_to_fail: Collection[str] = ()) -> int:
    """Plan, send, score and print, and return the exit code; with ``dry_run`` only plan and print.

    Vendors in ``meant_to_fail`` (``model: label``) may be incomplete without failing the run.
    """
    from vendor_verifier.cli.progress import progress
    from vendor_verifier.pipeline.plan import prepare
    from vendor_verifier.pipeline.run import run

    prepared = prepare(options, read_environment(), require_keys=not dry_run)
    options = prepared.options
    # Shown before anything is spent, with --quiet too, being no progress; the printed result does not repeat them.
    shown = prepared.plan.warnings
    for warning in shown:
        warn(warning)
    if dry_run:
        from vendor_verifier.pipeline.estimate import forecast, forecast_lines

        foreseen = forecast(prepared)
        print_lines(foreseen, forecast_lines(prepared, foreseen), as_json=display.json)
        return EXIT_OK
    with progress(quiet=display.quiet, verbose=display.verbose) as watcher:
        outcome = run(prepared, on_start=watcher.started, on_record=watcher.finished)
    # It loads pandas, for which sending does not wait.
    from vendor_verifier.cli.stored import keep_and_print

    keep_and_print(outcome.folder, outcome.scored, options.history, as_json=display.json, shown=shown)
    # A demonstration has no --incremental.
    return _exit_code(outcome, meant_to_fail, can_go_on=not (meant_to_fail or prepared.plan.load.is_timed))


def _exit_code(outcome: "RunOutcome", meant_to_fail: Collection[str], *, can_go_on: bool) -> int:
    from vendor_verifier.pipeline.run import unfinished_vendors

    where = shlex.quote(str(outcome.folder.path))
    go_on = f"; continue with --incremental -o {where}" if can_go_on else ""
    if outcome.signal_number is not None:
        vendors = [vendor for model in outcome.report.models.values() for vendor in model.vendors.values()]
        done, planned = sum(vendor.recorded for vendor in vendors), sum(vendor.planned for vendor in vendors)
        say(f"interrupted: {done} of {planned} requests are done{go_on}")
        return SIGNAL_BASE + outcome.signal_number
    unfinished = unfinished_vendors(outcome)
    for _, words in unfinished:
        say(f"incomplete: {plain(words, MAX_SENTENCE)}")
    if outcome.limit is not None:
        say(f"incomplete: {outcome.limit}{go_on}")
    # What an incomplete run proves stays proven.
    if (code := gates_exit_code(outcome.report)) != EXIT_OK:
        return code
    is_whole = outcome.limit is None and all(name in meant_to_fail for name, _ in unfinished)
    return EXIT_OK if is_whole else EXIT_INCOMPLETE
