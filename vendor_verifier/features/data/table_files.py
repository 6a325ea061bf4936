"""Tables as files: CSV and workbooks that a spreadsheet opens right, JSON lines, and Parquet with true types.

Every writer takes a table in parts and gives the file in pieces, so that memory does not grow with the table. Texts
were written by strangers: in CSV and workbooks none is read as a formula, and numbers stay numbers.
"""

from __future__ import annotations

import codecs
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from vendor_verifier.errors import UsageError, install_line
from vendor_verifier.reports.escape import spreadsheet_text

if TYPE_CHECKING:
    from pandas import DataFrame

TableFormat = Literal["csv", "parquet", "xlsx", "jsonl"]
# Excel's own limits.
SHEET_ROWS = 1_048_576
_CELL_TEXT = 32_767
_PIECE = 1 << 20
_DIGITS = 4
_WIDTHS = (8, 60)
# By unit and dtype: how a workbook shows a figure, which it holds in full.
_SHOWN_AS: Mapping[str, str] = {"share": "0.0%", "ms": "#,##0", "tokens": "#,##0", "tokens/s": "0.0"}
_MOMENT = "yyyy-mm-dd hh:mm:ss.000"


class TableParts(msgspec.Struct, frozen=True):
    """A table by its name, in parts of the same columns; ``units`` and ``words`` by column.

    ``is_short``: figures of CSV have at most four decimals.
    """

    name: str
    parts: Iterable[DataFrame]
    units: Mapping[str, str]
    words: Mapping[str, str]
    is_short: bool = False


def require_library(format: TableFormat) -> None:
    """Raise a UsageError where a format needs a package that is not installed."""
    name = {"parquet": "pyarrow", "xlsx": "xlsxwriter"}.get(format)
    try:
        if name is not None:
            import_module(name)
    except ImportError:
        raise UsageError(f"--format {format} needs {name}, which is not installed: {install_line('export')}") from None


def csv_pieces(table: TableParts) -> Iterator[bytes]:
    """UTF-8 with the mark by which Excel knows it; times are UTC, without their zone, which Excel cannot read."""
    yield codecs.BOM_UTF8
    for number, part in enumerate(table.parts):
        shown = part.copy()
        for name, dtype in _dtypes(part).items():
            if dtype == "string":
                shown[name] = part[name].map(spreadsheet_text, na_action="ignore")
            elif dtype == "Float64" and table.is_short:
                shown[name] = part[name].round(_DIGITS)
        shown = shown.rename(columns=spreadsheet_text)
        yield shown.to_csv(index=False, header=number == 0, date_format="%Y-%m-%d %H:%M:%S.%f").encode()


def jsonl_pieces(table: TableParts) -> Iterator[bytes]:
    """A JSON object a row; what is missing is null."""
    for part in table.parts:
        if len(part):
            lines = part.to_json(
                orient="records", lines=True, date_format="iso", date_unit="us", double_precision=15, force_ascii=False
            )
            yield lines.rstrip("\n").encode() + b"\n"


def parquet_pieces(table: TableParts) -> Iterator[bytes]:
    """A row group a part; unit and meaning stand in the metadata of each column."""
    import pyarrow
    from pyarrow import parquet

    sink, writer = _Sink(), None
    for part in table.parts:
        found = pyarrow.Table.from_pandas(part, schema=_arrow_schema(table, part), preserve_index=False)
        writer = writer or parquet.ParquetWriter(sink, found.schema, compression="zstd")
        writer.write_table(found)
        yield sink.drained()
    assert writer is not None, "a table has one part or more"
    writer.close()
    yield sink.drained()


def workbook_pieces(tables: Sequence[TableParts]) -> Iterator[bytes]:
    """A workbook with a sheet a table; one that is too long for a sheet goes on in the next."""
    import xlsxwriter

    with TemporaryDirectory() as folder:
        path = Path(folder, "book.xlsx")
        book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": folder})
        book.use_zip64()
        for table in tables:
            _Sheets(book, table).write()
        book.close()
        with path.open("rb") as file:
            yield from iter(lambda: file.read(_PIECE), b"")


