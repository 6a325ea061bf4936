"""Titled sections and tables of the page as plain values; the template escapes and draws them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.words import Texts
from vendor_verifier.values.judgement import Estimate
from vendor_verifier.values.score import Distribution

MAX_LABEL = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell says; ``sort`` orders numeric columns, ``small`` is a second line, ``css`` a class for outcomes."""

    text: str
    sort: float | None = None
    small: str | None = None
    css: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Cells after the row's heading; ``vendor`` links the heading to the vendor's details."""

    head: str
    cells: tuple[Cell, ...]
    vendor: int | None = None
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; ``direction`` is which end a first click brings to the top, ``prose`` is text."""

    title: str
    direction: str = "desc"
    prose: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a heading for its rows' names; ``caption`` is what a screen reader announces."""

    caption: str
    head: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    sortable: bool = False


def plain_table(
    caption: str, head: str, titles: Sequence[str], rows: Iterable[Row], *, prose: Sequence[str] = ()
) -> Table:
    """A table that is not sorted; the columns titled in ``prose`` hold text."""
    return Table(caption, head, tuple(Column(title, prose=title in prose) for title in titles), tuple(rows))


def label(text: str) -> str:
    """A name written by a stranger, in one line without anything hidden; the template escapes it."""
    return visible(text, MAX_LABEL)


def words(text: str, css: str | None = None) -> Cell:
    return Cell(text, css=css)


def number(value: float | None) -> Cell:
    """A figure with a unit."""
    return Cell(number_format.quantity(value), number_format.finite(value))


def share(value: float | None) -> Cell:
    """A share of 1."""
    return Cell(number_format.rate(value), number_format.finite(value))


def count(value: int | None) -> Cell:
    return Cell(number_format.count(value), value)


def measured(found: Distribution, t: Texts) -> Cell:
    """Over how many a summary was taken, and how many our own lateness took out of it."""
    return Cell(number_format.count(found.n), found.n, small=t("stalled", n=found.stalled) if found.stalled else None)


def estimate(found: Estimate | None, *, rate: bool = True) -> Cell:
    """A number with its interval below."""
    if found is None:
        return Cell(number_format.MISSING)
    write = number_format.rate if rate else number_format.quantity
    return Cell(write(found.value), number_format.finite(found.value), interval(found, rate=rate))


def interval(found: Estimate | None, *, rate: bool = True) -> str | None:
    """``low – high``; None when there is no interval."""
    if found is None or found.low is None or found.high is None:
        return None
    if rate:
        return f"{found.low:.3f}{_to(found.low)}{found.high:.3f}"
    return f"{number_format.quantity(found.low)}{_to(found.low)}{number_format.quantity(found.high)}"


def _to(low: float) -> str:
    """Beside a minus sign a bare dash would be hard to read."""
    return " … " if low < 0 else "–"


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part: a note, lines of text, tables, and ``folded`` ones that are shown when asked for;
    ``picture`` is drawn by :mod:`vendor_verifier.reports.html.charts`."""

    id: str
    title: str
    note: str | None = None
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    picture: Markup | None = None
