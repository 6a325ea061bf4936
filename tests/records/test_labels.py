"""Labels of a router's entries read as on the product's page, and what was stored before goes on under its name."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vendor_verifier
from vendor_verifier.cli.main import run_app
from vendor_verifier.features.history.database import add_run, read_runs
from vendor_verifier.records.history import HistoryEntry, HistoryRun
from vendor_verifier.records.labels import kept_label, shown_label, shown_labels
from vendor_verifier.records.record import Record
from vendor_verifier.resources import shipped
from vendor_verifier.store import RunFolder, decode_record, encode_record

CONFIG = shipped("config_simulated.yaml")
OLD, NEW = "openrouter (anthropic)", "anthropic (openrouter)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OLD, NEW),
        (NEW, NEW),
        ("openrouter (deepinfra/fp8)", "deepinfra/fp8 (openrouter)"),
        ("openrouter", "openrouter"),
        ("packyapi (group A)", "packyapi (group A)"),
        ("my openrouter (x)", "my openrouter (x)"),
    ],
)
def test_only_a_router_s_label_is_turned(before: str, after: str) -> None:
    """Labels that people gave stay theirs."""
    assert shown_label(before) == after
    assert shown_label(shown_label(before)) == after


@given(st.text(st.characters(exclude_categories=["C"], exclude_characters='()"\\'), min_size=1, max_size=20))
def test_both_forms_lead_to_each_other(provider: str) -> None:
    """No provider's name is lost on the way to a history and back."""
    kept = f"openrouter ({provider})"
    assert kept_label(shown_label(kept)) == kept
    written = json.dumps({kept: 1}, ensure_ascii=False)
    assert json.loads(shown_labels(written)) == {shown_label(kept): 1}


def test_a_record_of_before_is_read_under_the_label_of_today() -> None:
    """So a run of an earlier version is scored, resumed, explained and compared like one of today."""
    record = Record("r", "m", OLD, "openrouter", "trigger", "s", 0)
    assert decode_record(encode_record(record)).label == NEW


def test_a_history_goes_on_under_the_key_it_began_with(tmp_path: Path) -> None:
    """The database has the old key, the reader sees the new label, and both find the series."""
    file = tmp_path / "h.sqlite"
    for number, label in enumerate((OLD, NEW)):
        entry = HistoryEntry("m", label, "openrouter", "id", False, 9, 9, {"tps": (10.0, 9)})
        run = HistoryRun(f"run-{number}", f"2026-01-0{number + 1}T00:00:00Z", "", "q", True, "0.2.0", (entry,))
        assert add_run(file, run) is None
    with sqlite3.connect(file) as connection:
        assert {label for (label,) in connection.execute("SELECT label FROM figures")} == {OLD}
    for asked in (OLD, NEW):
        runs = read_runs(file, labels=[asked])
        assert [entry.label for run in runs for entry in run.entries] == [NEW, NEW]
        assert all(entry.figures == {"tps": (10.0, 9)} for run in runs for entry in run.entries)


def test_the_manifest_of_before_is_read_so_too(tmp_path: Path) -> None:
    """In its entries, and in keys made of model and label."""
    folder = RunFolder(tmp_path / "run")
    vendor_verifier.verify(CONFIG, models=["simulated-model"], vendors=["official"], limit=1, output_dir=folder.path)
    raw = {**folder.read_manifest().raw, "stopped": {f"simulated-model: {OLD}": "no credit"}}
    folder.write("manifest.json", json.dumps(raw).replace('"official"', f'"{OLD}"'))
    read = folder.read_manifest()
    assert [entry.label for entry in read.entries] == [NEW]
    assert list(read.stopped) == [f"simulated-model: {NEW}"]


def test_either_form_selects_a_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scripts of before go on, and what the table shows can be typed."""
    monkeypatch.chdir(tmp_path)
    entry = "{name: openrouter, model_id: m, provider: anthropic, is_baseline: true}"
    (tmp_path / "config.yaml").write_text(f"claude-haiku-4.5:\n  vendors:\n    - {entry}\n")
    for asked in (OLD, NEW):
        assert run_app(["--dry-run", "--vendor", asked, "-n", "2"]) == 0
        said = capsys.readouterr()
        assert NEW in said.out + said.err
