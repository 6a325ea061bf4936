"""A table of a report: a DataFrame with the headings and formats of its columns, the same for every output.

The index of the frame holds the names of its rows. What strangers wrote stays as it is until an output escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from vendor_verifier.reports import formats
from vendor_verifier.reports.escape import markdown
from vendor_verifier.reports.formats import Format

_LABEL_LENGTH, _CELL_LENGTH = 80, 500


class Column(NamedTuple):
    """A column: its name in the frame, its heading, and how its values are written; text without a format."""

    key: str
    head: str
    form: Format = str


@dataclass(frozen=True)
class Table:
    """A frame with a title, the columns that are shown, in their order, the heading of its index, and a note."""

    title: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    head: str = "Vendor"
    note: str = ""

    @property
    def heads(self) -> list[str]:
        """The headings, that of the index first."""
        return [self.head, *(column.head for column in self.columns)]

    def rows(self) -> Iterator[list[str]]:
        """The texts of every row, its name first; not escaped."""
        values = [self.frame[column.key].astype(object) for column in self.columns]
        for place, name in enumerate(self.frame.index):
            cells = (
                formats.written(value.iloc[place], column.form)
                for value, column in zip(values, self.columns, strict=True)
            )
            yield [str(name), *cells]

    @property
    def without_empty(self) -> Table:
        """The table without the columns in which nothing was measured."""
        kept = tuple(column for column in self.columns if self.frame[column.key].notna().any())
        return Table(self.title, self.frame, kept, self.head, self.note)


def markdown_lines(table: Table) -> list[str]:
    """A GitHub table with everything escaped; empty without a row."""
    if table.frame.empty:
        return []
    lines = [[markdown(text, _LABEL_LENGTH) for text in table.heads]]
    lines += [[markdown(row[0], _LABEL_LENGTH), *(markdown(text, _CELL_LENGTH) for text in row[1:])]
              for row in table.rows()]  # fmt: skip
    drawn = ["| " + " | ".join(line) + " |" for line in lines]
    return [drawn[0], "|" + "---|" * len(lines[0]), *drawn[1:]]


def table(
    title: str,
    rows: pd.DataFrame | Iterable[tuple[str, Mapping[str, Any]]],
    columns: Iterable[Column],
    head: str = "Vendor",
    note: str = "",
) -> Table:
    """A table from a frame, or from the name and the values of each row; names may repeat, values may be missing."""
    columns = tuple(columns)
    if not isinstance(rows, pd.DataFrame):
        named = list(rows)
        values: list[Any] = [row for _, row in named]
        rows = pd.DataFrame(values, index=[name for name, _ in named], dtype=object)
    return Table(title, rows.reindex(columns=[column.key for column in columns]), columns, head, note)
