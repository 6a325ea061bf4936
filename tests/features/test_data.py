"""A run's tables: their columns are those defined, their figures those of the report, and nothing missing is 0."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pyarrow import parquet
from scored import MODEL, write_demo

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.data.run_data import FOR_PEOPLE, TABLES, RunData, _csv, load_run
from vendor_verifier.records.record import Attempt, Failure
from vendor_verifier.store import RunFolder, encode_record

LABELS = ("official", "cutter", "substitute")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """Three vendors of the stored demo run: 20 samples, the baseline asked twice."""
    return load_run(write_demo(tmp_path_factory.mktemp("tables"), *LABELS))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_columns_of_its_definition(run: RunData, name: str) -> None:
    """In their order, with their dtypes; it is made once."""
    table = getattr(run, name)
    defined = [(column.name, column.dtype) for column in TABLES[name].columns]
    found = ["string" if isinstance(dtype, pd.StringDtype) else str(dtype) for dtype in table.dtypes]
    assert list(zip(table, found, strict=True)) == defined
    assert getattr(run, name) is table
    assert name in dir(run)


def test_figures_are_those_of_the_report(run: RunData) -> None:
    """The ranking, and the share of valid calls call by call."""
    vendors = run.report.models[MODEL].vendors
    ranking = run.ranking.set_index("label")
    assert list(ranking.index) == list(vendors)
    for label, vendor in vendors.items():
        assert ranking.f1[label] == pytest.approx(vendor.f1)
        own = run.calls[run.calls.label == label]
        valid = own.verdict.isin(["valid", "empty_arguments", "valid_in_dialect"])
        assert valid.mean() == pytest.approx(vendor.schema_accuracy)
    assert len(run.verdicts) == 5 * len(vendors)
    assert list(run.findings.text) == [finding.text for finding in run.scored.findings]


def test_texts_and_calls_belong_to_their_records(run: RunData, tmp_path: Path) -> None:
    """By the index, although a key comes several times, failed ones first: the record that counts is there."""
    folder = RunFolder(write_demo(tmp_path, *LABELS))
    records = list(folder.read_records(lambda *_: None))
    failed = Attempt(1, failure=Failure("overloaded", "headers", "busy", 503))
    bad = [replace(each, turns=(replace(each.turns[0], attempts=(failed,)),)) for each in records[:30]]
    folder.records_file.write_bytes(b"".join(map(encode_record, [*bad, *records, *reversed(records)])))
    again = load_run(folder.path)
    for name in ("texts", "calls"):
        table, known = getattr(again, name), getattr(run, name)
        pd.testing.assert_frame_equal(table.drop(columns="record"), known.drop(columns="record"))
        rows = again.records.loc[table.record]
        assert (rows["label"].to_numpy() == table.label.to_numpy()).all()
        assert (rows["sample"].to_numpy() == table["sample"].to_numpy()).all()
    assert again.texts.message.isna().all()


def written(run: RunData, capsys: pytest.CaptureFixture[str], *words: str) -> list[Path]:
    assert run_app(["report", str(run.path), *words]) == 0
    return [Path(line) for line in capsys.readouterr().out.splitlines()]


def test_csv_is_what_a_spreadsheet_opens(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """The mark of UTF-8, numbers as numbers, and no formula."""
    files = written(run, capsys, "--format", "csv", "--table", "ranking,verdicts,findings")
    assert files == [run.path / "export" / f"{name}.csv" for name in FOR_PEOPLE]
    data = files[0].read_bytes()
    assert data.startswith(b"\xef\xbb\xbfmodel,")
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert tuple(rows[0]) == tuple(column.name for column in TABLES["ranking"].columns)
    assert float(rows[0]["success_rate"]) == 1.0


def test_parquet_and_json_lines_give_every_table_back(run: RunData, capsys: pytest.CaptureFixture[str]) -> None:
    """With texts as they came; Parquet with units and meanings, JSON with null where nothing was measured."""
    files = written(run, capsys, "--format", "parquet", "--table", "all", "-o", str(run.path / "all"))
    files += written(run, capsys, "--format", "jsonl", "--table", "all", "-o", str(run.path / "all"))
    assert [file.stem for file in files] == [*TABLES, *TABLES]
    for file in files:
        frame = run.whole(file.stem)
        if file.suffix == ".parquet":
            pd.testing.assert_frame_equal(pd.read_parquet(file), frame, check_dtype=False, check_categorical=False)
        else:
            rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            assert rows == json.loads(frame.to_json(orient="records", double_precision=15)), file
    schema = parquet.read_schema(run.path / "all" / "records.parquet")
    assert schema.field("ttft_ms").metadata == {b"unit": b"ms", b"meaning": "TTFT: first token − sent".encode()}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_stays_one_cell_of_csv(text: str) -> None:
    """No text breaks a line or a cell, and none leaves an operator at a start."""
    table = pd.DataFrame({"model": pd.Series([text, "end"], dtype="string"), "n": [1.0, None]})
    data = _csv(table, ()).decode("utf-8-sig")
    head, first, last = csv.reader(io.StringIO(data, newline=""))
    assert (head, first[1], last) == (["model", "n"], "1.0", ["end", ""])
    assert not re.match(r"\s*[=+\-@＝＋－＠]", first[0])
