"""Where output goes: results on stdout, everything else on stderr; colours and width are rich's business."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from vendor_verifier.values.score import Report


def say(message: str) -> None:
    """One line of progress or warning on stderr."""
    sys.stderr.write(message + "\n")


def stdout_console() -> Console:
    """rich's console for results; it honours NO_COLOR and plain pipes by itself."""
    from rich.console import Console

    return Console(highlight=False)


def print_report(report: Report, *, as_json: bool) -> None:
    """The result of a run: tables on a terminal, plain lines elsewhere, or scores.json."""
    if as_json:
        from vendor_verifier.reports import scores_json

        sys.stdout.write(scores_json.render(report))
        return
    from vendor_verifier.reports import terminal

    if sys.stdout.isatty():
        stdout_console().print(terminal.render(report))
    else:
        sys.stdout.write("\n".join(terminal.plain_lines(report)) + "\n")
