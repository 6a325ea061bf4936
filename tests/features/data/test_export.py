"""Tables of ``report``: spreadsheets and programs read them as they are, and no text of a stranger as a formula."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pyarrow import parquet
from scored import write_demo

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.data import export
from vendor_verifier.features.data.run_data import TABLES, RunData, load_run
from vendor_verifier.reports.escape import spreadsheet_text
from vendor_verifier.store import RunFolder, encode_record

LABEL = "=cmd|' /C calc'!A0"
HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1", "\r=1", "\u200b=1", "＝1", "a;=1", "a\n=1", '"=1', "a\t@b"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """The stored demo run, with one vendor under a hostile name."""
    folder = RunFolder(write_demo(tmp_path_factory.mktemp("export")))
    manifest = folder.read_manifest()
    entries = [each | {"label": LABEL} if each["label"] == "cutter" else each for each in manifest.raw["entries"]]
    folder.write_manifest(manifest.changed(entries=entries))
    records = list(folder.read_records(lambda *_: None))
    renamed = [replace(each, label=LABEL) if each.label == "cutter" else each for each in records]
    folder.records_file.write_bytes(b"".join(map(encode_record, renamed)))
    return load_run(folder.path)


def written(run: RunData, capsys: pytest.CaptureFixture[str], *words: str) -> list[Path]:
    """The files that the command says it wrote."""
    assert run_app(["report", str(run.path), *words]) == 0
    return [Path(line) for line in capsys.readouterr().out.splitlines()]


def test_csv_is_what_a_spreadsheet_opens(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """The mark of UTF-8, numbers as numbers, and no formula."""
    files = written(run, capsys, "--format", "csv", "--table", "ranking,verdicts,findings")
    assert files == [run.path / "export" / f"{name}.csv" for name in export.FOR_PEOPLE]
    data = files[0].read_bytes()
    assert data.startswith(b"\xef\xbb\xbfmodel,")
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert tuple(rows[0]) == tuple(column.name for column in TABLES["ranking"].columns)
    assert float(rows[0]["success_rate"]) == 1.0
    assert f"'{LABEL}" in {row["label"] for row in rows}


def test_parquet_and_json_lines_give_every_table_back(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """With texts as they came; Parquet with units and meanings, JSON with null where nothing was measured."""
    files = written(run, capsys, "--format", "parquet", "--table", "all", "-o", str(run.path / "all"))
    files += written(run, capsys, "--format", "jsonl", "--table", "all", "-o", str(run.path / "all"))
    assert [file.stem for file in files] == [*TABLES, *TABLES]
    for file in files:
        frame = pd.concat(run.in_parts(file.stem), ignore_index=True)
        if file.suffix == ".parquet":
            pd.testing.assert_frame_equal(pd.read_parquet(file), frame, check_dtype=False, check_categorical=False)
        else:
            rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            assert rows == json.loads(frame.to_json(orient="records", double_precision=15)), file
    schema = parquet.read_schema(run.path / "all" / "records.parquet")
    assert schema.field("ttft_ms").metadata == {b"unit": b"ms", b"meaning": "TTFT: first token − sent".encode()}


def test_a_workbook_has_a_sheet_a_table(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """Header in sight, numbers as numbers, and texts of strangers as texts."""
    (file,) = written(run, capsys, "--table", "ranking,calls", "-o", str(run.path / "book.xlsx"))
    book = openpyxl.load_workbook(file)
    assert book.sheetnames == ["ranking", "calls"]
    for sheet in book:
        frame = getattr(run, sheet.title)
        head, *rows = sheet.iter_rows()
        assert sheet.freeze_panes == "A2"
        assert [cell.value for cell in head] == list(frame.columns)
        assert not [cell for row in rows for cell in row if cell.data_type == "f"]
        for row, (_, told) in zip(rows, frame.iterrows(), strict=True):
            assert all(_same(cell.value, value) for cell, value in zip(row, told, strict=True))


def _same(read: Any, value: Any) -> bool:
    if pd.isna(value):
        return read is None
    if isinstance(value, str):
        return (read or "") == spreadsheet_text(value)
    return bool(float(read) == pytest.approx(float(value)))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_begins_a_formula(text: str) -> None:
    """Nor does a line of it, or what another program would take for a cell of its own."""
    for part in re.split(r"[\n;\t]", spreadsheet_text(text)):
        assert part.strip(" \"'\r")[:1] not in set("=+-@＝") or "'" in part, text


class Stub:
    """A run with one table of one part."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def in_parts(self, name: str) -> list[pd.DataFrame]:
        return [self.table]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_stays_one_cell_of_csv(text: str) -> None:
    """No text breaks a line or a cell, and none leaves an operator at a start."""
    table = pd.DataFrame({"model": pd.Series([text, "end"], dtype="string"), "n": [1.0, None]})
    data = b"".join(export._csv(Stub(table), "ranking")).decode("utf-8-sig")  # type: ignore[arg-type]
    head, first, last = csv.reader(io.StringIO(data, newline=""))
    assert (head, first[1], last) == (["model", "n"], "1.0", ["end", ""])
    assert not re.match(r"\s*[=+\-@＝＋－＠]", first[0])
