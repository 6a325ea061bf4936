"""How live progress is written: rows of a tally → lines of text. Plain strings: a rich table takes a hundred times as
long to lay out, and while it is drawn a time stamp may have to wait."""

from __future__ import annotations

from collections.abc import Sequence

from vendor_verifier.cli.tally import Row, whole
from vendor_verifier.reports.cells import MISSING
from vendor_verifier.reports.escape import plain
from vendor_verifier.values.record import Record

_HEADS = ("Vendor", "Done", "Failed", "In flight", "Per second", "TTFT p50", "Cost", "Left")
_WIDEST_NAME = 40


def progress_lines(rows: Sequence[Row], *, is_complete: bool) -> list[str]:
    """A table with a row for each vendor and, where there are several, one for all."""
    shown = [*rows, whole(rows)] if len(rows) > 1 else list(rows)
    table = [_HEADS, *(_cells(row) for row in shown)]
    widths = [max(len(line[column]) for line in table) for column in range(len(_HEADS))]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in table
    ]
    return [*lines, "all answers are here, scoring them"] if is_complete else lines


def status_line(rows: Sequence[Row]) -> str:
    """The same on one line: all vendors, then in brackets how far each is."""
    row = whole(rows)
    words = [f"{_done(row)} done, {row.failed} failed"]
    words += [f"{row.in_flight} in flight"] if row.in_flight else []
    words += [f"{row.rate:.1f} a second"] if row.rate is not None else []
    words += [f"{_usd(row.cost_usd)} so far"] if row.cost_usd is not None else []
    words += [f"about {_time(row.left_s)} left"] if row.left_s else []
    return ", ".join(words) + (f" [{'; '.join(map(_short, rows))}]" if len(rows) > 1 else "")


def failure_line(record: Record) -> str:
    """A sample that failed, and why."""
    final = record.final
    failure = final.failure if final else None
    words = f"{failure.kind} ({failure.phase}): {failure.message[:200]}" if failure else "no answer"
    tries = len(record.turns[-1].attempts) if record.turns else 0
    return plain(f"{record.model} / {record.label} / {record.sample}: {words} after {tries} attempts")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        plain(row.name, _WIDEST_NAME),
        _done(row),
        str(row.failed),
        MISSING if row.in_flight is None else str(row.in_flight),
        MISSING if row.rate is None else f"{row.rate:.1f}",
        MISSING if row.ttft_p50_ms is None else f"{row.ttft_p50_ms:.0f} ms",
        MISSING if row.cost_usd is None else _usd(row.cost_usd),
        MISSING if row.left_s is None else _time(row.left_s),
    )


def _short(row: Row) -> str:
    words = f"{plain(row.name, _WIDEST_NAME)} {_done(row)}" + (f" ({row.failed} failed)" if row.failed else "")
    return words + (f" {row.ttft_p50_ms:.0f} ms" if row.ttft_p50_ms is not None else "")


def _done(row: Row) -> str:
    return str(row.done) if row.due is None else f"{row.done}/{row.due}"


def _usd(amount: float) -> str:
    return f"${amount:.4f}" if amount < 1 else f"${amount:,.2f}"


def _time(seconds: float) -> str:
    """Hours, minutes and seconds, no more than two of them."""
    whole_s = round(seconds)
    if whole_s >= 3600:
        return f"{whole_s // 3600} h {whole_s % 3600 // 60:02} min"
    return f"{whole_s // 60} min {whole_s % 60:02} s" if whole_s >= 60 else f"{whole_s} s"
