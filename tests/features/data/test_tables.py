"""A run's tables: their columns are those defined, their figures those of the report, and nothing missing is 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from msgspec.structs import replace
from scored import MODEL, write_demo

from vendor_verifier.features.data.run_data import TABLES, RunData, load_run
from vendor_verifier.records.record import Attempt, Failure, Record
from vendor_verifier.store import RunFolder, encode_record


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """The stored demo run: ten vendors, 20 samples, the baseline asked twice."""
    return load_run(write_demo(tmp_path_factory.mktemp("tables")))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_columns_of_its_definition(run: RunData, name: str) -> None:
    """In their order, with their dtypes; it is made once."""
    table = getattr(run, name)
    defined = [(column.name, column.dtype) for column in TABLES[name].columns]
    assert [(column, _dtype(table[column])) for column in table] == defined
    assert getattr(run, name) is table
    assert name in dir(run)


def _dtype(column: Any) -> str:
    return "string" if isinstance(column.dtype, pd.StringDtype) else str(column.dtype)


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
    folder = RunFolder(write_demo(tmp_path))
    records = list(folder.read_records(lambda *_: None))
    failed = Attempt(1, failure=Failure("overloaded", "headers", "busy", 503))
    bad = [_with(record, failed) for record in records[:30]]
    folder.records_file.write_bytes(b"".join(map(encode_record, [*bad, *records, *reversed(records)])))
    again = load_run(folder.path)
    for name in ("texts", "calls"):
        table, known = getattr(again, name), getattr(run, name)
        pd.testing.assert_frame_equal(table.drop(columns="record"), known.drop(columns="record"))
        rows = again.records.loc[table.record]
        assert (rows["label"].to_numpy() == table.label.to_numpy()).all()
        assert (rows["sample"].to_numpy() == table["sample"].to_numpy()).all()
    assert again.texts.message.isna().all()


def _with(record: Record, attempt: Attempt) -> Record:
    return replace(record, turns=(replace(record.turns[0], attempts=(attempt,)),))


def test_a_notebook_shows_the_first_line_and_no_markup(run: RunData) -> None:
    """What vendors and files name is text, never a tag."""
    page = run._repr_html_()
    assert page.startswith("<p>")
    assert run.report.models[MODEL].choice.text[:20] in page
    assert "reseller-a" in page
    hostile = run.ranking.assign(label="<script>alert(1)</script>")
    other = load_run(run.path)
    other.ranking = hostile  # type: ignore[attr-defined]
    other.__dict__["scored"] = run.scored
    assert "<script>" not in other._repr_html_()
