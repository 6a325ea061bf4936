"""The command ``compare``: two stored runs sample by sample, or one run against its history. Nothing is sent."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.cli.console import say
from vendor_verifier.cli.exit_codes import EXIT_OK, EXIT_THRESHOLD, EXIT_USAGE
from vendor_verifier.cli.options import JUDGE, OUTPUT, flag, many, option
from vendor_verifier.errors import Problem, ProblemsError

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
    history: Annotated[Path | None, option("History file. [default: user data folder]", OUTPUT)] = None,
    json: Annotated[bool, flag("Print JSON with every flipped sample.", OUTPUT)] = False,
) -> int:
    """Compare two runs: paired changes with intervals, what changed in the question, samples that flipped.

    Exit codes: 0 nothing got worse, 1 something did, 2 the runs have nothing to compare.
    """
    if after is None:
        return _against_history(before, fail_on, history, as_json=json)
    from vendor_verifier.pipeline.comparing import compare_folders
    from vendor_verifier.reports.comparison_text import comparison_lines
    from vendor_verifier.store import RunFolder

    comparison = compare_folders(RunFolder(before), RunFolder(after))
    if json:
        sys.stdout.write(json_module.dumps(asdict(comparison), indent=2) + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in comparison_lines(comparison)))
    if not comparison.changes:
        say("error: no vendor measured the same sample in both runs, so nothing could get worse")
        return EXIT_USAGE
    minded = _minded(fail_on, {change.metric for change in comparison.changes})
    worse = [change for change in comparison.changes if change.verdict == "worse" and change.metric in minded]
    return EXIT_THRESHOLD if worse else EXIT_OK


def _minded(words: tuple[str, ...], known: set[str]) -> set[str]:
    """The metrics whose getting worse counts; a word that names none would never fail, so it is refused."""
    found = {_PAIRED.get(word, word) for word in words}
    if found - known:
        unknown = ", ".join(sorted(found - known))
        raise ProblemsError([Problem(f"read {unknown}; compared are {', '.join(sorted(known))}", key="--fail-on")])
    return found or known


def _against_history(run: Path, fail_on: tuple[str, ...], history: Path | None, *, as_json: bool) -> int:
    from vendor_verifier.history import default_history_file
    from vendor_verifier.pipeline.remembering import history_trends
    from vendor_verifier.reports.trend_text import trend_lines
    from vendor_verifier.store import RunFolder

    name = str(RunFolder(run).read_manifest().get("run"))
    found = history_trends(history or default_history_file(), metrics=fail_on, until=name)
    if as_json:
        sys.stdout.write(json_module.dumps([asdict(trend) for trend in found], indent=2) + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in trend_lines(found)))
    return EXIT_THRESHOLD if any(trend.verdict == "regression" for trend in found) else EXIT_OK
