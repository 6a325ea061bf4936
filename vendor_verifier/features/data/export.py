"""The tables of a run as files: CSV, JSON lines and Parquet."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import get_args

import pandas as pd

from vendor_verifier.errors import Problem, ProblemsError, UsageError, install_line
from vendor_verifier.features.data import TableFormat
from vendor_verifier.features.data.run_data import TABLES, RunData
from vendor_verifier.reports.escape import spreadsheet_text
from vendor_verifier.scoring.columns import Column
from vendor_verifier.store import RunFolder

FOR_PEOPLE = ("ranking", "verdicts", "findings")


def export_run(run: RunData, format: TableFormat | None, tables: Sequence[str], output: Path | None) -> list[Path]:
    """Write tables of a run and return the files.

    ``output`` is a file where its ending is a format's, else a folder; None is ``export`` in the folder of the run.
    ``format`` None is that of the file, or CSV. ``tables`` may hold ``all``; none are those that people read.

    Raises:
        ProblemsError: no such table, several tables for one file, or a file of another format.
        UsageError: the library of Parquet is missing.
        StorageError: the disk refused.
    """
    words = [word.strip() for text in tables for word in text.split(",") if word.strip()]
    if unknown := [word for word in words if word not in (*TABLES, "all")]:
        told = f"read {', '.join(unknown)}; expected some of {', '.join(TABLES)}, or all"
        raise ProblemsError([Problem(told, key="--table")])
    names = tuple(TABLES) if "all" in words else tuple(dict.fromkeys(words)) or FOR_PEOPLE
    ending = "" if output is None or output.is_dir() else output.suffix.lower().removeprefix(".")
    file = output if ending in get_args(TableFormat) else None
    chosen = format or (ending if file is not None else "csv")
    if file is not None and (ending != chosen or len(names) > 1):
        told = f"read the file {file} for {', '.join(names)} as {chosen}; give a folder, or one --table of its format"
        raise ProblemsError([Problem(told, key="--output-dir")])
    if chosen == "parquet" and find_spec("pyarrow") is None:
        raise UsageError(f"--format parquet needs pyarrow, which is not installed: {install_line('export')}")
    folder = RunFolder(file.parent if file is not None else output or run.path / "export")
    folder.create()
    written = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[chosen]
    return [
        folder.write(file.name if file else f"{name}.{chosen}", written(run.whole(name), TABLES[name].columns))
        for name in names
    ]


def _csv(table: pd.DataFrame, _columns: Sequence[Column]) -> bytes:
    """UTF-8 with the mark by which Excel knows it; no text is read as a formula."""
    shown = table.copy()
    for name in table:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            texts = table[name].astype("object")
            shown[name] = texts.map(spreadsheet_text, na_action="ignore").astype("object")
    return codecs.BOM_UTF8 + shown.to_csv(index=False).encode()


def _jsonl(table: pd.DataFrame, _columns: Sequence[Column]) -> bytes:
    """A JSON object a row; what is missing is null."""
    text = table.to_json(orient="records", lines=True, double_precision=15, force_ascii=False)
    return text.encode() if len(table) else b""


def _parquet(table: pd.DataFrame, columns: Sequence[Column]) -> bytes:
    """Unit and meaning are in the metadata of each column."""
    import pyarrow
    from pyarrow import parquet

    known = {column.name: {"unit": column.unit, "meaning": column.meaning} for column in columns}
    texts = table.select_dtypes("category").columns
    found = pyarrow.Table.from_pandas(table.astype(dict.fromkeys(texts, "string")), preserve_index=False)
    fields = [field.with_metadata(known.get(field.name, {})) for field in found.schema]
    target = BytesIO()
    parquet.write_table(found.cast(pyarrow.schema(fields)), target, compression="zstd")
    return target.getvalue()
