"""Live progress on stderr: a table on a terminal, a line now and then elsewhere, nothing when quiet.

Drawing has a thread of its own and takes about a millisecond a second; the thread that sends and times only counts.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from vendor_verifier.cli.console import say
from vendor_verifier.cli.progress_text import failure_line, progress_lines, status_line
from vendor_verifier.cli.tally import Tally, whole
from vendor_verifier.pipeline.outlook import Outlook
from vendor_verifier.pipeline.running import is_answered
from vendor_verifier.values.record import Record

if TYPE_CHECKING:
    from rich.live import Live

_LINE_EVERY_S = 10.0
_TABLE_EVERY_S = 1.0


class Watcher(Protocol):
    """Told what is to be done, then of every record."""

    def started(self, outlook: Outlook) -> None: ...

    def finished(self, record: Record) -> None: ...


@contextmanager
def progress(*, quiet: bool, verbose: bool, every_s: float | None = None) -> Iterator[Watcher]:
    """The watcher that fits this terminal; ``every_s`` None draws a table each second or a line each ten."""
    if quiet:
        yield _Silent()
    elif sys.stderr.isatty() and not verbose:
        from rich.console import Console
        from rich.live import Live

        # Its own thread would draw four times a second.
        with Live(console=Console(stderr=True, highlight=False), auto_refresh=False, transient=True) as live:
            table = _Table(live)
            with _now_and_then(table.draw, every_s or _TABLE_EVERY_S):
                yield table
    else:
        lines = _Lines(verbose=verbose)
        with _now_and_then(lines.draw, every_s or _LINE_EVERY_S):
            yield lines


@contextmanager
def _now_and_then(draw: Callable[[], None], every_s: float) -> Iterator[None]:
    """``draw`` in a thread of its own, every so often until the end."""
    over = threading.Event()

    def again() -> None:
        while not over.wait(every_s):
            draw()

    thread = threading.Thread(target=again, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class _Silent:
    def started(self, outlook: Outlook) -> None: ...

    def finished(self, record: Record) -> None: ...


class _Table:
    def __init__(self, live: Live) -> None:
        self._live = live
        self._tally: Tally | None = None

    def started(self, outlook: Outlook) -> None:
        self._tally = Tally(outlook, time.monotonic())

    def finished(self, record: Record) -> None:
        assert self._tally is not None
        self._tally.heard(record, time.monotonic())

    def draw(self) -> None:
        from rich.text import Text

        if self._tally is not None:
            lines = progress_lines(self._tally.rows(time.monotonic()), is_complete=self._tally.is_complete)
            self._live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), refresh=True)


class _Lines:
    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._tally: Tally | None = None

    def started(self, outlook: Outlook) -> None:
        self._tally = Tally(outlook, time.monotonic())
        all_of_it = whole(self._tally.rows(time.monotonic()))
        before = sum(outlook.done.values())
        due = None if all_of_it.due is None else all_of_it.due - before
        told = "asking until the time is over" if due is None else f"{due} samples to ask"
        say(told + (f", {before} already answered" if before else ""))

    def finished(self, record: Record) -> None:
        assert self._tally is not None
        self._tally.heard(record, time.monotonic())
        if self._verbose and not is_answered(record):
            say(failure_line(record))
        if self._tally.is_complete:
            say(status_line(self._tally.rows(time.monotonic())))

    def draw(self) -> None:
        # The last line is said by whoever hears of the last record; there is no news after it.
        if self._tally is not None and not self._tally.is_complete:
            say(status_line(self._tally.rows(time.monotonic())))
