"""One check at a time, and old runs that are deleted: only those whose figures the history holds."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import filelock
import pandas as pd
import pytest
from manifests import LEAST

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.history.nightly import clear_old_runs


def old_run(runs: Path, name: str, *, days: int, **changes: Any) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    began = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    manifest = {**LEAST, "run": name, "tool": {"name": "agent-vendor-verifier"}, "status": "finished"}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "created_at": began, **changes}))
    return folder


def test_old_runs_of_the_history_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    """Young, imported, running, linked, replaced, unknown and current folders stay, and those of another place."""
    runs = tmp_path / "runs"
    gone = old_run(runs, "old", days=91)
    stays = [
        old_run(runs, "young", days=89),
        old_run(runs, "imported", days=400, status="imported"),
        old_run(runs, "running", days=400, status="running"),
        old_run(runs, "replaced", days=400, run="another"),
        old_run(runs, "current", days=400),
        old_run(tmp_path, "linked", days=400),
    ]
    (runs / "linked").symlink_to(tmp_path / "linked")
    unknown = old_run(runs, "unknown", days=400)
    rows = [
        {"run": folder.name, "at": pd.Timestamp(began), "folder": str(folder)}
        for folder in (gone, *stays, runs / "deleted before")
        for began in [datetime.now(UTC) - timedelta(days=89 if folder.name == "young" else 91)]
    ]
    limit = datetime.now(UTC) - timedelta(90)
    assert clear_old_runs(pd.DataFrame(rows), runs, limit, keep=runs / "current") == []
    assert not gone.exists()
    assert [folder for folder in (*stays, unknown) if not folder.exists()] == []
    assert os.path.lexists(runs / "linked")


def test_a_second_check_is_refused_while_one_is_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with filelock.FileLock(tmp_path / "runs" / ".check.lock"):
        assert run_app(["check"]) == 2
    assert "another check is running" in capsys.readouterr().err
