"""The commands ``history`` and ``trend``: what runs there were, and where a vendor is going. Nothing is sent."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts.validators import Number

from vendor_verifier.cli.console import say
from vendor_verifier.cli.exit_codes import EXIT_OK, EXIT_THRESHOLD
from vendor_verifier.cli.options import JUDGE, OUTPUT, WHAT, flag, many, option
from vendor_verifier.reports.html.texts import Language
from vendor_verifier.values.trend import Trend


def history_command(
    *,
    model: Annotated[tuple[str, ...], many("Only runs with this model (repeatable).", WHAT)] = (),
    vendor: Annotated[tuple[str, ...], many("Only runs with this vendor or label (repeatable).", WHAT)] = (),
    limit: Annotated[int, option("The newest N runs.", WHAT, "--limit", "-n", check=Number(gte=1))] = 20,
    history: Annotated[Path | None, option("History file. [default: user data folder]", OUTPUT)] = None,
    json: Annotated[bool, flag("Print JSON with every figure.", OUTPUT)] = False,
) -> int:
    """List the scored runs of the history, newest last, and whose answers bore other names than in the run before."""
    from vendor_verifier.compare.identity_since import changes_since_last
    from vendor_verifier.history import default_history_file, read_runs
    from vendor_verifier.reports.escape import plain

    file = history or default_history_file()
    known = read_runs(file, models=model, labels=vendor)
    runs = known[-limit:]
    if json:
        sys.stdout.write(json_module.dumps([asdict(run) for run in runs], indent=2) + "\n")
        return EXIT_OK
    for position, run in enumerate(runs, len(known) - len(runs)):
        models = ", ".join(dict.fromkeys(entry.model for entry in run.entries))
        state = "" if run.complete else "  incomplete"
        words = f"{run.at[:19]}  {run.run}  {models}: {len(run.entries)} vendors{state}  {run.folder}"
        sys.stdout.write(plain(words, 400) + "\n")
        for name, finding in changes_since_last(known[: position + 1]):
            sys.stdout.write("    " + plain(f"{name} / {finding.label}: {finding.statement}", 400) + "\n")
    if not runs:
        say(f"no such run in the history {file}")
    return EXIT_OK


def trend_command(
    *,
    vendor: Annotated[tuple[str, ...], many("Only this vendor or label (repeatable).", WHAT)] = (),
    model: Annotated[tuple[str, ...], many("Only this model (repeatable).", WHAT)] = (),
    metric: Annotated[
        tuple[str, ...], many("Figure, such as ttft, f1, tps, e2e_ms.p95 (repeatable). [default: six]", WHAT)
    ] = (),
    history: Annotated[Path | None, option("History file. [default: user data folder]", OUTPUT)] = None,
    exit_code: Annotated[bool, flag("Exit with 1 if anything got worse.", JUDGE)] = False,
    output: Annotated[Path | None, option("Write an HTML page, such as trend.html.", OUTPUT, "--output", "-o")] = None,
    lang: Annotated[Language, option("Language of the HTML page.", OUTPUT)] = "en",
    json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False,
) -> int:
    """Plot figures over the runs that asked the same, and say whether a vendor got worse.

    A verdict takes eight runs. With --metric and --vendor every trend is plotted, else only what changed.
    """
    from vendor_verifier.history import default_history_file
    from vendor_verifier.pipeline.remembering import history_trends
    from vendor_verifier.reports.trend_text import plot, trend_lines

    found = history_trends(history or default_history_file(), metrics=metric, models=model, labels=vendor)
    if output is not None:
        say(str(_write_page(output, found, lang)))
    if json:
        sys.stdout.write(json_module.dumps([asdict(trend) for trend in found], indent=2) + "\n")
    else:
        lines = trend_lines(found)
        for trend in found:
            if (metric and vendor) or trend.verdict in ("regression", "improvement", "warning"):
                lines += ["", *plot(trend)]
        sys.stdout.write("".join(line + "\n" for line in lines))
    if not found:
        say("no runs in the history yet")
    return EXIT_THRESHOLD if exit_code and any(trend.verdict == "regression" for trend in found) else EXIT_OK


def _write_page(path: Path, found: Sequence[Trend], lang: Language) -> Path:
    """The trends as a page of their own, readable by its owner alone.

    Raises:
        StorageError: it cannot be written there.
    """
    from vendor_verifier.reports.html import trend_page
    from vendor_verifier.store import RunFolder

    folder = RunFolder(path.parent)
    folder.create()
    return folder.write(path.name, trend_page.render(found, lang))
