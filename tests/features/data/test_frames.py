"""A run's frames: their columns are those defined, their figures those of the report, and nothing missing is 0."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from msgspec import structs

import vendor_verifier
from vendor_verifier.errors import RunFolderError, UsageError
from vendor_verifier.features.data.columns import FRAMES
from vendor_verifier.features.data.run_data import RunData, load_run
from vendor_verifier.store import RunFolder, encode_record

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
CONFIG = """\
simulated-model:
  vendors:
    - {name: simulated, label: official, model_id: simulated-model, url: "sim://faithful", is_baseline: true}
    - {name: simulated, label: poor, model_id: simulated-model, url: "sim://quantised"}
    - {name: simulated, label: cut, model_id: simulated-model, url: "sim://cutter"}
    - {name: simulated, label: other, model_id: simulated-model, url: "sim://substitute"}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """A run of triggering and an evaluation with good answers, bad calls and failures."""
    folder = tmp_path_factory.mktemp("frames")
    (folder / "config.yaml").write_text(CONFIG)
    options: dict[str, Any] = {"suites": ["trigger", "mcptoolbench"], "limit": 60, "retries": 0, "seed": 3}
    vendor_verifier.verify(folder / "config.yaml", output_dir=folder / "runs" / "today", **options)
    return load_run(folder / "runs" / "today")


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_has_the_columns_and_dtypes_of_its_definition(run: RunData, name: str) -> None:
    """In their order; and there are rows to see it by."""
    frame = getattr(run, name)
    assert [(column, str(dtype)) for column, dtype in frame.dtypes.items()] == [
        (column.name, column.dtype) for column in FRAMES[name].columns
    ]
    assert len(frame)
    assert getattr(run, name) is frame


def test_schema_accuracy_of_the_calls_is_that_of_the_report(run: RunData) -> None:
    """Over both evaluations, call by call: the frame holds what the figure was made of."""
    told = run.ranking.set_index("label").schema_accuracy
    counted = run.calls.groupby("label").valid.mean()
    assert counted.to_dict() == pytest.approx(told.to_dict())
    assert counted["official"] == 1
    assert counted["poor"] < 1
    assert set(run.calls.suite) == {"trigger", "mcptoolbench"}
    assert run.calls[run.calls.verdict == "schema_mismatch"].reason.notna().all()


def test_metrics_of_records_are_those_of_the_report(run: RunData) -> None:
    """The medians are the report's, and a failure measured nothing."""
    for model in run.report.models:
        for vendor in model.vendors:
            own = run.records[run.records.label == vendor.label]
            assert own.e2e_ms.median() == pytest.approx(vendor.distributions["e2e_ms"].p50)
            assert len(own) == vendor.recorded
            assert own.succeeded.sum() == vendor.succeeded
            assert own.attempts.sum() == vendor.attempts
    failed = run.records[~run.records.succeeded]
    assert len(failed)
    assert failed.failure.notna().all()
    assert failed[["ttft_ms", "output_tokens", "tps"]].isna().all(axis=None)


def test_attempts_and_chunks_tell_the_same_times(run: RunData) -> None:
    """The last piece comes when the attempt says, and the first when its first token did."""
    key = ["label", "suite", "sample", "repetition", "turn", "attempt"]
    attempts = run.attempts.set_index(key)
    ends = run.chunks.groupby(key).at_ms.agg(["min", "max"])
    joined = ends.join(attempts)
    assert (joined["max"] - joined.last_token_ms).abs().max() < 1e-6
    assert (joined["min"] - joined.first_token_ms).abs().max() < 1e-6
    assert run.attempts.sent_at.notna().all()


def test_every_sample_that_was_asked_is_there(run: RunData) -> None:
    """Records join with samples."""
    asked = run.records.merge(run.samples, on=["suite", "sample"], how="left")
    assert asked.question.notna().any()
    assert asked.tools.notna().all()


@pytest.mark.parametrize("name", FRAMES)
def test_parts_together_are_the_whole(run: RunData, name: str) -> None:
    """In the same order, none longer than asked for."""
    parts = list(run.in_parts(name, rows=7))
    assert max(map(len, parts)) <= 7
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), getattr(run, name))


@pytest.mark.slow
def test_the_memory_of_parts_does_not_grow_with_the_run(run: RunData, tmp_path: Path) -> None:
    """Of a record that was read only a few bytes of its key stay, and a part holds no records."""
    source = RunFolder(run.path)
    asked = list(source.read_records(lambda *_: None))[:40]

    def peak(repeat: int) -> int:
        folder = RunFolder(tmp_path / str(repeat))
        folder.create()
        folder.write("manifest.json", source.manifest_file.read_bytes())
        for suite in ("trigger", "mcptoolbench"):
            folder.write_samples(suite, source.read_samples(suite))
        again = (structs.replace(record, repetition=number) for number in range(repeat) for record in asked)
        folder.write_pieces("records.jsonl", map(encode_record, again))
        tracemalloc.start()
        try:
            assert sum(map(len, load_run(folder.path).in_parts("records", rows=20))) == 40 * repeat
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # Beyond some thousand records Python keeps no more small objects for later than before.
    peak(100)
    few, many = peak(100), peak(280)
    assert many - few < 40 * 180 * 100


def test_what_cannot_be_meant_is_refused(run: RunData, tmp_path: Path) -> None:
    """A frame that does not exist, no rows, and a folder without a run."""
    with pytest.raises(UsageError, match="expected one of samples, records"):
        next(run.in_parts("rows"))
    with pytest.raises(UsageError):
        next(run.in_parts("calls", rows=0))
    with pytest.raises(RunFolderError):
        load_run(tmp_path)


def test_a_success_replaces_a_failure_and_nothing_else_counts_twice(run: RunData, tmp_path: Path) -> None:
    """As in scoring: of records under one key one is there, the first unless a later one succeeded."""
    folder = RunFolder(tmp_path / "copy")
    folder.create()
    source = RunFolder(run.path)
    folder.write("manifest.json", source.manifest_file.read_bytes())
    for suite in ("trigger", "mcptoolbench"):
        folder.write_samples(suite, source.read_samples(suite))
    records = list(source.read_records(lambda *_: None))
    # Told twice, the second time from the end.
    folder.write("records.jsonl", b"".join(map(encode_record, [*records, *reversed(records)])))
    again = load_run(folder.path)
    pd.testing.assert_frame_equal(again.records, run.records)


def test_the_page_s_code_runs(
    run: RunData, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every block, one after the other."""
    monkeypatch.chdir(run.path.parents[1])
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/data.md", "exec"), names)
    assert "poor" in capsys.readouterr().out


def test_pandas_waits_until_a_frame_is_asked_for(run: RunData) -> None:
    """Who loads a run and looks at its report needs no pandas."""
    load = f"run = vendor_verifier.load_run({str(run.path)!r})"
    code = f"import sys, vendor_verifier; {load}; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
