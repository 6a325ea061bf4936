"""Conversion of a data set on disk: what is written, what is refused, and that nothing is lost."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from vendor_verifier.cli.datasets import convert_command
from vendor_verifier.errors import DataError, StorageError, UsageError
from vendor_verifier.pipeline.datasets import convert_file, load_dataset

CALL = {"name": "rate", "parameters": {"to": "EUR"}}
ROW = {"id": "7", "query": "Rate to EUR?", "tools": [{"name": "rate"}], "ground_truth": [CALL], "category": "money"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.json"
    path.write_text(json.dumps([ROW, {**ROW, "query": "Taux en € ?"}], indent=2), encoding="utf-8")
    return path


def test_a_file_is_converted_and_loads_again(source: Path, tmp_path: Path) -> None:
    """The written rows are our own format, one a line and readable, and give the samples of the source."""
    target = tmp_path / "out.jsonl"
    done = convert_file(source, target)
    assert (done.format, done.rows, done.skipped, done.defects) == ("toolbench", 2, (), ())
    assert "Taux en € ?" in target.read_text(encoding="utf-8")
    before, after = load_dataset(source), load_dataset(target)
    assert after.format == "tool_calls"
    assert [(s.id, s.expected, s.tags) for s in after.samples] == [(s.id, s.expected, s.tags) for s in before.samples]


def test_compressed_sources_are_read(source: Path, tmp_path: Path) -> None:
    """Gzip is recognised whatever the name."""
    packed = tmp_path / "in.dat"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert convert_file(packed, tmp_path / "out.jsonl").rows == 2


def test_an_existing_file_is_replaced_only_when_forced(source: Path, tmp_path: Path) -> None:
    """Neither another file nor the source itself is overwritten by accident."""
    target = tmp_path / "out.jsonl"
    target.write_text("precious")
    with pytest.raises(UsageError, match="exists; name another file, or give --force"):
        convert_file(source, target)
    assert target.read_text() == "precious"
    assert convert_file(source, target, force=True).rows == 2
    with pytest.raises(UsageError, match="is the file to convert"):
        convert_file(source, source, force=True)


def test_a_failed_conversion_leaves_nothing_behind(source: Path, tmp_path: Path) -> None:
    """A bad row, a missing source, a misspelt format and an unwritable target leave no file."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(ROW) + "\n" + json.dumps({**ROW, "query": None}) + "\n")
    with pytest.raises(DataError, match=r"bad\.jsonl:2: query"):
        convert_file(bad, tmp_path / "out.jsonl")
    with pytest.raises(DataError, match="no such file"):
        convert_file(tmp_path / "gone", tmp_path / "out.jsonl")
    with pytest.raises(UsageError, match="no data-set format 'x'"):
        convert_file(source, tmp_path / "out.jsonl", format="x")
    with pytest.raises(StorageError, match="cannot be written"):
        convert_file(source, tmp_path / "nowhere" / "out.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "in.json"]
    assert convert_file(bad, tmp_path / "out.jsonl", skip_bad=True).rows == 1


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows left out and peculiarities of the data set are listed, then the count, the format and the file."""
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps({**ROW, "tools": ["other"]}) + "\n{}\n")
    assert convert_command(source, target, skip_bad_rows=True) == 0
    said = capsys.readouterr().err
    assert "left out (1):" in said
    assert "expected call 1 is of 'rate', which is not among the tools" in said
    assert f"1 row read as toolbench, written to {target}" in said
