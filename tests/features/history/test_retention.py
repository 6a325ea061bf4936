"""One check at a time, and old runs that are deleted: only runs of ours whose figures are kept elsewhere."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import filelock
import pytest
from manifests import LEAST

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.history.nightly import clear_old_runs, read_days


def old_run(runs: Path, name: str, *, days: int, **changes: Any) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    began = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    manifest = {**LEAST, "run": name, "tool": {"name": "agent-vendor-verifier"}, "status": "finished"}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "created_at": began, **changes}))
    return folder


def test_old_runs_of_ours_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    """Young, imported, running, foreign, linked, damaged and current folders stay."""
    runs = tmp_path / "runs"
    gone = old_run(runs, "old", days=91)
    stays = [
        old_run(runs, "young", days=89),
        old_run(runs, "imported", days=400, status="imported"),
        old_run(runs, "running", days=400, status="running"),
        old_run(runs, "foreign", days=400, tool={"name": "other"}),
        old_run(runs, "strange", days=400, tool="x"),
        old_run(runs, "current", days=400),
        old_run(tmp_path, "elsewhere", days=400),
    ]
    (runs / "linked").symlink_to(tmp_path / "elsewhere")
    (runs / "damaged").mkdir()
    (runs / "damaged" / "manifest.json").write_text("{")
    limit = datetime.now(UTC) - timedelta(read_days("90d"))
    assert clear_old_runs(runs, limit, keep=runs / "current", known=None) == []
    assert not gone.exists()
    assert [folder for folder in stays if not folder.exists()] == []
    assert os.path.lexists(runs / "linked")
    assert (runs / "damaged").exists()


def test_runs_that_the_history_lacks_are_kept(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    kept, gone = old_run(runs, "kept", days=91), old_run(runs, "gone", days=91)
    assert clear_old_runs(runs, datetime.now(UTC), keep=runs / "x", known={"gone"}) == []
    assert (kept.exists(), gone.exists()) == (True, False)


def test_a_second_check_is_refused_while_one_is_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with filelock.FileLock(tmp_path / "runs" / ".check.lock"):
        assert run_app(["check"]) == 2
    assert "another check is running" in capsys.readouterr().err
