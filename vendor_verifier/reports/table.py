"""A table of a report: values with the headings and formats of their columns, the same for every output.

What strangers wrote stays as it is until an output escapes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from vendor_verifier.reports import formats
from vendor_verifier.reports.formats import Format


class Column(NamedTuple):
    """A column: its name in the rows, its heading, and how its values are written; text without a format."""

    key: str
    head: str
    form: Format = str


@dataclass(frozen=True)
class Table:
    """Named rows of values, the columns that are shown, in their order, the heading of the names, and a note.

    Names may repeat; a value that a row lacks was not measured.
    """

    title: str
    rows: Sequence[tuple[str, Mapping[str, Any]]]
    columns: Sequence[Column]
    head: str = "Vendor"
    note: str = ""

    @property
    def heads(self) -> list[str]:
        """The headings, that of the names first."""
        return [self.head, *(column.head for column in self.columns)]

    def texts(self) -> Iterator[list[str]]:
        """The texts of every row, its name first; not escaped."""
        for name, values in self.rows:
            yield [name, *(formats.written(values.get(column.key), column.form) for column in self.columns)]

    @property
    def without_empty(self) -> Table:
        """The table without the columns in which nothing was measured."""
        kept = [
            column
            for column in self.columns
            if any(formats.written(values.get(column.key), str) != formats.MISSING for _, values in self.rows)
        ]
        return replace(self, columns=kept)


def rows_of(frame: pd.DataFrame) -> list[tuple[str, Mapping[str, Any]]]:
    """The rows of a frame, named by its index."""
    rows: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return list(zip(map(str, frame.index), rows, strict=True))
