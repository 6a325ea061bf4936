"""Live progress on stderr: counts by vendor, their lines of text, and the times of showing them.

Drawing has a thread of its own and takes about a millisecond a second; the thread that sends and times only counts.

The sending thread adds records to the tally and the drawing thread reads its rows. They share only numbers and bounded
deques, which CPython copies in one step.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Protocol

import msgspec

from vendor_verifier.cli.output import say
from vendor_verifier.pipeline.run import Name, Outlook, is_answered
from vendor_verifier.records.record import Record
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.formats import MISSING, aligned
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.scoring.answer import is_billed, reported_usage, ttft_ms
from vendor_verifier.text import counted

if TYPE_CHECKING:
    from rich.live import Live


# Speeds are taken over the latest answers, so that they are current and their cost does not grow with the run.
_LATEST = 200


class Row(msgspec.Struct, frozen=True):
    """One vendor, or all. ``rate`` is records a second and ``ttft_p50_ms`` ms, both over the latest 200 records;
    ``left_s`` seconds at that rate. ``None`` is not known, yet or at all."""

    name: str
    done: int
    due: int | None
    failed: int
    in_flight: int | None
    rate: float | None
    ttft_p50_ms: float | None
    cost_usd: float | None
    left_s: float | None


class _Vendor(msgspec.Struct):
    due: int | None
    done: int
    cost_of: CostOf | None
    failed: int = 0
    cost_usd: float | None = None
    ended_s: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=_LATEST))
    ttfts_ms: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=_LATEST))

    def add(self, record: Record, now_s: float) -> None:
        self.done += 1
        self.failed += not is_answered(record)
        self.ended_s.append(now_s)
        ttft = ttft_ms(record)
        if ttft is not None:
            self.ttfts_ms.append(ttft)
        for attempt in (attempt for turn in record.turns for attempt in turn.attempts):
            if not is_billed(attempt):
                continue
            usage = reported_usage(attempt)
            cost = usage.cost_usd
            if cost is None and self.cost_of is not None:
                cost = self.cost_of(usage)
            if cost is not None:
                self.cost_usd = (self.cost_usd or 0.0) + cost

    def row(self, name: str, in_flight: int | None, began_s: float, now_s: float) -> Row:
        ended = list(self.ended_s)
        since_s = now_s - (ended[0] if len(ended) == _LATEST else began_s)
        rate = len(ended) / since_s if ended and since_s > 0 else None
        left = None if self.due is None else max(0, self.due - self.done)
        ttfts = list(self.ttfts_ms)
        return Row(
            name=name,
            done=self.done,
            due=self.due,
            failed=self.failed,
            in_flight=in_flight,
            rate=rate,
            ttft_p50_ms=median(ttfts) if ttfts else None,
            cost_usd=self.cost_usd,
            left_s=0.0 if left == 0 else None if left is None or rate is None else left / rate,
        )


class Tally:
    """All vendors of one session, started at ``now_s``; every ``now_s`` is seconds on one monotonic clock."""

    def __init__(self, outlook: Outlook, now_s: float) -> None:
        self._began_s = now_s
        self._in_flight = outlook.in_flight
        self._vendors = {
            name: _Vendor(
                None if due is None else due + outlook.done[name], outlook.done[name], outlook.costs.get(name)
            )
            for name, due in outlook.due.items()
        }

    def add(self, record: Record, now_s: float) -> None:
        """Count one more record, which ended at ``now_s``."""
        self._vendors[record.model, record.label].add(record, now_s)

    @property
    def is_complete(self) -> bool:
        """Whether every record that is due has come."""
        return all(one.due is not None and one.done >= one.due for one in self._vendors.values())

    def rows(self, now_s: float) -> list[Row]:
        """Every vendor, in the plan's order."""
        titles = _titles(self._vendors)
        return [one.row(titles[name], self._flying(name), self._began_s, now_s) for name, one in self._vendors.items()]

    def _flying(self, name: Name) -> int | None:
        return None if self._in_flight is None else self._in_flight.get(name, 0)


def whole(rows: Sequence[Row]) -> Row:
    """All vendors together, without a name: sums, and the time that the slowest of them needs."""
    rates = [row.rate for row in rows if row.rate is not None]
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    lefts = [row.left_s for row in rows]
    return Row(
        name="",
        done=sum(row.done for row in rows),
        due=None if any(row.due is None for row in rows) else sum(row.due or 0 for row in rows),
        failed=sum(row.failed for row in rows),
        in_flight=None if any(row.in_flight is None for row in rows) else sum(row.in_flight or 0 for row in rows),
        rate=sum(rates) if rates else None,
        ttft_p50_ms=None,
        cost_usd=sum(costs) if costs else None,
        left_s=None if None in lefts else max((left for left in lefts if left is not None), default=None),
    )


def _titles(names: Mapping[Name, object]) -> dict[Name, str]:
    """Labels; with the model before them where there are several."""
    several = len({model for model, _ in names}) > 1
    return {(model, label): f"{model} / {label}" if several else label for model, label in names}


