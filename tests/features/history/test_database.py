"""The file of the history: what it holds, who may write it at once, and files that are none."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from msgspec import structs
from scored import MODEL, RUN, scored_demo, write_demo

from vendor_verifier.cli.main import run_app
from vendor_verifier.errors import UsageError
from vendor_verifier.features.history.database import read_history, remember
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.store import RunFolder


def named(scored: ScoredRun, run: str) -> ScoredRun:
    return type(scored)(**{**vars(scored), "report": structs.replace(scored.report, run=run)})


def test_a_run_is_a_row_a_vendor_and_replaces_itself(tmp_path: Path) -> None:
    """Verdicts, facets, figures; the baseline's F1 is 1 by definition and no measurement. No text of an answer."""
    scored, file = scored_demo(), tmp_path / "new" / "history.sqlite"
    for _ in range(2):
        assert remember(RunFolder(tmp_path / "demo"), scored, file) is None
    runs = read_history(file).set_index("label").to_dict("index")
    assert len(runs) == 10
    assert runs["substitute"]["verdict"] == "differs"
    assert [runs["buffering"][f"facets.{name}"] for name in ("speed", "model")] == ["check", "not_tested"]
    assert runs["reseller-a"]["f1"] == 1
    assert runs["official"]["f1"] != 1
    assert float(runs["slow"]["ttft_ms.p50"]) > 2 * float(runs["official"]["ttft_ms.p50"])
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with closing(sqlite3.connect(file)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
    assert columns == ["run", "at", "question", "json"]


def add(arguments: tuple[Path, str]) -> str | None:
    folder, run = arguments
    return remember(RunFolder(folder), named(scored_demo(), run), folder / "history.sqlite")


def test_runs_that_end_together_are_all_kept(tmp_path: Path) -> None:
    names = [f"run-{number}" for number in range(8)]
    scored_demo()  # the processes are forks of this one
    with ProcessPoolExecutor(4, get_context("fork")) as pool:
        assert list(pool.map(add, [(tmp_path, name) for name in names])) == [None] * 8
    assert set(read_history(tmp_path / "history.sqlite")["run"]) == set(names)


def test_a_history_that_is_locked_fails_no_run(tmp_path: Path) -> None:
    scored, file = scored_demo(), tmp_path / "h"
    assert remember(RunFolder(tmp_path), scored, file) is None
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        told = remember(RunFolder(tmp_path / "demo"), scored, file, wait_s=0.1)
    assert told is not None
    assert "locked" in told
    assert f"`score {tmp_path / 'demo'}` adds it" in told


@pytest.mark.parametrize("table", ["t(x)", "runs(run TEXT PRIMARY KEY, json TEXT)"])
def test_other_databases_are_left_alone(tmp_path: Path, table: str) -> None:
    """Reading is refused, writing is a warning, and the file is as it was."""
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE {table}")
    before = file.read_bytes()
    told = remember(RunFolder(tmp_path), scored_demo(), file)
    assert told is not None
    assert str(file) in told
    with pytest.raises(UsageError):
        read_history(file)
    assert file.read_bytes() == before


def test_history_lists_runs_and_plots_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A metric that was never measured is a sentence and exit 0; one that there is none of is exit 2."""
    file = str(tmp_path / "h")
    scored = scored_demo()
    unmeasured = type(scored)(**{**vars(scored), "records": scored.records.assign(ttft_ms=float("nan"))})
    assert remember(RunFolder(tmp_path), unmeasured, Path(file)) is None
    assert run_app(["history", "--history", file]) == 0
    line = capsys.readouterr().out
    assert RUN in line
    assert "differs: substitute and padded" in line.replace("\n", " ")
    assert run_app(["history", "--history", file, "--metric", "ttft"]) == 0
    assert "ttft_ms.p50 was not measured" in capsys.readouterr().err
    assert run_app(["history", "--history", file, "--metric", "f1", "--vendor", "slow"]) == 0
    assert "too few runs: simulated-model / slow / f1" in capsys.readouterr().out
    another = named(scored, "another")
    models = {"another-model": scored.report.models[MODEL]}
    other = replace(another, records=scored.records.assign(model="another-model"))
    other = replace(other, report=structs.replace(another.report, models=models),
                    manifest=structs.replace(scored.manifest, created_at="2026-11-30T00:00:00Z"))  # fmt: skip
    assert remember(RunFolder(tmp_path), other, Path(file)) is None
    assert run_app(["history", "--history", file, "--metric", "f1", "--model", MODEL, "--vendor", "slow"]) == 0
    assert "too few runs: simulated-model / slow / f1" in capsys.readouterr().out
    for wrong in (["--metric", "tfft"], ["--vendor", "slwo"], ["--model", "x"]):
        assert run_app(["history", "--history", file, *wrong]) == 2
    assert run_app(["history", "--history", str(tmp_path / "no such file")]) == 2
    (tmp_path / "empty").touch()
    assert run_app(["history", "--history", str(tmp_path / "empty")]) == 0
    assert "The history is empty" in capsys.readouterr().err


def test_scoring_a_run_adds_it(tmp_path: Path) -> None:
    run, file = write_demo(tmp_path, "official", "slow"), tmp_path / "h"
    for _ in range(2):
        assert run_app(["score", str(run), "--history", str(file)]) == 0
    assert read_history(file)["run"].nunique() == 1


@pytest.mark.parametrize(("stated", "creates"), [("none", False), ("no.sqlite", True)])
def test_only_a_file_is_created_by_a_run(stated: str, creates: bool) -> None:
    with pytest.raises(UsageError) as raised:
        read_history(Path(stated))
    assert ("creates it" in str(raised.value)) == creates
