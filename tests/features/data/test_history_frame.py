"""The history of runs as a frame: a row a vendor of a model in a run, with figures that say how they were taken."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from changing import replace
from histories import nights

import vendor_verifier
from vendor_verifier.errors import UsageError
from vendor_verifier.features.data.history_columns import history_kind
from vendor_verifier.features.history.database import add_run, default_history_file, keep_waiting, read_runs
from vendor_verifier.features.history.figures import known_figures
from vendor_verifier.records.history import HistoryEntry
from vendor_verifier.records.judgement import ServedNames


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three nights of two vendors; of the last one more is known."""
    *early, last = nights({"a": [100.0, 110.0, 90.0], "b": [200.0, 210.0, 220.0]})
    figures = {"ttft_ms.p50": (90.0, 200), "f1": (0.9, 150), "toolbench": (0.7, 40)}
    served = ServedNames(("m-1",), ("fp",))
    entry = HistoryEntry("m", "a", "v", "id", True, 9, 8, figures, served, "doubtful")
    for run in (*early, replace(last, entries=(entry, last.entries[1]))):
        assert add_run(tmp_path / "h.sqlite", run) is None
    return tmp_path / "h.sqlite"


def test_a_row_is_a_vendor_in_a_run(file: Path) -> None:
    """Oldest first, with every figure that was kept, and what was not measured missing."""
    frame = vendor_verifier.load_history(file)
    assert list(frame.label) == ["a", "b"] * 3
    assert list(frame.ttft_ms_p50) == [100, 200, 110, 210, 90, 220]
    assert frame["at"].is_monotonic_increasing
    row = frame.iloc[4]
    assert (row.f1, row.measured_f1, row.verdict) == (0.9, 150, "doubtful")
    assert (row.planned, row.succeeded, row.is_baseline) == (9, 8, True)
    assert json.loads(row.scores) == {"toolbench": 0.7}
    assert json.loads(row.served_models) == ["m-1"]
    assert frame.f1.isna().sum() == 5
    assert pd.isna(frame.iloc[0].verdict)
    assert frame.iloc[0].measured_f1 == 0


def test_columns_are_those_defined(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there are runs or none."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "none"))
    assert not default_history_file().exists()
    wanted = [(column.name, column.dtype) for column in history_kind(known_figures()).columns]
    for frame in (vendor_verifier.load_history(file), vendor_verifier.load_history()):
        assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == wanted
    assert frame.empty


def test_what_a_run_adds_is_what_is_read(file: Path, tmp_path: Path) -> None:
    """The figures of a real run's report, by their columns."""
    config = (
        "m:\n  vendors:\n    - {name: simulated, label: a, model_id: m, url: 'sim://faithful', is_baseline: true}\n"
    )
    (tmp_path / "config.yaml").write_text(config)
    done = vendor_verifier.verify(tmp_path / "config.yaml", limit=4, output_dir=tmp_path / "r", history=file)
    row = vendor_verifier.load_history(file).iloc[-1]
    vendor = done.report.models[0].vendors[0]
    assert row.run == done.report.run
    assert row.success_rate == vendor.metrics["success_rate"]
    assert row.e2e_ms_p95 == pytest.approx(vendor.distributions["e2e_ms"].p95)


def test_a_run_that_waits_counts_and_a_missing_file_is_told(file: Path) -> None:
    """As everywhere in the history."""
    last = read_runs(file)[-1]
    beside = file.with_name("other.sqlite")
    with pytest.raises(UsageError, match=r"there is no history .*other\.sqlite"):
        vendor_verifier.load_history(beside)
    keep_waiting(beside, last)
    assert len(vendor_verifier.load_history(beside)) == 2
