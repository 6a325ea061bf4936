"""Options of evaluations: text from the command line is read as what each option is, and misfits are told together."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_verifier.config.suite_options import SuiteOptions, TaskOptions, known_suite, suite_options
from vendor_verifier.errors import ProblemsError


def test_text_is_read_as_what_the_option_is() -> None:
    """The command line gives text, the file gives lists and numbers: both mean the same."""
    said = {"sample_size": "5", "timeout_seconds": "1.5", "filter_tags": "a, b,"}
    written = {"sample_size": 5, "timeout_seconds": 1.5, "filter_tags": ["a", "b"]}
    trigger = known_suite("trigger")
    assert suite_options(trigger, said) == suite_options(trigger, written)
    assert suite_options(trigger, said).chosen == TaskOptions(
        sample_size=5, timeout_seconds=1.5, filter_tags=("a", "b")
    )
    assert suite_options(trigger, {}) == SuiteOptions()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sample_size", "0", "read '0'; input should be greater than or equal to 1"),
        ("sample_size", "many", "read 'many'; input should be a valid integer"),
        ("timeout_seconds", 0, "read 0; input should be greater than 0"),
        ("timeout_seconds", float("nan"), "read nan; input should be greater than 0"),
        ("timeout_seconds", float("inf"), "read inf; input should be greater than 0 and finite"),
        ("sample_sise", 1, "unknown option (did you mean `sample_size`?)"),
    ],
)
def test_what_cannot_be_meant_is_refused(name: str, value: Any, words: str) -> None:
    """The message names the evaluation and the option, what was read and what was expected."""
    with pytest.raises(ProblemsError) as caught:
        suite_options(known_suite("trigger"), {name: value})
    assert str(caught.value).startswith(f"suites.trigger.{name}: {words}")


def test_every_misfit_is_told() -> None:
    """Several wrong options are one message."""
    with pytest.raises(ProblemsError) as caught:
        suite_options(known_suite("trigger"), {"sample_size": 0, "timeout_seconds": -1, "nobody_takes_this": 1})
    assert len(caught.value.problems) == 3
