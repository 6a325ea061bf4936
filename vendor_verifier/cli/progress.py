"""Live progress on stderr: one line a vendor on a terminal, one line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.cli.output import duration, say
from vendor_verifier.pipeline.run import Name, Outlook, is_answered
from vendor_verifier.records.record import Record
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.formats import usd
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.scoring.answer import is_billed, reported_usage, ttft_ms
from vendor_verifier.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import TaskID

_WIDEST_NAME = 30
_LINE_EVERY_S = 10.0


class Count(msgspec.Struct):
    """What came from one vendor. ``before`` were answered in earlier sessions; ``due`` None: as many as time allows."""

    due: int | None
    before: int
    cost_of: CostOf | None = None
    done: int = 0
    failed: int = 0
    cost_usd: float | None = None
    # Of the latest answers, so that it is current and costs the same all the time.
    ttfts_ms: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=200))

    def add(self, record: Record) -> None:
        self.done += 1
        self.failed += not is_answered(record)
        if (ttft := ttft_ms(record)) is not None:
            self.ttfts_ms.append(ttft)
        for attempt in (attempt for turn in record.turns for attempt in turn.attempts if is_billed(attempt)):
            usage = reported_usage(attempt)
            cost = self.cost_of(usage) if usage.cost_usd is None and self.cost_of else usage.cost_usd
            if cost is not None:
                self.cost_usd = (self.cost_usd or 0.0) + cost

    def figures(self) -> str:
        """Success and the median TTFT, as far as there are any."""
        if not self.done:
            return "–"
        ttft = f"  TTFT {median(list(self.ttfts_ms)):.0f} ms" if self.ttfts_ms else ""
        return f"{(self.done - self.failed) / self.done:.0%} ok{ttft}"


class Silent:
    """An observer of a run that shows nothing."""

    def started(self, outlook: Outlook) -> None: ...

    def finished(self, record: Record) -> None: ...


class Lines(Silent):
    """The whole run on one line, from time to time."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self.counts: dict[Name, Count] = {}

    def started(self, outlook: Outlook) -> None:
        self.began_s = self._next_s = time.monotonic()
        self.counts = {
            name: Count(due, outlook.done[name], outlook.costs.get(name)) for name, due in outlook.due.items()
        }
        before, due = self.total()
        work = "sending until the time is over" if due is None else f"{counted(due - before, 'request')} to send"
        already = f", {before} already answered" if before else ""
        self.show_start(f"{work} to {counted(len(self.counts), 'vendor')}{already}")

    def show_start(self, words: str) -> None:
        self._next_s += _LINE_EVERY_S
        say(words)

    def finished(self, record: Record) -> None:
        self.counts[record.model, record.label].add(record)
        if self._verbose and not is_answered(record):
            say(failure_line(record))
        done, due = self.total()
        if time.monotonic() >= self._next_s or done == due:
            self._next_s = time.monotonic() + _LINE_EVERY_S
            of = "" if due is None else f"/{due}"
            say(f"{done}{of} done  {self.figures()}")

    def total(self) -> tuple[int, int | None]:
        """How many answers there are, those of earlier sessions included, and how many there will be."""
        counts = self.counts.values()
        due = [each.due for each in counts if each.due is not None]
        before = sum(each.before for each in counts)
        return before + sum(each.done for each in counts), before + sum(due) if len(due) == len(counts) else None

    def figures(self) -> str:
        """Failures, cost, and the time until the slowest vendor is done at its own speed."""
        counts, (done, due) = self.counts.values(), self.total()
        words = [f"{sum(each.failed for each in counts)} failed"]
        if costs := [each.cost_usd for each in counts if each.cost_usd is not None]:
            words.append(usd(sum(costs)))
        if done == due:
            words.append("scoring")
        elif due is not None and all(each.done or not each.due for each in counts):
            slowest = max((each.due or 0) / each.done for each in counts if each.done)
            words.append(f"{duration((slowest - 1) * (time.monotonic() - self.began_s))} left")
        return "  ".join(words)


class Bars(Lines):
    """A bar for each vendor and one for all, drawn in rich's own thread; the thread that sends only counts."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        super().__init__(verbose=False)
        self._rows: list[TaskID] = []
        draw = self._draw

        class Drawn(Progress):
            def get_renderables(self) -> Iterable[RenderableType]:
                draw()
                return super().get_renderables()

        columns = ("{task.description}", BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[figures]}"))
        console = Console(stderr=True, highlight=False)
        self.drawn = Drawn(*columns, console=console, refresh_per_second=2, transient=True)

    def show_start(self, words: str) -> None:  # noqa: ARG002 the bars show it
        several = len({model for model, _ in self.counts}) > 1
        names = [plain(" / ".join(name) if several else name[1], _WIDEST_NAME) for name in self.counts]
        self._rows = [self.drawn.add_task(name, total=None, figures="") for name in (*names, "total")]

    def finished(self, record: Record) -> None:
        self.counts[record.model, record.label].add(record)

    def _draw(self) -> None:
        counts = list(self.counts.values())
        shown = [
            (each.before + each.done, None if each.due is None else each.before + each.due, each.figures())
            for each in counts
        ]
        for row, (done, due, figures) in zip(self._rows, [*shown, (*self.total(), self.figures())], strict=False):
            self.drawn.update(row, completed=done, total=due, figures=figures)


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


def failure_line(record: Record) -> str:
    """A line with a failed sample and its reason."""
    failure = record.final.failure if record.final else None
    words = f"{failure.kind} ({failure.phase}): {failure.message[:200]}" if failure else "no answer"
    tries = counted(len(record.turns[-1].attempts) if record.turns else 0, "attempt")
    return plain(f"{record.model} / {record.label} / {record.sample}: {words} after {tries}")
