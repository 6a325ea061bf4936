"""Live progress on stderr: one line per vendor on a terminal, one line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.cli.output import say
from vendor_verifier.pipeline.run import is_answered
from vendor_verifier.records.plan import Price
from vendor_verifier.records.record import Record
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.formats import quantity, usd
from vendor_verifier.run.limits import Name
from vendor_verifier.run.load import Work
from vendor_verifier.scoring.answer import Answer, is_billed, reported_usage
from vendor_verifier.scoring.money import cost_usd
from vendor_verifier.text import counted

if TYPE_CHECKING:
    from rich.progress import TaskID

_WIDEST_NAME = 30
_LINE_EVERY_S = 10.0


class Count(msgspec.Struct):
    """What came from vendors; of answers with a first token their number and the sum of their waits.

    ``due`` None: as many as time allows; ``done`` holds those of earlier sessions.
    """

    due: int | None
    done: int
    failed: int = 0
    cost_usd: float | None = None
    timed: int = 0
    waited_ms: float = 0.0

    @classmethod
    def of(cls, *work: Work) -> Count:
        """The count at the start, of one vendor or of several together."""
        due, done = [each.due for each in work if each.due is not None], sum(each.done for each in work)
        return cls(done + sum(due) if len(due) == len(work) else None, done)

    def add(self, record: Record, price: Price | None) -> None:
        self.done += 1
        self.failed += not is_answered(record)
        for attempt in (attempt for turn in record.turns for attempt in turn.attempts if is_billed(attempt)):
            usage = reported_usage(attempt)
            cost = cost_usd(usage, price) if usage.cost_usd is None and price else usage.cost_usd
            if cost is not None:
                self.cost_usd = (self.cost_usd or 0.0) + cost

    def add_waits(self, record: Record) -> None:
        for first_ms in (Answer(attempt).first_ms for attempt in record.finals if attempt.succeeded):
            if first_ms is not None:
                self.timed, self.waited_ms = self.timed + 1, self.waited_ms + first_ms

    def __str__(self) -> str:
        ttft = f"  TTFT {quantity(self.waited_ms / self.timed)} ms" if self.timed else ""
        return f"{self.failed} failed{ttft}" + ("" if self.cost_usd is None else f"  {usd(self.cost_usd)}")


class Silent:
    """An observer of a run that shows nothing."""

    def started(self, work: Mapping[Name, Work]) -> None: ...

    def finished(self, record: Record) -> None: ...


class Lines(Silent):
    """The whole run on one line, from time to time; with ``verbose`` a line for every failure."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose

    def started(self, work: Mapping[Name, Work]) -> None:
        self._next_s = time.monotonic() + _LINE_EVERY_S
        self._work, self._total = work, Count.of(*work.values())
        due, done = self._total.due, self._total.done
        words = "sending until the time is over" if due is None else f"{counted(due - done, 'request')} to send"
        already = f", {done} already answered" if done else ""
        warmup = sum(each.warmup for each in work.values())
        extra = f", {counted(warmup, 'warm-up request')} before" if warmup else ""
        say(f"{words} to {counted(len(work), 'vendor')}{already}{extra}")

    def finished(self, record: Record) -> None:
        total = self._total
        total.add(record, self._work[record.model, record.label].price)
        if self._verbose and not is_answered(record):
            failure = record.final.failure if record.final else None
            words = f"{failure.kind} ({failure.phase}): {failure.message[:200]}" if failure else "no answer"
            tries = counted(len(record.turns[-1].attempts) if record.turns else 0, "attempt")
            say(plain(f"{record.model} / {record.label} / {record.sample}: {words} after {tries}"))
        if time.monotonic() >= self._next_s or total.done == total.due:
            self._next_s = time.monotonic() + _LINE_EVERY_S
            of = "" if total.due is None else f"/{total.due}"
            say(f"{total.done}{of} done  {total}" + ("  scoring" if total.done == total.due else ""))


class Bars(Silent):
    """A bar for each vendor and one for all, drawn in rich's own thread."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            "{task.description}",
            BarColumn(20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[count]}"),
            TimeRemainingColumn(),
        )
        console = Console(stderr=True, highlight=False)
        self.drawn = Progress(*columns, console=console, refresh_per_second=2, transient=True)

    def started(self, work: Mapping[Name, Work]) -> None:
        several = len({model for model, _ in work}) > 1
        self._work = work
        self._rows = {name: self._row(" / ".join(name) if several else name[1], each) for name, each in work.items()}
        self._total = self._row("total", *work.values())

    def _row(self, name: str, *work: Work) -> tuple[TaskID, Count]:
        count = Count.of(*work)
        return self.drawn.add_task(plain(name, _WIDEST_NAME), total=count.due, completed=count.done, count=count), count

    def finished(self, record: Record) -> None:
        name = record.model, record.label
        self._rows[name][1].add_waits(record)
        for row, count in (self._rows[name], self._total):
            count.add(record, self._work[name].price)
            self.drawn.update(row, advance=1)


@contextmanager
def progress(*, quiet: bool, verbose: bool) -> Iterator[Silent]:
    """The observer of a run that fits this terminal: bars, lines or nothing."""
    if quiet:
        yield Silent()
    elif verbose or not sys.stderr.isatty():
        yield Lines(verbose=verbose)
    else:
        bars = Bars()
        with bars.drawn:
            yield bars