def _dtypes(part: DataFrame) -> dict[str, str]:
    """Dtype by column, in their order."""
    return {str(name): str(dtype) for name, dtype in part.dtypes.items()}


class _Sink(io.RawIOBase):
    """A file that is only written, whose bytes are taken away as they come."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()
        self._gone = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._held += data
        return len(data)

    def tell(self) -> int:
        return self._gone + len(self._held)

    def drained(self) -> bytes:
        """The bytes written since the last time."""
        held = bytes(self._held)
        self._held.clear()
        self._gone += len(held)
        return held


def _arrow_schema(table: TableParts, part: DataFrame) -> Any:
    import pyarrow

    types = {
        "string": pyarrow.string(),
        "Int64": pyarrow.int64(),
        "Float64": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "datetime64[ns, UTC]": pyarrow.timestamp("ns", "UTC"),
    }
    return pyarrow.schema(
        [
            pyarrow.field(
                name, types[dtype],
                metadata={"unit": table.units.get(name, ""), "description": table.words.get(name, "")},
            )
            for name, dtype in _dtypes(part).items()
        ]
    )  # fmt: skip


class _Sheets:
    """The sheets of one table in a workbook."""

    def __init__(self, book: Any, table: TableParts) -> None:
        self._book, self._table = book, table
        self._bold = book.add_format({"bold": True})
        self._sheet: Any = None
        self._sheets = 0
        self._row = 0

    def write(self) -> None:
        """Header, then rows, each as it comes."""
        parts = iter(self._table.parts)
        first = next(parts)
        writers = [self._writer(name, dtype) for name, dtype in _dtypes(first).items()]
        widths = _widths(first)
        for part in chain([first], parts):
            for values in chain([None] if self._sheet is None else [], part.itertuples(index=False, name=None)):
                if values is None or self._row == SHEET_ROWS:
                    self._begin(list(first.columns), widths)
                if values is not None:
                    self._write_row(values, writers)

    def _begin(self, names: Sequence[str], widths: Sequence[int]) -> None:
        self._sheets += 1
        name = self._table.name if self._sheets == 1 else f"{self._table.name} {self._sheets}"
        self._sheet = self._book.add_worksheet(name)
        self._sheet.freeze_panes(1, 0)
        for place, (heading, width) in enumerate(zip(names, widths, strict=True)):
            self._sheet.set_column(place, place, width)
            self._sheet.write_string(0, place, spreadsheet_text(heading), self._bold)
        self._row = 1

    def _write_row(self, values: Iterable[Any], writers: Sequence[Callable[[Any, int], None]]) -> None:
        for place, (value, write) in enumerate(zip(values, writers, strict=True)):
            if not _is_missing(value):
                write(value, place)
        self._row += 1

    def _writer(self, name: str, dtype: str) -> Callable[[Any, int], None]:
        """The function that writes a value of a column into the present row."""
        shown = _MOMENT if dtype.startswith("datetime64") else _SHOWN_AS.get(self._table.units.get(name, ""))
        style = None if shown is None else self._book.add_format({"num_format": shown})

        def write(value: Any, place: int) -> None:
            if dtype == "string":
                text = spreadsheet_text(value)
                cut = text if len(text) <= _CELL_TEXT else text[: _CELL_TEXT - 1] + "…"
                self._sheet.write_string(self._row, place, cut, style)
            elif dtype == "boolean":
                self._sheet.write_boolean(self._row, place, bool(value), style)
            elif dtype.startswith("datetime64"):
                self._sheet.write_datetime(self._row, place, value.tz_localize(None).to_pydatetime(warn=False), style)
            elif math.isfinite(value):
                self._sheet.write_number(self._row, place, value, style)

        return write


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or value is pd.NaT


def _widths(part: DataFrame) -> list[int]:
    """The width of each column: its heading, or nine in ten of the first part's texts, within bounds."""
    least, most = _WIDTHS
    found = []
    for name, dtype in _dtypes(part).items():
        lengths = sorted(len(text) for text in part[name].dropna()) if dtype == "string" else []
        text = lengths[len(lengths) * 9 // 10] if lengths else 0
        moment = len(_MOMENT) if dtype.startswith("datetime64") else 0
        found.append(min(most, max(least, len(name) + 2, text + 2, moment)))
    return found
