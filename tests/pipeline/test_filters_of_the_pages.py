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


def test_a_file_beside_several_evaluations_is_never_ignored(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who reads it is said, or nothing is asked."""
    (place / "own.jsonl").write_text("\n".join(json.dumps(row) for row in ROWS[:4]))
    file = ["--test-file-path", "own.jsonl", "--dry-run", "-c", "config.yaml"]
    assert run_app(["run", "--suite", "trigger", "--suite", "mcptoolbench", *file]) == 0
    told = capsys.readouterr().err
    assert "Only trigger reads --test-file-path own.jsonl" in told
    assert "mcptoolbench (mcp_toolbench.jsonl)" in told
    named = ["--set", "mcptoolbench.test_file_path=own.jsonl"]
    assert run_app(["run", "--suite", "trigger", "--suite", "mcptoolbench", *named, *file]) == 0
    assert "Only trigger" not in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_a_filter_value_that_fits_nothing_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's three categories beside each other; one alone that fits nothing is refused."""
    words = ["--filter-category", "finance", "--filter-category", "search", "--filter-category", "weather"]
    command = ["run", "-c", "config.yaml", "--benchmark", "mcptoolbench", "--dry-run"]
    assert run_app([*command, *words]) == 0
    told = capsys.readouterr()
    assert "--filter-category: read 'weather', which fits no sample" in told.err
    assert run_app([*command, *words[4:]]) == 2


@pytest.mark.usefixtures("place")
def test_the_pages_tags_find_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert _asked(capsys, "--benchmark", "toolbench", "--filter-tags", "api", "--filter-tags", "rest") == 16
    words = ["--filter-difficulty", "easy", "--filter-category", "finance", "--filter-tags", "stock"]
    assert _asked(capsys, "--benchmark", "toolbench", *words) > 0


def test_one_file_serves_two_evaluations_of_tools(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "own.jsonl").write_text("\n".join(json.dumps(row) for row in ROWS[:4]))
    words = ["--benchmark", "toolbench", "--benchmark", "mcptoolbench", "--test-file-path", "own.jsonl"]
    assert _asked(capsys, *words) == 4


def test_easy_means_one_thing_and_results_are_sorted(place: Path) -> None:
    """The flag and the table count the same rows; results.json is by row, then vendor."""
    words = ["run", "-c", "config.yaml", "--model", "simulated-model", "--benchmark", "mcptoolbench", "-q", "-o", "run"]
    assert run_app([*words, "--vendor", "official", "--vendor", "reseller-a"]) == 0
    found = json.loads((place / "run" / "results.json").read_text())
    assert all(set(one["groups"]["difficulty"]) == {"easy", "hard"} for one in found["summary"])
    tasks = [one for one in found["tasks"] if one["vendor"] == "official"]
    assert sum(one["difficulty"] == "easy" for one in tasks) == SINGLE
    order = [row["tags"]["id"] for row in ROWS]
    rows = [(order.index(one["task_id"]), one["vendor"]) for one in found["tasks"]]
    assert rows == sorted(rows)
    assert len(set(rows)) == 2 * len(ROWS)
