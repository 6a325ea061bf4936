"""The commands ``check``, ``compare`` and ``history``; of these only ``check`` sends requests."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.console.options import CommandOptions
from vendor_verifier.console.output import EXIT_OK, EXIT_THRESHOLD, EXIT_USAGE, say, warn
from vendor_verifier.errors import Problem, ProblemsError, UsageError, VerifierError
from vendor_verifier.pipeline.options import JUDGE, OUTPUT, WHAT, flag, many, option
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.text import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from vendor_verifier.features.history.check import CheckResult
    from vendor_verifier.features.history.trends import Trend

Notify = Literal["failure", "always"]
HISTORY = Annotated[Path | None, option("Read the history from here. [default: user data folder]", OUTPUT)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of ``check`` that ``run`` does not have."""

    fail_on: Annotated[
        tuple[str, ...], many("Fail when this figure got worse for good (repeatable). [default: seven]", JUDGE)
    ] = ()
    keep: Annotated[str | None, option("Delete runs under runs/ that are older than N days: 90d.", OUTPUT)] = None
    webhook_env: Annotated[str | None, option("Take the webhook's address from this variable.", OUTPUT)] = None
    notify: Annotated[Notify, option("Call the webhook on failure, or always.", OUTPUT)] = "failure"


_RUN = CommandOptions()
_CHECK = CheckOptions()


def check_command(options: CommandOptions = _RUN, check: CheckOptions = _CHECK) -> int:
    """Run, judge verdicts, gates and history, write the reports, and tell a webhook. One line when all is well.

    Exit codes: 0 passed; 1 a vendor differs, is down or is worse than the last time, a gate failed, or a figure got
    worse for good; 3 incomplete. A webhook changes none of them.
    """
    from vendor_verifier.config import read_environment
    from vendor_verifier.config.env_file import read_variables
    from vendor_verifier.features.history.check import CheckResult
    from vendor_verifier.features.history.webhook import post, read_webhook

    webhook = None
    if check.webhook_env is not None:
        # Checked before anything is sent, so that a bad address costs no run.
        found = read_variables(options.config_file_path, options.env_file, read_environment())
        address = found.get(check.webhook_env)
        if address is None:
            raise UsageError(f"--webhook-env: no {check.webhook_env} in {found.env_file} nor in the environment")
        webhook = read_webhook(address, check.webhook_env)
    failure: VerifierError | None = None
    try:
        result = _checked(options, check)
    except VerifierError as error:
        failure, headline = error, plain(f"check failed: {error}", MAX_SENTENCE)
        result = CheckResult(status="error", exit_code=error.exit_code, headline=headline, error=str(error))
    if webhook is not None and (check.notify == "always" or result.status != "passed"):
        text = "\n".join([result.headline, *result.lines])
        for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            text = text.replace(character, entity)
        document: Any = {"text": text, "mrkdwn": False} if webhook.is_slack else result
        trouble = post(webhook, msgspec.json.encode(document))
        if trouble is not None:
            warn(f"{trouble}; the result of the check is unchanged")
    if failure is not None:
        raise failure
    if options.json:
        _print_json(result)
    else:
        _write([result.headline, *(f"  {line}" for line in result.lines)])
    return result.exit_code


