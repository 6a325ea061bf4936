"""The commands ``check``, ``compare`` and ``history``; of these only ``check`` sends requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pandas as pd
from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.cli.options import DISPLAY, Display, Settings
from vendor_verifier.cli.output import EXIT_OK, EXIT_THRESHOLD, EXIT_USAGE, print_lines, say, warn
from vendor_verifier.cli.progress import progress
from vendor_verifier.config.document import read_environment, read_variables
from vendor_verifier.config.entries import NO_F1
from vendor_verifier.config.run_config import INPUT, OUTPUT, RunOptions, option
from vendor_verifier.errors import Problem, ProblemsError, UsageError, VerifierError
from vendor_verifier.features.history import compare, database
from vendor_verifier.features.history.check import (
    CheckResult,
    check_webhook,
    clear_old_runs,
    judge_check,
    only_check,
    post,
)
from vendor_verifier.features.history.database import ALIASES, WATCHED, figure_names
from vendor_verifier.features.history.trends import TREND_ORDER, trend_line, trends
from vendor_verifier.pipeline.plan import prepare
from vendor_verifier.pipeline.run import RunOutcome, run
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.reports import junit
from vendor_verifier.store import NO_HISTORY, RUNS, RunFolder, run_named
from vendor_verifier.text import counted, listed


def check_command(
    stored: Annotated[Path | None, Parameter(help="Check this run folder; send nothing. [default: a new run]")] = None,
    /,
    *,
    options: Settings = None,
    fail_on: Annotated[
        tuple[str, ...], option("Exit 1 if this figure stays worse (repeatable). [default: seven figures]", OUTPUT)
    ] = (),
    keep: Annotated[str | None, option("Delete runs under runs/ that are older, e.g. 90d.", OUTPUT)] = None,
    webhook_env: Annotated[str | None, option("Variable with the webhook's address.", OUTPUT)] = None,
    notify: Annotated[Literal["failure", "always"], option("When to call the webhook.", OUTPUT)] = "failure",
    display: Display = DISPLAY,
) -> int:
    """Run, judge verdicts, gates and history, and tell a webhook. One line when all is well.

    Exit codes: 0 passed; 1 a vendor differs, is down or is worse than the last time, a gate failed, or a figure got
    worse for good; 3 incomplete. A webhook changes none of them.
    """
    options = options or RunOptions()
    address = None
    if webhook_env is not None:
        # Checked before anything is sent, so that a bad address costs no run.
        variables = read_variables(options.config_file_path, options.env_file, read_environment())
        address = variables.values.get(webhook_env)
        if address is None:
            raise UsageError(f"--webhook-env: no {webhook_env} in {variables.env_file} nor in the environment")
        check_webhook(address, webhook_env)
    failure = None
    try:
        with only_check(RUNS):
            result = _checked(stored, options, display, fail_on, keep)
    except VerifierError as error:
        failure = error
        result = CheckResult(status="error", exit_code=error.exit_code, headline=f"check failed: {error}")
    is_told = notify == "always" or result.status != "passed"
    if address is not None and is_told and (trouble := post(address, result)) is not None:
        warn(trouble)
    if failure is not None:
        raise failure
    print_lines(result, [result.headline, *(f"  {line}" for line in result.lines)], as_json=display.json)
    return result.exit_code


def _checked(
    stored: Path | None, options: RunOptions, display: Display, fail_on: Sequence[str], keep: str | None
) -> CheckResult:
    if keep is not None and not re.fullmatch(r"[1-9]\d{0,4}d?", keep):
        problem = f"read {keep!r}; expected days such as 90d, at least 1d"
        raise ProblemsError([Problem(problem, key="--keep")])
    if stored is not None:
        folder = RunFolder(run_named(stored))
        figures = figure_names(fail_on, folder.read_manifest().suites, "--fail-on")
        outcome = RunOutcome(folder, score_folder(folder, gates=options.gate))
    else:
        prepared = prepare(options, read_environment())
        options = prepared.options
        if options.vendor and (lacking := [text for text in prepared.plan.warnings if NO_F1 in text]):
            raise UsageError(lacking[0])
        figures = figure_names(fail_on, options.suites, "--fail-on")
        with progress(quiet=not display.verbose, verbose=display.verbose) as watcher:
            outcome = run(prepared, on_start=watcher.started, on_record=watcher.finished)
    unkept = database.remember(outcome.folder, outcome.scored, options.history)
    warnings = [] if unkept is None else [unkept]
    if warnings or options.history == NO_HISTORY:
        history = database.history_frame([database.run_document(outcome.scored)])
    else:
        history = database.read_history(options.history)
    if keep is not None:
        limit = datetime.now(UTC) - timedelta(int(keep.removesuffix("d")))
        warnings += clear_old_runs(history, RUNS, limit, keep=outcome.folder.path)
    result = judge_check(outcome, history, figures or WATCHED, warnings)
    outcome.folder.write("check.json", msgspec.json.format(msgspec.json.encode(result)) + b"\n")
    outcome.folder.write("junit.xml", junit.render(outcome.scored, result.regressions))
    return result


def compare_command(
    before: Annotated[Path, Parameter(help="The older run folder.")],
    after: Annotated[Path, Parameter(help="The newer run folder.")],
    /,
    *,
    fail_on: Annotated[
        tuple[str, ...], option("Exit with 1 if this figure got worse (repeatable). [default: any]", OUTPUT)
    ] = (),
    json: Annotated[bool, option("Print JSON.", OUTPUT)] = False,
) -> int:
    """Compare two runs: verdicts, figures with intervals, and settings that differ.

    Exit codes: 0 nothing got worse, 1 a figure or a verdict did.
    """
    comparison = compare.compare_scored(*(score_folder(RunFolder(run_named(run))) for run in (before, after)))
    known = {"verdict", *(change.metric for change in comparison.changes)}
    wanted = {"avg_ttft_ms" if word == "ttft" else ALIASES.get(word, word) for word in fail_on}
    if comparison.changes and wanted - known:
        words = f"read {', '.join(sorted(wanted - known))}; compared are {', '.join(sorted(known))}"
        raise ProblemsError([Problem(words, key="--fail-on")])
    print_lines(comparison, compare.comparison_lines(comparison), as_json=json)
    if not comparison.changes:
        say("The runs have no figure of a vendor in common, so nothing was compared.")
        return EXIT_USAGE
    worse = {change.metric for change in comparison.changes if change.verdict == "worse"}
    worse |= {"verdict"} if any(change.is_worse for change in comparison.verdicts) else set()
    return EXIT_THRESHOLD if worse & (wanted or known) else EXIT_OK


def history_command(
    *,
    model: Annotated[tuple[str, ...], option("Show this model only (repeatable).", INPUT)] = (),
    vendor: Annotated[tuple[str, ...], option("Take this vendor or label only (repeatable).", INPUT)] = (),
    metric: Annotated[
        tuple[str, ...], option("Plot this figure over the runs: ttft, f1, tps, e2e_ms.p95 (repeatable).", INPUT)
    ] = (),
    limit: Annotated[int, option("List the newest N runs.", INPUT, "-n", check=Number(gte=1))] = 20,
    history: Annotated[Path | None, option("Read the history from here. [default: user data folder]", OUTPUT)] = None,
    json: Annotated[bool, option("Print JSON with every figure.", OUTPUT)] = False,
) -> int:
    """List the scored runs of the history, newest last, or plot figures over them.

    --metric plots a figure over the runs that asked the same, and shows whether a vendor got worse, which takes eight
    runs.
    """
    rows = database.read_history(history)
    if rows.empty:
        say("The history is empty. Every run adds itself to it, except with --history none.")
    shown = rows
    for key, wanted, columns in (("--model", model, ["model"]), ("--vendor", vendor, ["label", "vendor"])):
        known = sorted(set(rows[columns].to_numpy().ravel()))
        if wanted and known and not set(wanted) <= set(known):
            raise ProblemsError([Problem(f"read {', '.join(wanted)}; known are {listed(known, 20)}", key=key)])
        shown = shown[shown[columns].isin(wanted).any(axis=1)] if wanted else shown
    if metric:
        suites = [name.removeprefix("scores.") for name in rows.columns if name.startswith("scores.")]
        figures = figure_names(metric, suites, "--metric")
        chosen = set(shown[["model", "label"]].itertuples(index=False, name=None))
        # The other vendors of these runs tell what all had in common.
        asked = rows[rows["run"].isin(shown["run"])]
        found = [trend for trend in trends(asked, figures) if (trend.model, trend.label) in chosen]
        found.sort(key=lambda trend: TREND_ORDER.index(trend.verdict))
        print_lines(found, [trend_line(trend) for trend in found], as_json=json)
        for figure in [name for name in figures if all(trend.figure != name for trend in found)]:
            say(f"{figure} was not measured in the newest complete run, so there is no trend of it.")
        return EXIT_OK
    shown = shown[shown["run"].isin(shown["run"].unique()[-limit:])]
    rows_as_json = msgspec.json.decode(shown.to_json(orient="records", date_format="iso"))
    print_lines(rows_as_json, [_run_line(str(run), its) for run, its in shown.groupby("run", sort=False)], as_json=json)
    return EXIT_OK


def _run_line(run: str, rows: pd.DataFrame) -> str:
    """``2026-11-24 15:15  RUN  deepseek-v3.2  matches: 3 vendors; check: novita  runs/a1``."""
    words = [] if rows["complete"].iloc[0] else ["incomplete"]
    for status, its in rows[~rows["is_baseline"].astype(bool)].groupby("verdict", sort=False):
        who = counted(len(its), "vendor") if status == "matches" else listed(list(its["label"]))
        words.append(f"{str(status).replace('_', ' ')}: {who}")
    models = ", ".join(rows["model"].unique())
    return f"{rows['at'].iloc[0]:%Y-%m-%d %H:%M}  {run}  {models}  {'; '.join(words)}  {rows['folder'].iloc[0]}"
