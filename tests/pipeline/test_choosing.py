"""Which samples a limit takes, what a filter that fits nothing is told, and what a choice means for the history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ProblemsError
from vendor_verifier.features.history.database import read_history
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


def test_another_choice_begins_another_series_of_the_history(bench: Any, tmp_path: Path) -> None:
    """A run over the head and one over a balanced choice are not one question; another seed is no other question."""
    bench.configure("official: faithful")
    history = tmp_path / "history.sqlite"
    flags: list[tuple[str, ...]] = [
        (),
        ("--seed", "5"),
        (
            "--set",
            "run.head=true",
        ),
    ]
    for number, further in enumerate(flags):
        assert bench("-n", "6", "-q", "--history", history, "-o", f"run{number}", *further)[0] == 0
    questions = {
        Path(folder).name: question
        for folder, question in read_history(history)[["folder", "question"]].itertuples(index=False)
    }
    assert questions["run0"] == questions["run1"] != questions["run2"]
    kept = json.loads((tmp_path / "run2" / "manifest.json").read_text())["warnings"]
    assert any("extra calls cannot be seen" in words for words in kept)


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
        ({"stratify_by": "domain"}, "run.stratify_by: shares a limit among the values of a tag; add --limit N"),
        (
            {"stratify_by": "domain", "head": True, "limit": 4},
            "run.head: takes the first samples",
        ),
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


def test_options_of_a_suite_choose_as_the_flags_do(bench: Any) -> None:
    """`sample_size` takes of every class like `--limit`, `head` beside it the first; a misspelt word is named."""
    bench.configure("official: faithful", extra="suites: {trigger: {sample_size: 6}}\n")
    code, _, err = bench("--dry-run")
    assert (code, "false calls" in err) == (0, False)
    bench.configure("official: faithful", extra="suites: {trigger: {sample_size: 6, head: true}}\n")
    assert "extra calls cannot be seen" in bench("--dry-run")[2]
    bench.configure("official: faithful", extra="suites: {trigger: {filter_category: [arays]}}\n")
    code, _, err = bench("--dry-run")
    assert (code, "suites.trigger.filter_category: read 'arays'" in err) == (2, True)
    assert "did you mean `arrays`" in err
