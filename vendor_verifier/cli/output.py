"""Writes output: results to stdout, everything else to stderr; colours and width are left to rich."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from vendor_verifier.reports.escape import MAX_SENTENCE, json_text, plain
from vendor_verifier.reports.formats import COLOURS, Meaning

if TYPE_CHECKING:
    from pathlib import Path

    from vendor_verifier.records.results import Report
    from vendor_verifier.scoring.figures import ScoredRun

EXIT_OK = 0
EXIT_THRESHOLD = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3
EXIT_INTERNAL = 4
SIGNAL_BASE = 128


def say(message: str, meaning: Meaning | None = None) -> None:
    """One line of progress or warning on stderr, on a terminal in the colour of its meaning."""
    if meaning is None or not sys.stderr.isatty():
        sys.stderr.write(message + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, highlight=False).print(Text(message, COLOURS[meaning]), soft_wrap=True)


def warn(words: str) -> None:
    """One warning line on stderr, with control characters from outside made harmless."""
    say(f"warning: {plain(words, MAX_SENTENCE)}", "doubtful")


def print_lines(value: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a value as JSON, or lines in which a stranger's characters are harmless, with their indentation."""
    if as_json:
        lines = [json_text(value)]
    else:
        lines = (" " * (len(line) - len(line.lstrip())) + plain(line, MAX_SENTENCE) for line in lines)
    sys.stdout.writelines(f"{line}\n" for line in lines)


def print_report(scored: ScoredRun, *, run: Path, as_json: bool, shown: Collection[str] = ()) -> None:
    """Print the result of the run in the folder ``run``: a table, or scores.json.

    Warnings ``shown`` on this screen before are not repeated; the document holds all of them.
    """
    if as_json:
        from vendor_verifier.reports import scores_json

        sys.stdout.write(scores_json.render(scored.report))
        return
    from vendor_verifier.reports import terminal

    if sys.stdout.isatty():
        from rich.console import Console

        console = Console(highlight=False)
        # Cropping would cut a path or a command, which a terminal breaks without harm.
        console.print(terminal.render(scored, console.width, str(run), shown), crop=False)
    else:
        # In a file or a CI log no sentence is cut.
        sys.stdout.write("\n".join(terminal.lines(scored, 1_000, str(run), shown)) + "\n")


def gates_exit_code(report: Report) -> int:
    """1 when a gate failed (each is named on stderr), else 0; a gate that is not decided does not fail."""
    failed = [gate for gate in report.gates if gate.outcome == "failed"]
    for gate in failed:
        say(plain(f"{gate.model}: {gate.vendor}: {gate.text} failed: {gate.reason}"), "bad")
    return EXIT_THRESHOLD if failed else EXIT_OK


class Outlet(io.FileIO):
    """A standard stream that drops what cannot be written, and keeps the reason.

    A command that is piped into ``head`` must still do its work and return its exit code.
    """

    trouble: OSError | None = None

    def write(self, data: object, /) -> int | None:  # type: ignore[override]  # whatever has a buffer
        if self.trouble is None:
            try:
                return super().write(data)  # type: ignore[arg-type]
            except OSError as error:
                self.trouble = error
        return memoryview(data).nbytes  # type: ignore[arg-type]

    def lost(self) -> str | None:
        """Flush the standard streams and return why results were lost; None where none were, or their reader left."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(ValueError):  # closed by its owner
                stream.flush()
        if self.trouble is None or isinstance(self.trouble, BrokenPipeError):
            return None
        return f"standard output cannot be written: {self.trouble.strerror or self.trouble}"


def guard_streams() -> Outlet:
    """Replace this process's standard streams by such ones and return the one of stdout."""
    # A closed stream is opened onto the null device; else the next file opened gets its number, and what is printed.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    out = Outlet(1, "w", closefd=False)
    for name, outlet in (("stdout", out), ("stderr", Outlet(2, "w", closefd=False))):
        before = getattr(sys, name)
        # A Python caller that replaced the streams keeps its own.
        if before is getattr(sys, f"__{name}__"):
            encoding, is_lively = getattr(before, "encoding", "utf-8"), name == "stderr" or outlet.isatty()
            text = io.TextIOWrapper(io.BufferedWriter(outlet), encoding, "backslashreplace", line_buffering=is_lively)
            setattr(sys, name, text)
    return out