def _checked(options: CommandOptions, check: CheckOptions) -> CheckResult:
    """Run, remember, judge, and write ``check.json`` into the run's folder."""
    from datetime import UTC, datetime, timedelta

    from vendor_verifier.config import read_environment
    from vendor_verifier.console.progress import progress
    from vendor_verifier.features.history.check import judge_check
    from vendor_verifier.features.history.database import (
        history_file,
        read_history,
        remember,
        run_frame,
    )
    from vendor_verifier.features.history.figures import WATCHED, figure_names
    from vendor_verifier.features.history.nightly import clear_old_runs, only_check, read_days
    from vendor_verifier.pipeline.latest_run import RUNS
    from vendor_verifier.pipeline.plan import prepare
    from vendor_verifier.pipeline.run import run, unfinished_vendors

    if options.dry_run:
        raise UsageError("a check sends; look at its plan with `run --dry-run`")
    file = history_file(options.history, none=options.no_history)
    days = None if check.keep is None else read_days(check.keep)
    figures = figure_names(check.fail_on, options.suites, "--fail-on") or WATCHED
    with only_check(RUNS):
        prepared = prepare(options, read_environment())
        with progress(quiet=not options.verbose, verbose=options.verbose) as watcher:
            outcome = run(prepared, on_start=watcher.started, on_record=watcher.finished)
        folder = outcome.folder
        warnings = [] if (unkept := remember(folder, outcome.scored, file)) is None else [unkept]
        history = run_frame(folder, outcome.scored) if file is None or warnings else read_history(file)
        if days is not None and not warnings:
            known = None if file is None else set(history["run"])
            warnings += clear_old_runs(RUNS, datetime.now(UTC) - timedelta(days), keep=folder.path, known=known)
        unfinished = [words for _, words in unfinished_vendors(outcome)]
        result = judge_check(
            outcome.report,
            history,
            figures=figures,
            folder=str(folder.path),
            unfinished=unfinished if outcome.limit is None else [*unfinished, outcome.limit],
            signal_number=outcome.signal_number,
            warnings=warnings,
        )
        folder.write("check.json", msgspec.json.format(msgspec.json.encode(result)).decode() + "\n")
    return result


def compare_command(
    before: Annotated[Path, Parameter(help="A run folder: the older one, or the only one.")],
    after: Annotated[Path | None, Parameter(help="The newer run folder. [default: compare with the history]")] = None,
    /,
    *,
    fail_on: Annotated[
        tuple[str, ...], many("Exit with 1 if this figure got worse (repeatable). [default: any]", JUDGE)
    ] = (),
    history: HISTORY = None,
    json: Annotated[bool, flag("Print JSON with every answer that changed.", OUTPUT)] = False,
) -> int:
    """Compare two runs: verdicts, figures with intervals, settings that differ, answers with another outcome.

    Exit codes: 0 nothing got worse, 1 a figure or a verdict did, 2 the runs have nothing to compare.
    """
    from vendor_verifier.pipeline.latest_run import run_named
    from vendor_verifier.store import RunFolder

    folder = RunFolder(run_named(before))
    if after is None:
        return _against_history(folder, fail_on, history, as_json=json)
    from vendor_verifier.features.history.compare import compare_scored, comparison_lines
    from vendor_verifier.pipeline.score import score_folder

    comparison = compare_scored(score_folder(folder), score_folder(RunFolder(run_named(after))))
    if json:
        _print_json(comparison)
    else:
        _write(comparison_lines(comparison))
    if not comparison.changes:
        say("The runs have no figure of a vendor in common, so nothing was compared.")
        return EXIT_USAGE
    known = {"verdict", *(change.metric for change in comparison.changes)}
    short = {"ttft": "avg_ttft_ms", "success": "success_rate", "schema": "schema_accuracy", "tokens": "avg_tokens"}
    wanted = {short.get(word, word) for word in fail_on}
    if wanted - known:
        words = f"read {', '.join(sorted(wanted - known))}; compared are {', '.join(sorted(known))}"
        raise ProblemsError([Problem(words, key="--fail-on")])
    worse = {change.metric for change in comparison.changes if change.verdict == "worse"}
    worse |= {"verdict"} if any(change.is_worse for change in comparison.verdicts) else set()
    return EXIT_THRESHOLD if worse & (wanted or known) else EXIT_OK


def _against_history(folder: Any, fail_on: Sequence[str], file: Path | None, *, as_json: bool) -> int:
    """The trends of a run's figures up to it."""
    from vendor_verifier.features.history.trends import trends

    name, history = folder.read_manifest().run, _read(file)
    places = history["run"].eq(name).to_numpy().nonzero()[0]
    if not len(places):
        raise UsageError(f"the history does not hold the run {name}; `score {folder.path}` adds it")
    found = trends(history.iloc[: places.max() + 1], _figures(fail_on, history, "--fail-on"))
    _show_trends(found, as_json=as_json)
    return EXIT_THRESHOLD if any(trend.verdict == "regression" for trend in found) else EXIT_OK


