"""Tables of ``report``: spreadsheets and programs read them as they are, and no stranger's text as a formula."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import vendor_verifier
from vendor_verifier.cli.main import run_app
from vendor_verifier.features.data import export, table_files
from vendor_verifier.features.data.columns import FRAMES
from vendor_verifier.features.data.frame import typed_frame
from vendor_verifier.features.data.run_data import RunData, load_run
from vendor_verifier.features.data.table_files import TableParts, csv_pieces, workbook_pieces
from vendor_verifier.reports.escape import spreadsheet_text
from vendor_verifier.reports.ranking import render_csv

CONFIG = """\
simulated-model:
  vendors:
    - {name: simulated, label: "=cmd|' /C calc'!A0", model_id: m, url: "sim://faithful", is_baseline: true}
    - {name: simulated, label: "-2+3", model_id: m, url: "sim://quantised"}
"""
HOSTILE = [
    *("=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1", "\r=1", "\u200b=1", "＝1"),
    *(
        "a;=1",
        "a\n=1",
        "a\r\n-1",
        '"=1',
        "a\t@b",
    ),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """A run whose vendors have hostile names."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "config.yaml").write_text(CONFIG)
    vendor_verifier.verify(folder / "config.yaml", output_dir=folder / "today", limit=6, retries=0, seed=4)
    return load_run(folder / "today")


def _export(run: RunData, capsys: pytest.CaptureFixture[str], *words: str) -> list[Path]:
    named = {"--format", "--table", "--wide", "-o"} & set(words)
    more = () if named else ("--format", "csv", "--table", "ranking,verdicts,findings")
    assert run_app(["report", str(run.path), *words, *more]) == 0
    return [Path(line) for line in capsys.readouterr().out.splitlines()]


def _rows(path: Path) -> list[dict[str, str]]:
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbfmodel,")
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


