"""Which samples a limit takes, what a filter that fits nothing gets, and what a choice means for the history."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ProblemsError
from vendor_verifier.loaders.selection import classes_of
from vendor_verifier.pipeline.plan import Prepared, prepare
from vendor_verifier.resources import shipped


def planned(*, seed: int = 0, suites: tuple[str, ...] = ("trigger",), **choice: Any) -> Prepared:
    """The plan over the shipped samples of these evaluations."""
    options = RunOptions(
        config_file_path=shipped("config_simulated.yaml"), model=("simulated-model",), suite=suites, seed=seed, **choice
    )
    return prepare(options, {})


def test_sixty_of_the_shipped_samples_hold_both_classes() -> None:
    """The file is sorted, and its first 60 are all to be answered with a call; a limit takes of everything."""
    whole = planned().plan.tasks[0].samples
    chosen = planned(limit=60).plan.tasks[0].samples
    assert len(chosen) == 60
    without = sum(not sample.expected["expected_tool_call"] for sample in chosen)
    assert abs(without / 60 - 80 / 315) < 1 / 60
    assert {sample.tags["category"] for sample in chosen} == {sample.tags["category"] for sample in whole}
    assert classes_of(planned(limit=60, head=True).plan.tasks[0].samples) == {True}


def test_a_seed_does_not_change_which_samples_are_asked() -> None:
    """The seed orders the questions; the same ones are asked every night."""
    ids = [[one.id for one in planned(limit=60, seed=seed).plan.tasks[0].samples] for seed in (0, 7)]
    assert ids[0] == ids[1]


def test_a_choice_without_one_class_is_warned_of() -> None:
    """The head of the shipped file cannot show a false call, and says so; a choice with both classes says nothing."""
    (words,) = planned(limit=60, head=True).plan.warnings
    assert words == (
        "trigger: every one of the 60 samples expects a tool call, so extra calls cannot be seen. "
        "Choose more or other samples."
    )
    assert planned(limit=60).plan.warnings == ()
    (words,) = planned(filter_category=("no_call_irrelevant",)).plan.warnings
    assert "expects no tool call, so missed calls cannot be seen" in words
    assert planned(suites=("toolbench",)).plan.warnings == ()


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            {"filter_category": ("weather",)},
            "--filter-category: read 'weather', which fits no sample; there is `arrays`",
        ),
        ({"filter_difficulty": ("extreme",)}, "there is `easy`, `hard`, `medium`"),
        ({"sample_ids": "885230638322f857-9"}, "(did you mean `885230638322f857-1`?)"),
        ({"filter_tags": ("no such word",)}, "--filter-tags: read 'no such word', which fits no sample"),
        ({"head": True}, "run.head: says which samples of a limit; add --limit N, or leave it out"),
        (
            {"filter_category": ("single_call",), "filter_difficulty": ("hard",)},
            "none of its 315 samples passes all the filters together",
        ),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(choice: dict[str, Any], words: str) -> None:
    """A misspelt word would choose nothing; a share or a head needs a limit."""
    with pytest.raises(ProblemsError) as caught:
        planned(**choice)
    assert words in str(caught.value)


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
@pytest.mark.parametrize("word", ["fin", "?"])
def test_a_category_that_fits_none_lists_those_there_are(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Equality is asked for, so part of a category is none; the message has them all."""
    assert run_app(["run", "-c", "config.yaml", "--benchmark", "mcptoolbench", "--filter-category", word]) == 2
    told = capsys.readouterr().err
    assert all(f"`{category}`" in told for category in {tags["category"] for tags in TAGS})


def test_a_file_beside_several_evaluations_is_never_ignored(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run says who reads it, or asks nothing."""
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
    """The page's three categories together; one alone that fits nothing is refused."""
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
