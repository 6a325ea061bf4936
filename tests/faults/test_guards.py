"""The limits of a whole run, from the command line to the report."""

from __future__ import annotations

import json

from killing import final_records, job, prepare
from workbench import Bench, simulated


def test_a_run_ended_by_its_limit_says_so_and_can_go_on(bench: Bench) -> None:
    """Exit code 3, the reason on the screen, in the manifest and in the report; going on sends the rest."""
    with simulated() as base:
        planned = prepare(bench, base, 6)
        folder = bench.folder / "run"
        code, _, err = bench(*job(bench, folder, "--max-requests", "5"))
        assert code == 3
        assert "incomplete: --max-requests 5 was reached; go on with --incremental" in err
        assert len(final_records(folder)) == 5
        manifest = json.loads((folder / "manifest.json").read_text())
        assert (manifest["status"], manifest["limit"]) == ("interrupted", "--max-requests 5 was reached")
        scores = json.loads((folder / "scores.json").read_text())
        assert "The run ended early: --max-requests 5 was reached." in scores["warnings"]
        assert bench(*job(bench, folder))[0] == 0
    assert len(final_records(folder)) == planned
    assert "limit" in json.loads((folder / "manifest.json").read_text())
    assert not any("ended early" in words for words in json.loads((folder / "scores.json").read_text())["warnings"])
