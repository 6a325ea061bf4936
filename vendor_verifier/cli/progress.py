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
    """What came from one vendor; of answers with a first token their number and the sum of their waits.

    ``due`` None: as many as time allows; ``done`` holds those of earlier sessions.
    """

    due: int | None
    done: int
    price: Price | None = None
    failed: int = 0
    cost_usd: float | None = None
    timed: int = 0
    waited_ms: float = 0.0

    def add(self, record: Record) -> None:
        self.done += 1
        self.failed += not is_answered(record)
        for first_ms in (Answer(attempt).first_ms for attempt in record.finals if attempt.succeeded):
            if first_ms is not None:
                self.timed, self.waited_ms = self.timed + 1, self.waited_ms + first_ms
        for attempt in (attempt for turn in record.turns for attempt in turn.attempts if is_billed(attempt)):
            usage = reported_usage(attempt)
            cost = cost_usd(usage, self.price) if usage.cost_usd is None and self.price else usage.cost_usd
            if cost is not None:
                self.cost_usd = (self.cost_usd or 0.0) + cost

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
        self.counts: dict[Name, Count] = {}

    def started(self, work: Mapping[Name, Work]) -> None:
        self._next_s = time.monotonic() + _LINE_EVERY_S
        for name, (due, done, price, _) in work.items():
            self.counts[name] = Count(None if due is None else done + due, done, price)
        total = self.total()
        words = "sending until the time is over"
        words = words if total.due is None else f"{counted(total.due - total.done, 'request')} to send"
        already = f", {total.done} already answered" if total.done else ""
        warmup = sum(each.warmup for each in work.values())
        extra = f", {counted(warmup, 'warm-up request')} before" if warmup else ""
        self.show_start(f"{words} to {counted(len(self.counts), 'vendor')}{already}{extra}")

    def show_start(self, words: str) -> None:
        say(words)

    def finished(self, record: Record) -> None:
        self.counts[record.model, record.label].add(record)
        if self._verbose and not is_answered(record):
            failure = record.final.failure if record.final else None
            words = f"{failure.kind} ({failure.phase}): {failure.message[:200]}" if failure else "no answer"
            tries = counted(len(record.turns[-1].attempts) if record.turns else 0, "attempt")
            say(plain(f"{record.model} / {record.label} / {record.sample}: {words} after {tries}"))
        total = self.total()
        if time.monotonic() >= self._next_s or total.done == total.due:
            self._next_s = time.monotonic() + _LINE_EVERY_S
            of = "" if total.due is None else f"/{total.due}"
            say(f"{total.done}{of} done  {total}" + ("  scoring" if total.done == total.due else ""))

    def total(self) -> Count:
        """All vendors together."""
        counts = self.counts.values()
        due = [each.due for each in counts if each.due is not None]
        costs = [each.cost_usd for each in counts if each.cost_usd is not None]
        return Count(
            due=sum(due) if len(due) == len(counts) else None,
            done=sum(each.done for each in counts),
            failed=sum(each.failed for each in counts),
            cost_usd=sum(costs) if costs else None,
        )


class Bars(Lines):
    """A bar for each vendor and one for all, drawn in rich's own thread."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(verbose=False)
        columns = (
            "{task.description}",
            BarColumn(20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[count]}"),
            TimeRemainingColumn(),
        )
        console = Console(stderr=True, highlight=False)
        self.drawn = Progress(*columns, console=console, refresh_per_second=2, transient=True)

    def show_start(self, words: str) -> None:  # noqa: ARG002 the bars show it
        several = len({model for model, _ in self.counts}) > 1
        self._rows = {
            name: self._row(" / ".join(name) if several else name[1], count) for name, count in self.counts.items()
        }
        self._total = self._row("total", self.total())

    def _row(self, name: str, count: Count) -> TaskID:
        return self.drawn.add_task(plain(name, _WIDEST_NAME), total=count.due, completed=count.done, count=count)

    def finished(self, record: Record) -> None:
        name = record.model, record.label
        self.counts[name].add(record)
        self.drawn.update(self._rows[name], advance=1)
        self.drawn.update(self._total, advance=1, count=self.total())


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
