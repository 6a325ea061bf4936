"""Commands over a stored run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two small runs of the simulated vendors."""
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("one", "two")]
    for seed, folder in enumerate(folders):
        assert run_app(["demo", "-n", "6", "-q", "--seed", str(seed), "-o", str(folder)]) == 0
    return folders


def test_a_monthly_volume_is_kept_with_the_run(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``score`` stores it, ``report`` shows another one and stores nothing."""
    run = shutil.copytree(runs[0], tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["entries"] = [{**entry, "price": {"input": 1.0, "output": 4.0}} for entry in manifest["entries"]]
    (run / "manifest.json").write_text(json.dumps(manifest))

    def months(page: str) -> list[str]:
        return [line for line in page.splitlines() if "month" in line.lower()]

    assert run_app(["score", str(run), "--monthly-requests", "30000", "--no-history"]) == 0
    stored = (run / "report.md").read_text()
    assert months(stored)
    capsys.readouterr()
    assert run_app(["report", str(run), "--monthly-tokens", "1000000", "--format", "md"]) == 0
    assert capsys.readouterr().out != stored
    assert json.loads((run / "manifest.json").read_text())["score"]["monthly_requests"] == 30000
