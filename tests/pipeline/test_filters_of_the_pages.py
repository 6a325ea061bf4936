"""The filters of the evaluations' pages, as they are typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app

ROWS = [json.loads(line) for line in Path("datasets/mcp_toolbench.jsonl").read_text(encoding="utf-8").splitlines()]
TAGS = [row["tags"] for row in ROWS]
SINGLE = sum(tags["call_type"] == "single" for tags in TAGS)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration."""
    shutil.copy("config_simulated.yaml", tmp_path / "config.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _asked(capsys: pytest.CaptureFixture[str], *words: str) -> int:
    """The number of samples that a command line would ask."""
    command = ["run", "-c", "config.yaml", "--model", "simulated-model", "--vendor", "official", "--dry-run", *words]
    assert run_app(command) == 0
    return int(capsys.readouterr().out.split(": ")[1].split()[0])


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--filter-difficulty", "easy"], SINGLE),
        (["--filter-difficulty", "single"], SINGLE),
        (["--filter-difficulty", "Hard"], len(ROWS) - SINGLE),
        (["--filter-difficulty", "medium"], len(ROWS) - SINGLE),
        (["--filter-category", "Finance"], sum(tags["category"] == "finance" for tags in TAGS)),
        (
            ["--filter-difficulty", "easy", "--filter-category", "browser"],
            sum(tags["category"] == "browser" and tags["call_type"] == "single" for tags in TAGS),
        ),
        (["-n", "20"], 20),
        (["--sample", "20"], 20),
    ],
)
@pytest.mark.usefixtures("place")
def test_the_pages_filters_choose_the_pages_rows(
    words: list[str], count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Easy is every single-step row whatever its own difficulty, hard and medium every multi-step one."""
    assert count > 0
    assert _asked(capsys, "--benchmark", "mcptoolbench", *words) == count


@pytest.mark.usefixtures("place")
def test_toolbenchs_filters_are_contained_and_combine(capsys: pytest.CaptureFixture[str]) -> None:
    """Part of a category is enough there, and every further filter leaves fewer rows."""
    part = _asked(capsys, "--benchmark", "toolbench", "--filter-category", "comm")
    fewer = _asked(capsys, "--benchmark", "toolbench", "--filter-category", "comm", "--filter-difficulty", "easy")
    assert 0 < fewer < part


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("word", ["fin", "?"])
def test_a_category_that_fits_none_lists_those_there_are(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Equality is asked for, so part of a category is none; the message has them all."""
    assert run_app(["run", "-c", "config.yaml", "--benchmark", "mcptoolbench", "--filter-category", word]) == 2
    told = capsys.readouterr().err
    assert all(f"`{category}`" in told for category in {tags["category"] for tags in TAGS})


def test_a_file_beside_several_evaluations_is_never_ignored_in_silence(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who reads it is said, or nothing is asked."""
    (place / "own.jsonl").write_text("\n".join(json.dumps(row) for row in ROWS[:4]))
    file = ["--test-file-path", "own.jsonl", "--dry-run", "-c", "config.yaml"]
    assert run_app(["run", "--suite", "trigger", "--suite", "mcptoolbench", *file]) == 0
    told = capsys.readouterr().err
    assert "own.jsonl is read by trigger alone" in told
    assert "mcptoolbench (mcp_toolbench.jsonl)" in told
    named = ["--suite-option", "mcptoolbench.test_file_path=own.jsonl"]
    assert run_app(["run", "--suite", "trigger", "--suite", "mcptoolbench", *named, *file]) == 0
    assert "alone" not in capsys.readouterr().err
    assert run_app(["run", "--suite", "toolbench", "--suite", "mcptoolbench", *file]) == 2
    assert "say whose they are" in capsys.readouterr().err
