"""A stored run as tables for spreadsheets and programs: which tables, which columns, which files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.features.data.columns import FRAMES, RANKING, VERDICTS, Dtype
from vendor_verifier.features.data.frame import typed_frame
from vendor_verifier.features.data.run_data import RunData
from vendor_verifier.features.data.table_files import (
    TableFormat,
    TableParts,
    csv_pieces,
    jsonl_pieces,
    parquet_pieces,
    require_library,
    workbook_pieces,
)
from vendor_verifier.records.score import Report
from vendor_verifier.reports.ranking import ranking
from vendor_verifier.reports.tables import bare
from vendor_verifier.store import RunFolder
from vendor_verifier.words import Texts

if TYPE_CHECKING:
    from pandas import DataFrame

# What a buyer reads; the others are for who reckons.
FOR_PEOPLE = ("ranking", "verdicts", "findings")
ALL = "all"
# Rows of a part: with texts of some thousand characters a part takes some ten megabytes.
_ROWS = 5_000
_PIECES: Mapping[TableFormat, Callable[[TableParts], Iterator[bytes]]] = {
    "csv": csv_pieces,
    "jsonl": jsonl_pieces,
    "parquet": parquet_pieces,
}
# Of columns that only the wide ranking has and that hold words.
_WORDS = ("verdict", "few_stretches")


def export_run(
    run: RunData, format: TableFormat | None, tables: Sequence[str], output: Path | None, *, wide: bool
) -> list[Path]:
    """Write tables of a run and return the files.

    ``output`` is a folder where there is one of that name or it has no ending, else a file; None is ``export`` in the
    run's folder. ``format`` None is that of the file's ending, or CSV.

    Raises:
        UsageError: no such table, two tables for one file, another format's ending or none's, or a library is missing.
        StorageError: the disk refused.
    """
    chosen, names = _format(format, output), _names(tables)
    require_library(chosen)
    is_file = output is not None and not output.is_dir() and output.suffix.lower() == f".{chosen}"
    target = output.parent if is_file and output is not None else output or run.path / "export"
    if is_file and chosen != "xlsx" and len(names) > 1:
        words = f"read the file {output} for {', '.join(names)}; expected a folder, one --table, or xlsx"
        raise ProblemsError([Problem(words, key="--output")])
    folder = RunFolder(target)
    folder.create()
    if chosen == "xlsx":
        name = output.name if is_file and output is not None else f"{run.path.resolve().name}.xlsx"
        return [folder.write_pieces(name, workbook_pieces([_parts(run, each, wide=wide) for each in names]))]
    return [
        folder.write_pieces(
            output.name if is_file and output is not None else f"{name}.{chosen}",
            _PIECES[chosen](_parts(run, name, wide=wide)),
        )
        for name in names
    ]


# By this ending folders of many files are named.
_FOLDER = ".d"


def _format(stated: TableFormat | None, output: Path | None) -> TableFormat:
    formats: tuple[TableFormat, ...] = (*_PIECES, "xlsx")
    suffix = output.suffix.lower() if output is not None and not output.is_dir() else ""
    ending = next((each for each in formats if suffix == f".{each}"), None)
    if ending is None and suffix[1:].isalpha() and suffix != _FOLDER:
        words = f"read a file that ends in {suffix}; expected {', '.join(f'.{each}' for each in formats)}, or a folder"
        raise ProblemsError([Problem(words, key="--output")])
    if stated is not None and ending not in (None, stated):
        words = f"read --format {stated} and a file that ends in .{ending}; expected .{stated}, or a folder"
        raise ProblemsError([Problem(words, key="--output")])
    return stated or ending or "csv"


def _names(tables: Sequence[str]) -> tuple[str, ...]:
    """The tables that were asked for, once each."""
    words = [word.strip() for text in tables for word in text.split(",") if word.strip()]
    if unknown := [word for word in words if word not in (*FRAMES, ALL)]:
        told = f"read {', '.join(unknown)}; expected some of {', '.join(FRAMES)}, or {ALL}"
        raise ProblemsError([Problem(told, key="--table")])
    return tuple(FRAMES) if ALL in words else tuple(dict.fromkeys(words)) or FOR_PEOPLE


def _parts(run: RunData, name: str, *, wide: bool) -> TableParts:
    kind = FRAMES[name]
    units = {column.name: column.unit for column in kind.columns}
    words = {column.name: column.words for column in kind.columns}
    return TableParts(name, _frames(run, name, wide=wide), units, words, is_short=not wide)


def _frames(run: RunData, name: str, *, wide: bool) -> Iterator[DataFrame]:
    """The frame in parts, with the columns of an export; read when they are written."""
    if wide and name == RANKING.name:
        yield wide_ranking(run.report)
        return
    shown = list(FRAMES[name].shown)
    for part in run.in_parts(name, _ROWS):
        yield part if wide else part[shown]


def wide_ranking(report: Report) -> DataFrame:
    """Every column that ranking.csv has, in its order."""
    table = ranking(report, report.models, Texts()).of("csv")
    rows = [[bare(cell) for cell in row.cells] for row in table.rows]
    return typed_frame(
        (column.key, _dtype(column.key, values), values)
        for column, values in zip(table.columns, map(list, zip(*rows, strict=True)), strict=True)
    )


def _dtype(name: str, values: Sequence[Any]) -> Dtype:
    """The dtype of a column of the wide ranking: as the frames define it, else as its values are."""
    known: dict[str, Dtype] = {column.name: column.dtype for kind in (VERDICTS, RANKING) for column in kind.columns}
    if name in known:
        return known[name]
    found = [value for value in values if value is not None]
    if name in _WORDS or any(isinstance(value, str) for value in found):
        return "string"
    if found and all(isinstance(value, bool) for value in found):
        return "boolean"
    return "Int64" if found and all(isinstance(value, int) for value in found) else "Float64"
