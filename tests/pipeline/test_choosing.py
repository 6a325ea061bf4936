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
        (
            {"filter_category": ("single_call",), "filter_difficulty": ("hard",)},
            "none of its 315 samples passes all the filters together",
        ),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(choice: dict[str, Any], words: str) -> None:
    """A misspelt word would choose nothing; filters together may leave nothing."""
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
def test_a_filter_value_that_fits_nothing_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's three categories together; one alone that fits nothing is refused."""
    words = ["--filter-category", "finance", "--filter-category", "search", "--filter-category", "weather"]
    command = ["run", "-c", "config.yaml", "--benchmark", "mcptoolbench", "--dry-run"]
    assert run_app([*command, *words]) == 0
    told = capsys.readouterr()
    assert "--filter-category: read 'weather', which fits no sample" in told.err
    assert run_app([*command, *words[4:]]) == 2
