"""Which samples a limit takes, what a filter that fits nothing gets, and what a choice means for the history."""

from __future__ import annotations

from typing import Any

import pytest

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
    assert "every one of the 60 samples expects a tool call, so extra calls cannot be seen" in words
    assert planned(limit=60).plan.warnings == ()
    (words,) = planned(filter_category=("no_call_irrelevant",)).plan.warnings
    assert "expects no tool call, so missed calls cannot be seen" in words
    assert planned(suites=("toolbench",)).plan.warnings == ()
    own = planned(suites=("toolbench",), test_file_path=str(shipped("datasets/samples.jsonl")), limit=3)
    assert any("toolbench cannot score 3 of 3 samples" in words for words in own.plan.warnings)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"filter_category": ("weather",)}, "read 'weather', which matches no sample; known are `arrays`"),
        ({"filter_difficulty": ("extreme",)}, "known are `easy`, `hard`, `medium`"),
        ({"sample_ids": "885230638322f857-9"}, "(did you mean `885230638322f857-1`?)"),
        ({"filter_tags": ("no such word",)}, "--filter-tags: read 'no such word', which matches no sample"),
        ({"filter_category": ("single_call",), "filter_difficulty": ("hard",)}, "none of its 315 samples passes all"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(choice: dict[str, Any], words: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        planned(**choice)
    assert words in str(caught.value)


def test_a_filter_value_that_fits_nothing_is_a_warning() -> None:
    """The page's three categories together; one alone that fits nothing is refused."""
    warnings = planned(suites=("mcptoolbench",), filter_category=("finance", "search", "weather")).plan.warnings
    assert any("--filter-category: read 'weather', which matches no sample" in warning for warning in warnings)
