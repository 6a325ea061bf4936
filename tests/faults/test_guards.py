"""The limits of a whole run, from the command line to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from killing import Bench, final_records, simulated

from vendor_verifier.cli.main import run_app


def test_a_run_ended_by_its_limit_says_so_and_can_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, the reason on the screen, in the manifest and in the report; going on sends the rest."""
    bench = Bench(tmp_path, samples=6)
    with simulated() as base:
        bench.prepare(base)
        folder = tmp_path / "run"
        assert run_app(bench.arguments(folder, "--max-requests", "5")) == 3
        assert "incomplete: --max-requests 5 was reached; go on with --incremental" in capsys.readouterr().err
        assert len(final_records(folder)) == 5
        manifest = json.loads((folder / "manifest.json").read_text())
        assert (manifest["status"], manifest["limit"]) == ("interrupted", "--max-requests 5 was reached")
        scores = json.loads((folder / "scores.json").read_text())
        assert "The run ended early: --max-requests 5 was reached." in scores["warnings"]
        assert run_app(bench.arguments(folder)) == 0
    assert len(final_records(folder)) == bench.planned
    assert "limit" in json.loads((folder / "manifest.json").read_text())
    assert not any("ended early" in words for words in json.loads((folder / "scores.json").read_text())["warnings"])