_HEADS = ("Vendor", "Done", "Failed", "In flight", "Per second", "TTFT p50", "Cost", "Left")
_WIDEST_NAME = 40


def progress_lines(rows: Sequence[Row], *, is_complete: bool) -> list[str]:
    """A table with a row for each vendor and, where there are several, one for all."""
    shown = [*rows, whole(rows)] if len(rows) > 1 else list(rows)
    lines = aligned([_HEADS, *map(_cells, shown)], left=1)
    return [*lines, "all answers are here, scoring them"] if is_complete else [*lines]


def status_line(rows: Sequence[Row]) -> str:
    """The same on one line: all vendors, then in brackets how far each is."""
    row = whole(rows)
    words = [f"{_done(row)} done", f"{row.failed} failed"]
    if row.in_flight:
        words.append(f"{row.in_flight} in flight")
    if row.rate is not None:
        words.append(f"{row.rate:.1f} a second")
    if row.cost_usd is not None:
        words.append(f"{_usd(row.cost_usd)} so far")
    if row.left_s:
        words.append(f"about {_time(row.left_s)} left")
    each = f" [{'; '.join(map(_short, rows))}]" if len(rows) > 1 else ""
    return ", ".join(words) + each


def failure_line(record: Record) -> str:
    """A line with a failed sample and its reason."""
    final = record.final
    failure = final.failure if final else None
    words = f"{failure.kind} ({failure.phase}): {failure.message[:200]}" if failure else "no answer"
    tries = len(record.turns[-1].attempts) if record.turns else 0
    sample = f"{record.model} / {record.label} / {record.sample}"
    return plain(f"{sample}: {words} after {counted(tries, 'attempt')}")


def work_line(outlook: Outlook, due: int | None) -> str:
    """The number of samples to ask, ``due`` of them with those that were answered before."""
    before = sum(outlook.done.values())
    work = "asking until the time is over" if due is None else f"{counted(due - before, 'sample')} to ask"
    return f"{work}, {before} already answered" if before else work


def _cells(row: Row) -> tuple[str, ...]:
    return (
        plain(row.name, _WIDEST_NAME) or "all",
        _done(row),
        str(row.failed),
        MISSING if row.in_flight is None else str(row.in_flight),
        MISSING if row.rate is None else f"{row.rate:.1f}",
        MISSING if row.ttft_p50_ms is None else _ms(row.ttft_p50_ms),
        MISSING if row.cost_usd is None else _usd(row.cost_usd),
        MISSING if row.left_s is None else _time(row.left_s),
    )


def _short(row: Row) -> str:
    words = f"{plain(row.name, _WIDEST_NAME)} {_done(row)}"
    words += f" ({row.failed} failed)" if row.failed else ""
    return words + (f" {_ms(row.ttft_p50_ms)}" if row.ttft_p50_ms is not None else "")


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms"


def _done(row: Row) -> str:
    return str(row.done) if row.due is None else f"{row.done}/{row.due}"


def _usd(amount: float) -> str:
    return f"${amount:.4f}" if amount < 1 else f"${amount:,.2f}"


def _time(seconds: float) -> str:
    """A duration in words: hours, minutes and seconds, at most two of them."""
    whole_s = round(seconds)
    if whole_s >= 3600:
        return f"{whole_s // 3600} h {whole_s % 3600 // 60:02} min"
    if whole_s >= 60:
        return f"{whole_s // 60} min {whole_s % 60:02} s"
    return f"{whole_s} s"


_LINE_EVERY_S = 10.0
_TABLE_EVERY_S = 1.0


class Watcher(Protocol):
    """An observer that is called with the work due and then with every record."""

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

        # No auto-refresh, whose thread would draw four times a second.
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
    """Call ``draw`` every ``every_s`` seconds in a thread of its own while the block runs."""
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
        self._tally.add(record, time.monotonic())

    def draw(self) -> None:
        from rich.text import Text

        if self._tally is not None:
            rows = self._tally.rows(time.monotonic())
            lines = progress_lines(rows, is_complete=self._tally.is_complete)
            self._live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), refresh=True)


class _Lines:
    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._tally: Tally | None = None

    def started(self, outlook: Outlook) -> None:
        self._tally = Tally(outlook, time.monotonic())
        say(work_line(outlook, whole(self._tally.rows(time.monotonic())).due))

    def finished(self, record: Record) -> None:
        assert self._tally is not None
        self._tally.add(record, time.monotonic())
        if self._verbose and not is_answered(record):
            say(failure_line(record))
        if self._tally.is_complete:
            say(status_line(self._tally.rows(time.monotonic())))

    def draw(self) -> None:
        # The call for the last record prints the last line; nothing follows it.
        if self._tally is not None and not self._tally.is_complete:
            say(status_line(self._tally.rows(time.monotonic())))
