"""Live progress on stderr: one bar on a terminal, one line now and then elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from vendor_verifier.cli.console import say
from vendor_verifier.pipeline.running import is_answered
from vendor_verifier.reports.escape import plain
from vendor_verifier.values.record import Record

if TYPE_CHECKING:
    from rich.progress import Progress

_LINE_EVERY_S = 10.0


class Watcher(Protocol):
    """Told how much there is to do, then of every record."""

    def started(self, due: int | None, done: int) -> None: ...

    def finished(self, record: Record) -> None: ...


@contextmanager
def progress(*, quiet: bool, verbose: bool) -> Iterator[Watcher]:
    """The watcher that fits this terminal."""
    if quiet:
        yield _Silent()
    elif sys.stderr.isatty() and not verbose:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bars:
            yield _Bar(bars)
    else:
        yield _Lines(verbose=verbose)


class _Silent:
    def started(self, due: int | None, done: int) -> None: ...

    def finished(self, record: Record) -> None: ...


class _Bar:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._failed = 0
        self._task = bars.add_task("waiting", total=None)

    def started(self, due: int | None, done: int) -> None:
        total = None if due is None else due + done
        self._bars.update(self._task, total=total, completed=done, description=_title(0))

    def finished(self, record: Record) -> None:
        self._failed += not is_answered(record)
        self._bars.update(self._task, advance=1, description=_title(self._failed))


def _title(failed: int) -> str:
    return f"asking ({failed} failed)" if failed else "asking"


class _Lines:
    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._due: int | None = 0
        self._done = 0
        self._failed = 0
        self._said_at = time.monotonic()

    def started(self, due: int | None, done: int) -> None:
        self._due = due
        told = "asking until the time is over" if due is None else f"{due} samples to ask"
        say(told + (f", {done} already answered" if done else ""))

    def finished(self, record: Record) -> None:
        self._done += 1
        self._failed += not is_answered(record)
        if self._verbose and not is_answered(record):
            say(_failure_line(record))
        now = time.monotonic()
        if now - self._said_at >= _LINE_EVERY_S or self._done == self._due:
            self._said_at = now
            say(f"{self._done}{'' if self._due is None else f' of {self._due}'} done, {self._failed} failed")


def _failure_line(record: Record) -> str:
    final = record.final
    failure = final.failure if final else None
    words = f"{failure.kind} ({failure.phase}): {failure.message[:200]}" if failure else "no answer"
    tries = len(record.turns[-1].attempts) if record.turns else 0
    return plain(f"{record.model} / {record.label} / {record.sample}: {words} after {tries} attempts")
