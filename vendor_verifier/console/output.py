"""Writes output: results to stdout, everything else to stderr; colours and width are left to rich."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from vendor_verifier.reports.escape import plain
from vendor_verifier.words import Language, Texts

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from vendor_verifier.values.score import Report


EXIT_OK = 0
EXIT_THRESHOLD = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3
EXIT_INTERNAL = 4
SIGNAL_BASE = 128

TABLE = (
    "Exit codes: 0 done · 1 a stated threshold missed · 2 usage, configuration or data · "
    "3 run incomplete (a vendor stopped, a limit met, or most samples of a vendor failed) · 4 internal or disk · "
    "130/143 interrupted"
)


def say(message: str) -> None:
    """One line of progress or warning on stderr."""
    sys.stderr.write(message + "\n")


def stdout_console() -> Console:
    """A rich console for results, which honours NO_COLOR and plain pipes by itself."""
    from rich.console import Console

    return Console(highlight=False)


def print_report(report: Report, language: Language = "en", *, as_json: bool, shown: Collection[str] = ()) -> None:
    """Print the result of a run: tables on a terminal, plain lines elsewhere, or scores.json.

    Warnings ``shown`` on this screen before are not repeated; the document holds all of them.
    """
    if as_json:
        from vendor_verifier.reports import scores_json

        sys.stdout.write(scores_json.render(report))
        return
    from vendor_verifier.reports import terminal

    report = replace(report, warnings=tuple(words for words in report.warnings if words not in shown))
    if sys.stdout.isatty():
        stdout_console().print(terminal.render(report, language))
    else:
        sys.stdout.write("\n".join(terminal.plain_lines(report, language)) + "\n")


def say_where(run: Path) -> None:
    """Print the last line of a run: its folder, and the file to hand on."""
    say(f"records and scores: {run}/; to open in a browser or mail: {run / 'report.html'}")


def gates_exit_code(report: Report, language: Language = "en") -> int:
    """1 when a gate failed, each of which is named on stderr, else 0; an undecided gate does not fail."""
    t = Texts(language)
    failed = [
        t("gate_failed", vendor=f"{model}: {gate.label}", gate=str(gate.threshold), reason=gate.reason)
        for model, verdict in report.verdicts.items()
        for gate in verdict.gates
        if gate.outcome == "FAIL"
    ]
    for words in failed:
        say(plain(words))
    return EXIT_THRESHOLD if failed else EXIT_OK
