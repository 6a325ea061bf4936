"""Writes output: results to stdout, everything else to stderr; colours and width are left to rich.

The standard streams never raise: a reader that went away, a full disk behind ``>``, streams that were closed. A command
that is piped into ``head`` must still do its work and return its exit code, without a traceback. Output that cannot be
written is dropped from then on; the loss and its reason are reported at the end.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

import msgspec

from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.formats import COLOURS, Meaning

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from vendor_verifier.records.results import Report
    from vendor_verifier.scoring.scored_run import ScoredRun


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


def say(message: str, meaning: Meaning | None = None) -> None:
    """One line of progress or warning on stderr, on a terminal in the colour of its meaning."""
    if meaning is None or not sys.stderr.isatty():
        sys.stderr.write(message + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, highlight=False).print(Text(message, COLOURS[meaning]), soft_wrap=True)


def warn(words: str) -> None:
    """One line on stderr with a warning, in which a stranger's characters are harmless."""
    say(f"warning: {plain(words, MAX_SENTENCE)}", "doubtful")


def stdout_console() -> Console:
    """A rich console for results, which honours NO_COLOR and plain pipes by itself."""
    from rich.console import Console

    return Console(highlight=False)


def print_report(scored: ScoredRun, *, run: Path, as_json: bool, shown: Collection[str] = ()) -> None:
    """Print the result of the run in the folder ``run``: a table, or scores.json.

    Warnings ``shown`` on this screen before are not repeated; the document holds all of them.
    """
    if as_json:
        from vendor_verifier.reports import scores_json

        sys.stdout.write(scores_json.render(scored))
        return
    from vendor_verifier.reports import terminal

    console = stdout_console()
    if sys.stdout.isatty():
        # Cropping would cut a path or a command, which a terminal breaks without harm.
        console.print(terminal.render(scored, console.width, str(run), shown), crop=False)
    else:
        sys.stdout.write("\n".join(terminal.lines(scored, folder=str(run), shown=shown)) + "\n")


def say_where(run: Path) -> None:
    """Print the last line of a run: its folder, and the file to hand on."""
    say(f"records and scores: {run}/; to open in a browser or mail: {run / 'report.html'}")


def gates_exit_code(report: Report) -> int:
    """1 when a gate failed, each of which is named on stderr, else 0; a gate that is not decided does not fail."""
    failed = [gate for gate in report.gates if gate.outcome == "failed"]
    for gate in failed:
        say(plain(f"{gate.model}: {gate.vendor}: {gate.text} failed: {gate.reason}"), "bad")
    return EXIT_THRESHOLD if failed else EXIT_OK


class _Outlet(io.FileIO):
    """A file that drops everything written after the first failed write."""

    trouble: OSError | None = None

    def write(self, data: object, /) -> int | None:  # type: ignore[override]  # whatever has a buffer
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError as error:
            self.trouble = error
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, self.fileno())
            os.close(sink)
            return memoryview(data).nbytes  # type: ignore[arg-type]


class Streams(msgspec.Struct, frozen=True):
    """The process's standard output and error, as long as it lives."""

    out: _Outlet
    err: _Outlet

    def lost(self) -> str | None:
        """Flush both streams and return why results were lost; None where none were, or their reader went away."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(ValueError):  # closed by its owner
                stream.flush()
        trouble = self.out.trouble
        if trouble is None or isinstance(trouble, BrokenPipeError):
            return None
        return f"standard output cannot be written: {trouble.strerror or trouble}"


def never_raising() -> Streams:
    """Replace this process's standard streams by such ones; a closed stream is opened onto the null device."""
    # Else the next file that is opened gets the number of a standard stream, and what is printed lands in it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    out, err = _Outlet(1, "w", closefd=False), _Outlet(2, "w", closefd=False)
    # A Python caller that replaced the streams keeps its own.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(out, sys.stdout, "strict")
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(err, sys.stderr, "backslashreplace")
    return Streams(out, err)


def _text(outlet: _Outlet, before: TextIO | None, errors: str) -> TextIO:
    is_lively = before is None or errors != "strict" or outlet.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding="utf-8" if before is None else before.encoding,
        errors=errors if before is None else before.errors,
        line_buffering=is_lively,
    )
