"""The commands ``check``, ``compare`` and ``history``; of these only ``check`` sends requests."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from msgspec import structs

from vendor_verifier.console.options import CommandOptions
from vendor_verifier.console.output import EXIT_OK, EXIT_THRESHOLD, EXIT_USAGE, say, warn
from vendor_verifier.errors import Problem, ProblemsError, UsageError, VerifierError
from vendor_verifier.pipeline.options import JUDGE, OUTPUT, WHAT, flag, many, option
from vendor_verifier.records.history import Trend
from vendor_verifier.records.nested_dict import nested_dict
from vendor_verifier.words import Texts, english

if TYPE_CHECKING:
    from vendor_verifier.features.history.scheduled_check import Webhook
    from vendor_verifier.records.history import CheckResult


Notify = Literal["failure", "always"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of ``check`` beside those of ``run``."""

    fail_on: Annotated[
        tuple[str, ...], many("Fail when this figure is worse for good (repeatable). [default: seven]", JUDGE)
    ] = ()
    keep: Annotated[str | None, option("Delete runs under runs/ older than this: 90d, 12w, 36h.", OUTPUT)] = None
    webhook_env: Annotated[str | None, option("Take the webhook's address from this variable.", OUTPUT)] = None
    notify: Annotated[Notify, option("Call the webhook on failure, or always.", OUTPUT)] = "failure"


_RUN = CommandOptions()
_CHECK = CheckOptions()


def check_command(options: CommandOptions = _RUN, check: CheckOptions = _CHECK) -> int:
    """Run, judge gates and history, write the reports, tell a webhook. Prints nothing when all is well.

    Exit codes: 0 passed, 1 a gate failed or a figure got worse for good, 3 incomplete; a webhook changes none of them.
    """
    from vendor_verifier.config import read_environment

    webhook = _webhook(options, check, read_environment())
    try:
        result = _checked(options, check)
    except VerifierError as error:
        from vendor_verifier.records.history import CheckResult

        _tell(webhook, check, CheckResult("error", error.exit_code, error=str(error)))
        raise
    _print(result, options)
    _tell(webhook, check, result)
    return result.exit_code


def _webhook(options: CommandOptions, check: CheckOptions, environ: Mapping[str, str]) -> Webhook | None:
    """The webhook of the options, checked before anything is sent, so that a bad address costs no run."""
    if check.webhook_env is None:
        return None
    from vendor_verifier.config.env_file import read_variables
    from vendor_verifier.features.history.scheduled_check import read_webhook

    found = read_variables(options.config_file_path, options.env_file, environ)
    address = found.get(check.webhook_env)
    if address is None:
        raise UsageError(f"--webhook-env: no {check.webhook_env} in {found.env_file} nor in the environment")
    return read_webhook(address, check.webhook_env)


def _checked(options: CommandOptions, check: CheckOptions) -> CheckResult:
    from datetime import UTC, datetime

    from vendor_verifier.config import read_environment
    from vendor_verifier.console.progress import progress
    from vendor_verifier.features.history.database import history_file
    from vendor_verifier.features.history.figures import check_figures
    from vendor_verifier.features.history.scheduled_check import clear_old_runs, judge_check, only_check, read_age
    from vendor_verifier.pipeline.gates import check_gates
    from vendor_verifier.pipeline.latest_run import RUNS
    from vendor_verifier.pipeline.plan import prepare
    from vendor_verifier.pipeline.run import run
    from vendor_verifier.reports.ci import render_junit

    if options.dry_run:
        raise UsageError("a check sends; look at its plan with `run --dry-run`")
    history = history_file(options.history, none=options.no_history)
    age = read_age(check.keep) if check.keep is not None else None
    with only_check(RUNS):
        prepared = prepare(options, read_environment())
        check_figures(check.fail_on, options.suites)
        thresholds = check_gates(prepared.configuration.gates, options.gate, options.suites)
        with progress(quiet=not options.verbose, verbose=options.verbose) as watcher:
            outcome = run(prepared, on_start=watcher.started, on_record=watcher.finished)
        result = judge_check(outcome, thresholds, history, check.fail_on)
        if age is not None:
            troubles = clear_old_runs(RUNS, age, keep=outcome.folder.path, now=datetime.now(UTC), history=history)
            result = structs.replace(result, notices=(*result.notices, *troubles))
        outcome.folder.write("junit.xml", render_junit(outcome.report))
        outcome.folder.write("check.json", _document(result))
    return result