def history_command(
    *,
    model: Annotated[tuple[str, ...], many("Take this model only (repeatable).", WHAT)] = (),
    vendor: Annotated[tuple[str, ...], many("Take this vendor or label only (repeatable).", WHAT)] = (),
    metric: Annotated[
        tuple[str, ...], many("Plot this figure over the runs: ttft, f1, tps, e2e_ms.p95 (repeatable).", WHAT)
    ] = (),
    limit: Annotated[int, option("List the newest N runs.", WHAT, "--limit", "-n", check=Number(gte=1))] = 20,
    history: HISTORY = None,
    json: Annotated[bool, flag("Print JSON with every figure.", OUTPUT)] = False,
) -> int:
    """List the scored runs of the history, newest last, or plot figures over them.

    --metric plots a figure over the runs that asked the same, and shows whether a vendor got worse, which takes eight
    runs.
    """
    from vendor_verifier.features.history.trends import trends

    rows = _read(history)
    problems = []
    for key, wanted, columns in (("--model", model, ["model"]), ("--vendor", vendor, ["label", "vendor"])):
        known = set(rows[columns].to_numpy().ravel())
        unknown = [name for name in wanted if len(rows) and name not in known]
        problems += [Problem(f"no run has `{name}`; known are {listed(sorted(known), 20)}", key=key) for name in unknown]
    if problems:
        raise ProblemsError(problems)
    if metric:
        figures = _figures(metric, rows, "--metric")
        found = trends(rows, figures, models=model, labels=vendor)
        _show_trends(found, as_json=json)
        for figure in figures:
            if not any(trend.figure == figure for trend in found):
                say(f"{figure} was not measured in the newest run of the history, so there is no trend of it.")
        return EXIT_OK
    if model:
        rows = rows[rows["model"].isin(model)]
    if vendor:
        rows = rows[rows["label"].isin(vendor) | rows["vendor"].isin(vendor)]
    rows = rows[rows["run"].isin(rows["run"].unique()[-limit:])]
    if json:
        sys.stdout.write(rows.to_json(orient="records", indent=2, date_format="iso") + "\n")
    else:
        for run, its in rows.groupby("run", sort=False):
            _write([_run_line(str(run), its)])
    if rows.empty:
        say("The history is empty. Every run adds itself to it, except with --no-history.")
    return EXIT_OK


def _run_line(run: str, rows: pd.DataFrame) -> str:
    """When, which run, which models, and the vendors by verdict."""
    at = rows["at"].iloc[0]
    words = []
    for status, its in rows[~rows["is_baseline"].astype(bool)].groupby("verdict", sort=False):
        count = counted(len(its), "vendor") if status == "matches" else listed(list(its["label"]))
        words.append(f"{str(status).replace('_', ' ')}: {count}")
    words += [] if rows["complete"].iloc[0] else ["incomplete"]
    models = ", ".join(rows["model"].unique())
    return f"{at:%Y-%m-%d %H:%M}  {run}  {models}  {'; '.join(words)}  {rows['folder'].iloc[0]}"


def _read(file: Path | None) -> pd.DataFrame:
    from vendor_verifier.features.history.database import default_history_file, read_history

    return read_history(file or default_history_file())


def _figures(words: Sequence[str], history: pd.DataFrame, flag_name: str) -> tuple[str, ...]:
    from vendor_verifier.features.history.figures import WATCHED, figure_names

    suites = [name.removeprefix("scores.") for name in history.columns if name.startswith("scores.")]
    return figure_names(words, suites, flag_name) or WATCHED


def _show_trends(found: Sequence[Trend], *, as_json: bool) -> None:
    from vendor_verifier.features.history.trends import TREND_ORDER, trend_line

    if as_json:
        _print_json(found)
    else:
        _write([trend_line(trend) for trend in sorted(found, key=lambda trend: TREND_ORDER.index(trend.verdict))])


def _print_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def _write(lines: Sequence[str]) -> None:
    """Lines on stdout, in which a stranger's characters are harmless; they keep their indentation."""
    for line in lines:
        sys.stdout.write(" " * (len(line) - len(line.lstrip())) + plain(line, MAX_SENTENCE) + "\n")
