"""The one table type of every output: columns that make their own cells, and rows.

Markdown, CSV and lines of text are written here, a screen's table in :mod:`vendor_verifier.reports.terminal`, a page's
by ``table.html.j2``. A column says which of them leave it out; a cell what it is, and so how each escapes it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec
from msgspec import structs

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.score import Distribution, VendorScore
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import csv_text, markdown, visible
from vendor_verifier.words import Texts

Writer = Literal["terminal", "markdown", "html", "csv"]
EVERYWHERE = frozenset(get_args(Writer))
# The most characters of a name that a table has room for.
_PAGE_LABEL, _MARKDOWN_LABEL = 60, 80


class Cell(msgspec.Struct, frozen=True):
    """The content of a cell.

    ``value`` is the bare figure, for sorting and CSV. ``small`` is a second line; outputs of one line take ``wide``
    instead of both. ``css`` is a class, ``link`` the place in a page's part that the cell leads to,
    ``data`` are figures for the page's script. A ``figure`` is written by us and needs no escaping.
    """

    text: str
    value: str | int | float | bool | None = None
    small: str | None = None
    wide: str | None = None
    css: str | None = None
    kind: Literal["figure", "words", "name", "code"] = "figure"
    link: str | None = None
    data: Mapping[str, float] = msgspec.field(default_factory=dict)

    @property
    def sort(self) -> float | None:
        """The number by which a page sorts the cell's column; None for a text."""
        return None if isinstance(self.value, str) else self.value


class Column(msgspec.Struct, frozen=True):
    """One column: its ``key`` is its heading in CSV and the name of its ``title``, where none is given.

    ``cell`` makes its cell from the row's item. ``direction`` is the end that a first click brings to the top,
    ``prose`` marks text, ``writers`` are the outputs that have it.
    """

    key: str
    cell: Callable[[Any], Cell]
    title: str | None = None
    direction: Literal["desc", "asc"] = "desc"
    prose: bool = False
    writers: frozenset[str] = EVERYWHERE

    def headed(self, t: Texts) -> str:
        """The column's heading."""
        return t(self.key) if self.title is None else self.title


class Item(msgspec.Struct, frozen=True):
    """The subject of a row: ``name`` is its head, ``vendor`` links it to the vendor's details on a page."""

    name: str
    about: Any
    vendor: int | None = None
    baseline: bool = False


class Row(msgspec.Struct, frozen=True):
    """The cells of an item."""

    head: str
    cells: tuple[Cell, ...]
    vendor: int | None = None
    baseline: bool = False


class Table(msgspec.Struct, frozen=True):
    """Columns and rows; ``caption`` is announced by a screen reader, ``head`` is the heading of the names."""

    caption: str
    head: str
    columns: tuple[Column, ...]
    items: tuple[Item, ...]
    t: Texts
    sortable: bool = False

    def of(self, writer: Writer) -> Table:
        """The same table with only the columns of one output."""
        return structs.replace(self, columns=tuple(column for column in self.columns if writer in column.writers))

    @property
    def titles(self) -> list[str]:
        """The headings of the columns."""
        return [column.headed(self.t) for column in self.columns]

    @property
    def rows(self) -> list[Row]:
        return [
            Row(item.name, tuple(column.cell(item.about) for column in self.columns), item.vendor, item.baseline)
            for item in self.items
        ]


def table(
    caption: str, head: str, columns: Iterable[Column], items: Iterable[Item], t: Texts, *, sortable: bool = False
) -> Table:
    """A table made by applying every column to every item."""
    return Table(caption, head, tuple(columns), tuple(items), t, sortable)


class Section(msgspec.Struct, frozen=True):
    """A titled part of a report: a note, sentences, tables, and ``folded`` tables that are shown on demand.

    ``picture`` is drawn by :mod:`vendor_verifier.reports.html.charts`.
    """

    id: str
    title: str
    note: str | None = None
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    picture: str | None = None


def vendor_items(
    vendors: Sequence[VendorScore], about: Callable[[VendorScore], Any] = lambda vendor: vendor
) -> list[Item]:
    """An item for each vendor for which ``about`` gives something."""
    found = [(index, vendor, about(vendor)) for index, vendor in enumerate(vendors)]
    return [Item(vendor.label, each, index) for index, vendor, each in found if each is not None]


