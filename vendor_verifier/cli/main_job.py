"""The main job of the command line: plan, send, score, print, and an exit code; or what ``--dry-run`` prints."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from vendor_verifier.cli.options import Display
from vendor_verifier.cli.output import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    SIGNAL_BASE,
    duration,
    gates_exit_code,
    print_report,
    say,
    warn,
)
from vendor_verifier.cli.progress import progress
from vendor_verifier.config.env_file import read_environment
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.lazy_import import registered
from vendor_verifier.pipeline.estimate import (
    ANSWER_S,
    ANSWER_TOKENS,
    BYTES_PER_TOKEN,
    EntryForecast,
    Forecast,
    forecast,
)
from vendor_verifier.pipeline.plan import Prepared, prepare
from vendor_verifier.pipeline.run import RunOutcome, run, unfinished_vendors
from vendor_verifier.records.manifest import StoredLoad
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.formats import usd
from vendor_verifier.text import counted

_WIDTH = 1_000
# Below this a verdict has too little evidence, see docs/verdict.md.
ENOUGH_SAMPLES = 150


def run_main_job(
    options: RunOptions, display: Display, *, dry_run: bool = False, meant_to_fail: Collection[str] = ()
) -> int:
    """Run the main job by its flags and return the exit code.

    Vendors in ``meant_to_fail`` (``model: label``) may be incomplete without failing the run.
    """
    prepared = prepare(options, read_environment(), require_keys=not dry_run)
    options = prepared.options
    # Shown before anything is spent, with --quiet too, being no progress; the printed result does not repeat them.
    shown = prepared.plan.warnings
    for warning in shown:
        warn(warning)
    if dry_run:
        _print_dry_run(prepared, as_json=display.json)
        return EXIT_OK
    with progress(quiet=display.quiet, verbose=display.verbose) as watcher:
        outcome = run(prepared, on_start=watcher.started, on_record=watcher.finished)
    if options.history != Path("none"):
        file = registered("file of the history")(options.history)
        if (unkept := registered("remembering a run")(outcome.folder, outcome.scored, file)) is not None:
            warn(unkept)
    print_report(outcome.scored, run=outcome.folder.path, as_json=display.json, shown=shown)
    return _exit_code(outcome, meant_to_fail, can_go_on=not prepared.plan.load.is_timed)


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


def _print_dry_run(prepared: Prepared, *, as_json: bool) -> None:
    """Print the estimate of a prepared run on stdout, as lines of text or as JSON."""
    foreseen = forecast(prepared)
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(foreseen), indent=2).decode() + "\n")
        return
    for line in _lines(prepared, foreseen):
        text = line.lstrip()
        sys.stdout.write(" " * (len(line) - len(text)) + plain(text, _WIDTH) + "\n")


def _lines(prepared: Prepared, foreseen: Forecast) -> Iterator[str]:
    """The tasks, two lines for each vendor, the totals and what they assume."""
    plan = prepared.plan
    for each in prepared.evaluations:
        times = "as often as time allows" if plan.load.is_timed else counted(plan.repeat, "time")
        yield f"{each.kind.name}: {counted(len(each.task.samples), 'sample')} of {each.dataset.name}, sent {times}"
    if load := StoredLoad.of(plan.load):
        yield f"load: {load}"
    for entry, own in zip(plan.entries, foreseen.entries, strict=True):
        baseline = " (baseline)" if entry.is_baseline else ""
        key = f"key from {entry.key_name}" if entry.key_name else "no key"
        address = f"{entry.endpoint.base_url} ({entry.wire})"
        yield f"{entry.model} / {entry.label}{baseline}: {address}, {entry.endpoint.model_id}, {key}"
        at_once = f"at most {own.concurrency}" if own.is_open else str(own.concurrency)
        requests = counted(f"{own.requests:,}", "request")
        yield f"  {requests}, {at_once} at a time, about {duration(own.duration_s)}, {_money(own)}"
        yield f"  about {own.input_tokens:,} tokens in and {own.output_tokens:,} out"
    money = "unknown price"
    if foreseen.unpriced < len(foreseen.entries):
        more = f" and {counted(foreseen.unpriced, 'vendor')} without a known price" if foreseen.unpriced else ""
        money = f"about {usd(foreseen.cost_usd)}{more}" if foreseen.cost_usd else "free"
    requests = counted(f"{foreseen.requests:,}", "request")
    yield f"total: {requests}, up to {foreseen.retries} retries each, about {duration(foreseen.duration_s)}, {money}"
    if foreseen.max_requests is not None:
        yield f"--max-requests stops the run after {foreseen.max_requests:,} requests, retries included"
    if foreseen.max_cost_usd is not None:
        yield f"--max-cost stops the run at about {usd(foreseen.max_cost_usd)}"
    is_compared = any(each.kind.compares for each in prepared.evaluations)
    if is_compared and foreseen.compared is None:
        has_baseline = any(entry.is_baseline for entry in plan.entries)
        what = "set --baseline-repeats 2" if has_baseline else "it needs a baseline (`is_baseline: true`)"
        yield f"verdict: no comparison; {what}"
    elif is_compared and foreseen.compared is not None and foreseen.compared < ENOUGH_SAMPLES:
        samples = counted(foreseen.compared, "sample")
        yield f"verdict: no vendor can be recommended with {samples}; use {ENOUGH_SAMPLES} or more"
    yield (
        f"assumptions: {BYTES_PER_TOKEN:g} bytes a token; {ANSWER_TOKENS} tokens and {ANSWER_S:g} s an answer; "
        "no caching, no tool calls that lead to further requests"
    )
    yield "nothing was sent"


def _money(estimate: EntryForecast) -> str:
    if estimate.price is None or estimate.cost_usd is None:
        return "unknown price (add `price:` to the entry)"
    if estimate.price.source == "simulated":
        return "free"
    return f"about {usd(estimate.cost_usd)} (price: {estimate.price.source})"
