"""The command ``check``: run, gates, regression and report in one, for a scheduler. Silent when all is well."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from vendor_verifier.cli.console import say
from vendor_verifier.cli.options import JUDGE, OUTPUT, RunOptions, many, option
from vendor_verifier.errors import UsageError, VerifierError

if TYPE_CHECKING:
    from vendor_verifier.run.webhook import Webhook
    from vendor_verifier.values.check import CheckResult

Notify = Literal["failure", "always"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """What ``check`` takes beside everything that ``run`` takes."""

    fail_on: Annotated[
        tuple[str, ...], many("Figure whose lasting loss fails (repeatable). [default: six]", JUDGE)
    ] = ()
    keep: Annotated[str | None, option("Then delete older runs under runs/: 90d, 12w, 36h.", OUTPUT)] = None
    webhook_env: Annotated[str | None, option("Variable (.env or environment) with the webhook's address.", OUTPUT)] = (
        None
    )
    notify: Annotated[Notify, option("When to call the webhook.", OUTPUT)] = "failure"


_RUN = RunOptions()
_CHECK = CheckOptions()


def check_command(options: RunOptions = _RUN, check: CheckOptions = _CHECK) -> int:
    """Run, judge gates and history, write the reports, tell a webhook. Prints nothing when all is well.

    Exit codes: 0 passed, 1 a gate failed or a figure got worse for good, 3 incomplete; a webhook changes none of them.
    """
    from vendor_verifier.config import read_environment

    webhook = _webhook(options, check, read_environment())
    try:
        result = _checked(options, check)
    except VerifierError as error:
        from vendor_verifier.values.check import CheckResult

        _tell(webhook, check, CheckResult("error", error.exit_code, error=str(error)))
        raise
    _print(result, options)
    _tell(webhook, check, result)
    return result.exit_code


def _webhook(options: RunOptions, check: CheckOptions, environ: Mapping[str, str]) -> Webhook | None:
    """Looked up before anything is sent: who waits for a message must not wait in vain."""
    if check.webhook_env is None:
        return None
    from vendor_verifier.config.env_file import read_variables
    from vendor_verifier.run.webhook import read_webhook

    found = read_variables(options.config_file_path, options.env_file, environ)
    address = found.get(check.webhook_env)
    if address is None:
        raise UsageError(f"--webhook-env: no {check.webhook_env} in {found.env_file} nor in the environment")
    return read_webhook(address, check.webhook_env)


def _checked(options: RunOptions, check: CheckOptions) -> CheckResult:
    from datetime import UTC, datetime

    from vendor_verifier.cli.progress import progress
    from vendor_verifier.config import read_environment
    from vendor_verifier.pipeline.checking import clear_old_runs, judge_check, only_check, read_age
    from vendor_verifier.pipeline.gating import check_gates
    from vendor_verifier.pipeline.planning import prepare
    from vendor_verifier.pipeline.remembering import check_figures, history_file
    from vendor_verifier.pipeline.running import RUNS, run

    if options.dry_run:
        raise UsageError("a check sends; look at its plan with `run --dry-run`")
    request = options.request()
    history = history_file(options.history, none=options.no_history)
    age = read_age(check.keep) if check.keep is not None else None
    with only_check(RUNS):
        prepared = prepare(request, read_environment())
        check_figures(check.fail_on, request.suites)
        thresholds = check_gates(prepared.configuration.gates, request.score.gates, request.suites)
        with progress(quiet=not options.verbose, verbose=options.verbose) as watcher:
            outcome = run(request, prepared, on_start=watcher.started, on_record=watcher.finished)
        result = judge_check(outcome, thresholds, history, check.fail_on)
        if age is not None:
            troubles = clear_old_runs(RUNS, age, keep=outcome.folder.path, now=datetime.now(UTC), history=history)
            result = replace(result, notices=(*result.notices, *troubles))
        outcome.folder.write("check.json", _document(result))
    return result


def _document(result: CheckResult) -> str:
    from vendor_verifier.reports.notice import as_json

    return json.dumps(as_json(result), indent=2, allow_nan=False) + "\n"


def _print(result: CheckResult, options: RunOptions) -> None:
    """A scheduler mails what is printed, so nothing is when nothing is wrong."""
    from vendor_verifier.reports.notice import notice_lines

    if options.json:
        sys.stdout.write(_document(result))
        return
    lines = notice_lines(result)
    if options.verbose or len(lines) > 1 or result.status != "passed":
        _write(lines)


def _write(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(line + "\n" for line in lines))


def _tell(webhook: Webhook | None, check: CheckOptions, result: CheckResult) -> None:
    if webhook is None or (check.notify == "failure" and result.status == "passed"):
        return
    from vendor_verifier.reports.notice import as_json, for_slack
    from vendor_verifier.run.webhook import post

    document = for_slack(result) if webhook.is_slack else as_json(result)
    trouble = post(webhook, json.dumps(document, allow_nan=False).encode())
    if trouble is not None:
        say(f"warning: not told: {trouble}")