def _document(result: CheckResult) -> str:
    from vendor_verifier.features.history.notice import as_json

    return json_module.dumps(as_json(result), indent=2, allow_nan=False) + "\n"


def _print(result: CheckResult, options: CommandOptions) -> None:
    """Print the result only when something is wrong, because schedulers mail what is printed."""
    from vendor_verifier.features.history.notice import notice_lines

    if options.json:
        sys.stdout.write(_document(result))
        return
    lines = notice_lines(result)
    if options.verbose or len(lines) > 1 or result.status != "passed":
        _write(lines)


def _write(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(line + "\n" for line in lines))


def _print_json(value: object) -> None:
    sys.stdout.write(json_module.dumps(value, indent=2) + "\n")


def _tell(webhook: Webhook | None, check: CheckOptions, result: CheckResult) -> None:
    if webhook is None or (check.notify == "failure" and result.status == "passed"):
        return
    from vendor_verifier.features.history.notice import as_json, for_slack
    from vendor_verifier.features.history.scheduled_check import post

    document = for_slack(result) if webhook.is_slack else as_json(result)
    trouble = post(webhook, json_module.dumps(document, allow_nan=False).encode())
    if trouble is not None:
        warn(english("check_not_told", trouble=trouble))


_PAIRED = {
    "ttft": "avg_ttft_ms",
    "success": "success_rate",
    "schema": "schema_accuracy",
    "tokens": "avg_tokens",
}


def compare_command(
    before: Annotated[Path, Parameter(help="A run folder: the older one, or the only one.")],
    after: Annotated[Path | None, Parameter(help="The newer run folder. [default: compare with the history]")] = None,
    /,
    *,
    fail_on: Annotated[
        tuple[str, ...], many("Exit with 1 if this metric got worse (repeatable). [default: any]", JUDGE)
    ] = (),
    history: Annotated[Path | None, option("Read the history from here. [default: user data folder]", OUTPUT)] = None,
    json: Annotated[bool, flag("Print JSON with every flipped sample.", OUTPUT)] = False,
) -> int:
    """Compare two runs: verdicts, paired changes with intervals, what changed in the question, samples that flipped.

    Exit codes: 0 nothing got worse, 1 a figure or a verdict did, 2 the runs have nothing to compare.
    """
    if after is None:
        return _against_history(before, fail_on, history, as_json=json)
    from vendor_verifier.features.history.run_diff import compare_folders
    from vendor_verifier.features.history.text import comparison_lines
    from vendor_verifier.features.history.verdict_changes import got_worse
    from vendor_verifier.pipeline.latest_run import run_named
    from vendor_verifier.store import RunFolder

    comparison = compare_folders(RunFolder(run_named(before)), RunFolder(run_named(after)))
    if json:
        _print_json(nested_dict(comparison))
    else:
        _write(comparison_lines(comparison))
    if not comparison.changes:
        say(Texts()("compare_nothing"))
        return EXIT_USAGE
    minded = _minded(fail_on, {"verdict", *(change.metric for change in comparison.changes)})
    worse = [change for change in comparison.changes if change.verdict == "worse" and change.metric in minded]
    fallen = "verdict" in minded and any(map(got_worse, comparison.verdicts))
    return EXIT_THRESHOLD if worse or fallen else EXIT_OK


def _minded(words: tuple[str, ...], known: set[str]) -> set[str]:
    """The metrics whose getting worse counts; a word that names none would never fail, so it is refused."""
    found = {_PAIRED.get(word, word) for word in words}
    if found - known:
        unknown = ", ".join(sorted(found - known))
        raise ProblemsError([Problem(f"read {unknown}; compared are {', '.join(sorted(known))}", key="--fail-on")])
    return found or known


def _against_history(run: Path, fail_on: tuple[str, ...], history: Path | None, *, as_json: bool) -> int:
    from vendor_verifier.features.history.database import default_history_file
    from vendor_verifier.features.history.regression import history_trends
    from vendor_verifier.features.history.text import trend_lines
    from vendor_verifier.pipeline.latest_run import run_named
    from vendor_verifier.store import RunFolder

    name = RunFolder(run_named(run)).read_manifest().run
    found = history_trends(history or default_history_file(), metrics=fail_on, until=name)
    if as_json:
        _print_json([nested_dict(trend) for trend in found])
    else:
        _write(trend_lines(found))
    return EXIT_THRESHOLD if any(trend.verdict == "regression" for trend in found) else EXIT_OK