def test_the_default_is_what_people_read(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """Three short tables as CSV inside the run's folder, with the mark that Excel looks for."""
    files = _export(run, capsys)
    assert files == [run.path / "export" / f"{name}.csv" for name in ("ranking", "verdicts", "findings")]
    rows = _rows(files[0])
    assert tuple(rows[0]) == FRAMES["ranking"].short
    assert len(rows[0]) < 20
    assert float(rows[0]["success_rate"]) == 1.0
    assert {row["label"] for row in rows} == {"'=cmd|' /C calc'!A0", "'-2+3"}


def test_wide_has_every_column_of_the_run_s_own_ranking(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """In its order, with the same values."""
    (file,) = _export(run, capsys, "--wide", "--table", "ranking", "-o", str(run.path / "wide"))
    own = list(csv.DictReader(io.StringIO(render_csv(run.report))))
    rows = _rows(file)
    assert len(own[0]) > 100
    assert [list(row) for row in rows] == [list(row) for row in own]
    for one, other in zip(rows, own, strict=True):
        assert {name: _value(text) for name, text in one.items()} == {
            name: _value(text) for name, text in other.items()
        }


def _value(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text.casefold() if text.casefold() in ("true", "false") else text


@pytest.mark.parametrize("wide", [False, True])
def test_parquet_gives_the_frames_back(run: RunData, capsys: pytest.CaptureFixture[str], wide: bool) -> None:
    """With dtypes, units and meanings; texts as they came."""
    words = ["--wide"] if wide else []
    files = _export(run, capsys, "--format", "parquet", "--table", "all", "-o", str(run.path / f"p{wide}"), *words)
    assert [file.stem for file in files] == list(FRAMES)
    for file in files:
        kind, frame = FRAMES[file.stem], getattr(run, file.stem)
        read = pd.read_parquet(file)
        expected = export.wide_ranking(run.report) if wide and file.stem == "ranking" else frame
        pd.testing.assert_frame_equal(read, expected if wide else expected[list(kind.shown)])
        schema = parquet.read_schema(file)
        for column in kind.columns if wide and file.stem != "ranking" else ():
            told = schema.field(column.name).metadata
            assert (told[b"unit"].decode(), told[b"description"].decode()) == (column.unit, column.words)


def test_json_lines_give_the_frames_back(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """A row an object, null where nothing was measured."""
    (file,) = _export(run, capsys, "--wide", "--table", "records", "-o", str(run.path / "some" / "records.jsonl"))
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert len(rows) == len(run.records)
    for row, (_, told) in zip(rows, run.records.iterrows(), strict=True):
        assert set(row) == set(told.index)
        assert all(
            row[name] is None if pd.isna(value) else row[name] == pytest.approx(value) for name, value in told.items()
        )


def test_a_workbook_has_a_sheet_a_table(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """Header frozen, numbers as numbers, times as times, and texts of strangers as texts."""
    (file,) = _export(run, capsys, "--table", "ranking,attempts", "-o", str(run.path / "book.xlsx"))
    book = openpyxl.load_workbook(file)
    assert book.sheetnames == ["ranking", "attempts"]
    for sheet in book:
        frame = getattr(run, sheet.title)[list(FRAMES[sheet.title].shown)]
        head, *rows = sheet.iter_rows()
        assert sheet.freeze_panes == "A2"
        assert [cell.value for cell in head] == list(frame.columns)
        assert len(rows) == len(frame)
        assert not [cell for row in rows for cell in row if cell.data_type == "f"]
        for row, (_, told) in zip(rows, frame.iterrows(), strict=True):
            for cell, value in zip(row, told, strict=True):
                assert _same(cell.value, value), (sheet.title, cell.coordinate)
        assert all(8 <= sheet.column_dimensions[cell.column_letter].width < 62 for cell in head)


def _same(read: Any, value: Any) -> bool:
    if pd.isna(value):
        return read is None
    if isinstance(value, str):
        return bool(read == spreadsheet_text(value))
    if isinstance(value, pd.Timestamp):
        return abs(pd.Timestamp(read, tz="UTC") - value) < pd.Timedelta(milliseconds=1)
    return not isinstance(read, str) and read == pytest.approx(value)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_begins_a_formula(text: str) -> None:
    """Nor does a line of it, or what another program would take for a cell of its own."""
    for part in re.split(r"[\n;\t]", spreadsheet_text(text)):
        assert part.strip(" \"'\r")[:1] not in set("=+-@＝") or "'" in part, text
    assert spreadsheet_text("a = b - c\n* d").count("'") == 0


@given(st.text(max_size=40))
def test_a_table_of_any_texts_is_read_as_so_many_rows(text: str) -> None:
    """No text breaks a line or a cell of CSV, and none leaves an operator at a start."""
    frame = typed_frame([("model", "string", [text, "end"]), ("n", "Int64", [1, None])])
    data = b"".join(csv_pieces(TableParts("t", [frame], {}, {}))).decode("utf-8-sig")
    head, first, last = csv.reader(io.StringIO(data, newline=""))
    assert (head, first[1], last) == (["model", "n"], "1", ["end", ""])
    assert not re.match(r"\s*[=+\-@＝＋－＠]", first[0])


def test_a_long_table_goes_on_in_the_next_sheet_and_a_long_text_is_cut(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Excel has so many rows a sheet and characters a cell."""
    monkeypatch.setattr(table_files, "SHEET_ROWS", 4)
    frame = typed_frame([("n", "Int64", [*range(7)]), ("text", "string", ["x" * 40_000] * 7)])
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"".join(workbook_pieces([TableParts("t", [frame[:2], frame[2:]], {}, {})])))
    book = openpyxl.load_workbook(path)
    assert [[row[0] for row in sheet.values] for sheet in book] == [["n", 0, 1, 2], ["n", 3, 4, 5], ["n", 6]]
    assert len(book["t"]["B2"].value) == 32_767
    assert book["t"]["B2"].value.endswith("…")


def test_an_empty_table_has_its_header(run: RunData, tmp_path: Path) -> None:
    """In every format; JSON lines have none."""
    empty = [typed_frame([("model", "string", []), ("n", "Int64", [])])]
    pieces: dict[str, Callable[[TableParts], Any]] = {**export._PIECES, "xlsx": lambda table: workbook_pieces([table])}
    written = {name: b"".join(make(TableParts("t", empty, {}, {}))) for name, make in pieces.items()}
    assert written["csv"].decode("utf-8-sig") == "model,n\n"
    assert written["jsonl"] == b""
    assert parquet.read_table(io.BytesIO(written["parquet"])).column_names == ["model", "n"]
    assert list(openpyxl.load_workbook(io.BytesIO(written["xlsx"])).active.values) == [("model", "n")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--table", "rows"], "--table: read rows; expected some of samples, records"),
        (["--format", "csv", "--wide", "-o", "x.xlsx"], "--format csv and a file that ends in .xlsx"),
        (["--wide", "-o", "x.pdf"], "a file that ends in .pdf; expected .csv, .jsonl, .parquet, .xlsx, or a folder"),
        (["-o", "x.csv"], "for ranking, verdicts, findings; expected a folder, one --table, or xlsx"),
        (["--format", "xml"], "xml"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    run: RunData, words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In one sentence, and nothing is written."""
    assert run_app(["report", str(run.path), *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("format", "library"), [("parquet", "pyarrow"), ("xlsx", "xlsxwriter")])
def test_a_missing_library_is_one_sentence(
    run: RunData, format: str, library: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That names what to install."""

    def refused(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(table_files, "import_module", refused)
    assert run_app(["report", str(run.path), "--format", format]) == 2
    message = f"error: --format {format} needs {library}, which is not installed: pip install '.[export]' in a checkout"
    assert capsys.readouterr().err.startswith(message)
