"""Commands over stored runs: pages of trends and of several runs, as they are asked for on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import histories
import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.history.database import add_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two small runs of the simulated vendors."""
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("one", "two")]
    for seed, folder in enumerate(folders):
        assert run_app(["demo", "-n", "6", "-q", "--seed", str(seed), "-o", str(folder)]) == 0
    return folders


def test_several_runs_stand_side_by_side(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One page and one Markdown file with a column a run, written where it was asked for."""
    names = [str(run) for run in runs]
    assert run_app(["report", *names, "--format", "html,md", "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["runs.html", "runs.md"]
    capsys.readouterr()
    assert run_app(["report", *names]) == 0
    told = capsys.readouterr().out
    assert told == (tmp_path / "out" / "runs.md").read_text()
    assert told.count("\n| official | ") >= 6


def test_what_knows_no_columns_is_refused_for_several_runs(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """JUnit of two runs means nothing, and the message says what does."""
    assert run_app(["report", *map(str, runs), "--format", "junit"]) == 2
    assert "terminal, md, html" in capsys.readouterr().err


def test_a_trend_is_written_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``history -o`` writes the page and prints the lines."""
    file = tmp_path / "history.sqlite"
    for run in histories.nights({"a": [100.0 + n % 3 for n in range(10)]}):
        add_run(file, run)
    page = tmp_path / "new" / "history.html"
    command = ["history", "--history", str(file), "--metric", histories.METRIC, "--vendor", "a", "-o", str(page)]
    assert run_app(command) == 0
    assert capsys.readouterr().err == f"{page}\n"
    text = page.read_text()
    assert '<html lang="en">' in text
    assert text.count('<svg class="chart"') == 1


def test_the_buyers_volume_is_kept_with_the_run_and_told_as_money(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``score`` stores it, ``report`` shows another one and stores nothing."""
    run = shutil.copytree(runs[0], tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["entries"] = [{**entry, "price": {"input": 1.0, "output": 4.0}} for entry in manifest["entries"]]
    (run / "manifest.json").write_text(json.dumps(manifest))

    def months(text: str) -> dict[str, float | None]:
        money = next(iter(json.loads(text)["models"].values()))["judgement"]["money"]
        return {label: spent["monthly_usd"] for label, spent in money.items()}

    assert run_app(["score", str(run), "--monthly-requests", "30000", "--no-history"]) == 0
    stored = (run / "scores.json").read_text()
    money = next(iter(json.loads(stored)["models"].values()))["judgement"]["money"]
    assert months(stored) == {label: pytest.approx(30 * each["per_1000_requests_usd"]) for label, each in money.items()}
    capsys.readouterr()
    assert run_app(["report", str(run), "--monthly-tokens", "1000000", "--format", "json"]) == 0
    assert months(capsys.readouterr().out) != months(stored)
    assert json.loads((run / "manifest.json").read_text())["score"]["monthly_requests"] == 30000