def history_command(
    *,
    model: Annotated[tuple[str, ...], many("Take this model only (repeatable).", WHAT)] = (),
    vendor: Annotated[tuple[str, ...], many("Take this vendor or label only (repeatable).", WHAT)] = (),
    metric: Annotated[
        tuple[str, ...], many("Plot this metric over the runs: ttft, f1, tps, e2e_ms.p95 (repeatable).", WHAT)
    ] = (),
    limit: Annotated[int, option("List the newest N runs.", WHAT, "--limit", "-n", check=Number(gte=1))] = 20,
    history: Annotated[Path | None, option("Read the history from here. [default: user data folder]", OUTPUT)] = None,
    output: Annotated[
        Path | None, option("Write the plots as an HTML page, such as history.html.", OUTPUT, "--output", "-o")
    ] = None,
    json: Annotated[bool, flag("Print JSON with every figure.", OUTPUT)] = False,
) -> int:
    """List the scored runs of the history, newest last, or plot metrics over them.

    --metric plots a metric over the runs that asked the same, and says whether a vendor got worse, which takes eight
    runs. -o writes such plots to a page: of seven metrics unless --metric names others.
    """
    from vendor_verifier.features.history.database import default_history_file

    file = history or default_history_file()
    if metric or output is not None:
        return _plot(file, metric, model, vendor, output, as_json=json)
    return _list_runs(file, model, vendor, limit, as_json=json)


def _list_runs(file: Path, model: tuple[str, ...], vendor: tuple[str, ...], limit: int, *, as_json: bool) -> int:
    from vendor_verifier.audit.identity import changes_since_last
    from vendor_verifier.features.history.database import read_runs
    from vendor_verifier.features.history.regression import refuse_unknown
    from vendor_verifier.features.history.verdict_changes import failing_lines
    from vendor_verifier.reports.escape import plain

    refuse_unknown(file, model, vendor)
    known = read_runs(file, models=model, labels=vendor)
    runs = known[-limit:]
    if as_json:
        _print_json([nested_dict(run) for run in runs])
        return EXIT_OK
    t = Texts()
    for position, run in enumerate(runs, len(known) - len(runs)):
        models = ", ".join(dict.fromkeys(entry.model for entry in run.entries))
        words = t("history_vendors", models=models, count=len(run.entries))
        words += "" if run.complete else "  " + t("history_incomplete")
        sys.stdout.write(plain(f"{run.at[:19]}  {run.run}  {words}  {run.folder}", 400) + "\n")
        _write([f"    {line}" for line in failing_lines(run, t)])
        for name, finding in changes_since_last(known[: position + 1]):
            who = f"{name} / {finding.label}"
            sys.stdout.write("    " + plain(t("history_change", vendor=who, words=finding.statement), 400) + "\n")
    if not runs:
        say(t("history_none", file=file))
    return EXIT_OK


def _plot(
    file: Path,
    metric: tuple[str, ...],
    model: tuple[str, ...],
    vendor: tuple[str, ...],
    output: Path | None,
    *,
    as_json: bool,
) -> int:
    """Print the trends of metrics and their plots, and write them to a page if one is named.

    Every trend of named vendors is plotted, of the others only what changed.
    """
    from vendor_verifier.features.history.regression import history_trends
    from vendor_verifier.features.history.text import plot, trend_lines
    from vendor_verifier.features.history.verdict_changes import verdict_trend_lines

    found = history_trends(file, metrics=metric, models=model, labels=vendor)
    if output is not None:
        say(str(_write_page(output, found)))
    if as_json:
        _print_json([nested_dict(trend) for trend in found])
        return EXIT_OK
    lines = [*verdict_trend_lines(found, Texts()), *trend_lines(found)]
    for trend in found:
        if (metric and vendor) or trend.verdict in ("regression", "improvement", "warning"):
            lines += ["", *plot(trend)]
    _write(lines)
    if not found:
        say(Texts()("history_empty"))
    return EXIT_OK


def _write_page(path: Path, found: Sequence[Trend]) -> Path:
    """The trends as a page of their own, readable by its owner alone.

    Raises:
        StorageError: it cannot be written there.
    """
    from vendor_verifier.features.history import page
    from vendor_verifier.store import RunFolder

    folder = RunFolder(path.parent)
    folder.create()
    return folder.write(path.name, page.render_trend(found))