def page_label(text: str) -> str:
    """A name written by a stranger, in one line without anything hidden; the page's template escapes it."""
    return visible(text, _PAGE_LABEL)


def markdown_label(text: str) -> str:
    """A name written by a stranger, without any markup."""
    return markdown(text, _MARKDOWN_LABEL)


def name(text: str) -> Cell:
    """A cell with a name, cut to the width an output has."""
    return Cell(text, text, kind="name")


def words(text: str, most: int = 300, *, css: str | None = None, small: str | None = None) -> Cell:
    """A cell with text that a stranger may have written in part, so that it is escaped."""
    return Cell(visible(text, most), css=css, small=small, kind="words")


def raw(value: str | float | bool | None) -> Cell:
    """A cell with a bare value, as in CSV."""
    if isinstance(value, float):
        value = number_format.finite(value)
    return Cell(str(value), value, kind="name" if isinstance(value, str) else "figure")


def number(value: float | None) -> Cell:
    """A cell with a figure that has a unit."""
    return Cell(number_format.quantity(value), number_format.finite(value))


def usd(value: float | None) -> Cell:
    """A cell with US dollars."""
    return Cell(number_format.money(value), number_format.finite(value))


def share(value: float | None) -> Cell:
    """A cell with a share of 1."""
    return Cell(number_format.rate(value), number_format.finite(value))


def count(value: int | None) -> Cell:
    return Cell(number_format.count(value), value)


def measured(found: Distribution, t: Texts, whole: int | None = None) -> Cell:
    """A cell with the number of values in a summary, and of those that our own lateness took out of it."""
    small = t("stalled", n=found.stalled) if found.stalled else None
    wide = number_format.measured(found.n, found.stalled, t, whole)
    return Cell(number_format.count(found.n), found.n, small, wide)


def estimate(found: Estimate | None, *, is_share: bool = True, signed: bool = False) -> Cell:
    """A cell with a number and its interval below."""
    if found is None:
        return Cell(number_format.MISSING)
    text = number_format.rate(found.value) if is_share else number_format.quantity(found.value)
    small = number_format.interval(found, as_share=is_share)
    return Cell(text, number_format.finite(found.value), small, number_format.spread(found, signed=signed))


def field_columns(
    fields: Iterable[str], of: Callable[[Any], Any] = lambda about: about, title: str = "{field}"
) -> list[Column]:
    """Columns of figures that are fields of the rows' items, titled by their names and empty where missing."""

    def figure(field: str) -> Callable[[Any], Cell]:
        return lambda about: number(getattr(of(about), field, None))

    return [Column(field, figure(field), title.format(field=field)) for field in fields]


def markdown_lines(shown: Table) -> list[str]:
    """A GitHub table; empty without a row."""
    if not shown.items:
        return []
    shown = shown.of("markdown")
    lines = [[shown.head, *map(markdown_label, shown.titles)]]
    lines += [[markdown_label(row.head), *map(_markdown_cell, row.cells)] for row in shown.rows]
    drawn = ["| " + " | ".join(line) + " |" for line in lines]
    return [drawn[0], "|" + "---|" * len(lines[0]), *drawn[1:]]


def _markdown_cell(cell: Cell) -> str:
    text = cell.text if cell.wide is None else cell.wide
    if cell.kind == "code":
        return f"`{text}`"
    return text if cell.kind == "figure" else markdown_label(text) if cell.kind == "name" else markdown(text)


def csv_lines(shown: Table) -> str:
    """CSV (RFC 4180 quoting, LF line ends) with a header of keys; numbers as numbers, empty where nothing was measured,
    and never a formula.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    shown = shown.of("csv")
    writer.writerow([csv_text(column.key) for column in shown.columns])
    writer.writerows([_csv_cell(cell) for cell in row.cells] for row in shown.rows)
    return out.getvalue()


def bare(cell: Cell) -> str | float | bool | None:
    """The content of a cell as a program takes it; None where nothing was measured."""
    return cell.text if cell.value is None and cell.kind != "figure" else cell.value


def _csv_cell(cell: Cell) -> str:
    value = bare(cell)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else csv_text(value) if isinstance(value, str) else repr(value)


def aligned(rows: Sequence[Sequence[str]], *, left: int = 0, prose: int = 0) -> Iterator[str]:
    """Lines of columns as wide as need be; all but the first ``left`` and the last ``prose`` stand to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell if place >= len(row) - prose else cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells)
