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

    name: str
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

    def of(self) -> str:
        done = self.before + self.done
        return str(done) if self.due is None else f"{done}/{self.before + self.due}"

    def figures(self) -> str:
        """Success and the median TTFT, as far as there are any."""
        if not self.done:
            return "–"
        ttft = f"  TTFT {median(list(self.ttfts_ms)):.0f} ms" if self.ttfts_ms else ""
        return f"{(self.done - self.failed) / self.done:.0%} ok{ttft}"


class Tally(dict[Name, Count]):
    """The vendors of one session in the plan's order, since the monotonic second ``began_s``."""

    def __init__(self, outlook: Outlook, began_s: float) -> None:
        several = len({model for model, _ in outlook.due}) > 1
        self.began_s = began_s
        for name, due in outlook.due.items():
            shown = plain(" / ".join(name) if several else name[1], _WIDEST_NAME)
            self[name] = Count(shown, due, outlook.done[name], outlook.costs.get(name))

    def add(self, record: Record) -> None:
        self[record.model, record.label].add(record)

    def total(self) -> Count:
        """All vendors together."""
        all_ = Count("total", 0, 0)
        for each in self.values():
            all_.due = None if all_.due is None or each.due is None else all_.due + each.due
            all_.before, all_.done, all_.failed = (
                all_.before + each.before,
                all_.done + each.done,
                all_.failed + each.failed,
            )
            all_.cost_usd = all_.cost_usd if each.cost_usd is None else (all_.cost_usd or 0.0) + each.cost_usd
        return all_

    def figures(self, now_s: float) -> str:
        """Failures, cost, and the time until the slowest vendor is done at its own speed."""
        total = self.total()
        words = [f"{total.failed} failed"]
        if total.cost_usd is not None:
            words.append(usd(total.cost_usd))
        if total.done == total.due:
            words.append("scoring")
        elif total.due is not None and all(each.done or not each.due for each in self.values()):
            shares = [((each.due or 0) - each.done) / each.done for each in self.values() if each.done]
            words.append(f"{duration(max(shares) * (now_s - self.began_s))} left")
        return "  ".join(words)

    def line(self, now_s: float) -> str:
        """The whole run on one line, with the vendor that is furthest behind."""
        words = f"{self.total().of()} done  {self.figures(now_s)}"
        behind = [each for each in self.values() if each.due and each.done < each.due]
        if len(self) == 1 or not behind:
            return words
        last = min(behind, key=lambda each: each.done / (each.due or 1))
        return f"{words}  slowest: {last.name} {last.of()}"


class Silent:
    """An observer of a run that shows nothing."""

    def started(self, outlook: Outlook) -> None: ...

    def finished(self, record: Record) -> None: ...


class _Lines(Silent):
    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose

    def started(self, outlook: Outlook) -> None:
        now_s = time.monotonic()
        self._tally, self._next_s = Tally(outlook, now_s), now_s + _LINE_EVERY_S
        total = self._tally.total()
        work = "sending until the time is over" if total.due is None else f"{counted(total.due, 'sample')} to send"
        before = f", {total.before} already answered" if total.before else ""
        say(f"{work} to {counted(len(self._tally), 'vendor')}{before}")

    def finished(self, record: Record) -> None:
        now_s = time.monotonic()
        self._tally.add(record)
        if self._verbose and not is_answered(record):
            say(failure_line(record))
        if now_s >= self._next_s or all(each.done == each.due for each in self._tally.values()):
            self._next_s = now_s + _LINE_EVERY_S
            say(self._tally.line(now_s))


class _Bars(Silent):
    """Draws itself twice a second in rich's own thread; the thread that sends only counts."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._rows: list[TaskID] = []
        draw = self._draw

        class Bars(Progress):
            def get_renderables(self) -> Iterable[RenderableType]:
                draw()
                return super().get_renderables()

        columns = ("{task.description}", BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[figures]}"))
        console = Console(stderr=True, highlight=False)
        self.bars = Bars(*columns, console=console, refresh_per_second=2, transient=True)

    def started(self, outlook: Outlook) -> None:
        self._tally = Tally(outlook, time.monotonic())
        for each in self._counts():
            whole = None if each.due is None else each.before + each.due
            self._rows.append(self.bars.add_task(each.name, total=whole, figures=""))

    def finished(self, record: Record) -> None:
        self._tally.add(record)

    def _counts(self) -> list[Count]:
        """A row for each vendor and, where there are several, one for all."""
        return [*self._tally.values(), *([self._tally.total()] if len(self._tally) > 1 else [])]

    def _draw(self) -> None:
        for number, (row, each) in enumerate(zip(self._rows, self._counts() if self._rows else (), strict=False), 1):
            figures = [each.figures()] if number <= len(self._tally) else []
            figures += [self._tally.figures(time.monotonic())] if number == len(self._rows) else []
            self.bars.update(row, completed=each.before + each.done, figures="  ".join(figures))


@contextmanager
def progress(*, quiet: bool, verbose: bool) -> Iterator[Silent]:
    """The observer of a run that fits this terminal: bars, lines or nothing."""
    if quiet:
        yield Silent()
    elif verbose or not sys.stderr.isatty():
        yield _Lines(verbose=verbose)
    else:
        drawn = _Bars()
        with drawn.bars:
            yield drawn


def failure_line(record: Record) -> str:
    """A line with a failed sample and its reason."""
    failure = record.final.failure if record.final else None
    words = f"{failure.kind} ({failure.phase}): {failure.message[:200]}" if failure else "no answer"
    tries = counted(len(record.turns[-1].attempts) if record.turns else 0, "attempt")
    return plain(f"{record.model} / {record.label} / {record.sample}: {words} after {tries}")
