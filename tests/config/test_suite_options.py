"""The options of evaluations, read and checked."""

from __future__ import annotations

import pytest

from vendor_verifier.config.suite_options import TaskOptions, suite_options
from vendor_verifier.errors import ProblemsError
from vendor_verifier.suites import known_suite


def test_text_is_read_as_the_option_s_type() -> None:
    """The command line gives text, the file gives lists and numbers: both mean the same."""
    typed = {"sample_size": "5", "timeout_seconds": "1.5", "filter_tags": "a, b,"}
    written = {"sample_size": 5, "timeout_seconds": 1.5, "filter_tags": ["a", "b"]}
    trigger = known_suite("trigger")
    assert suite_options(trigger, typed) == suite_options(trigger, written)
    assert suite_options(trigger, typed).chosen == TaskOptions(
        sample_size=5, timeout_seconds=1.5, filter_tags=("a", "b")
    )
    assert suite_options(trigger, {}).chosen == TaskOptions()


def test_every_wrong_option_is_named() -> None:
    """All at once; an endless wait cannot be written into a manifest."""
    for wrong in ({"timeout_seconds": float("inf")}, {"sample_size": 0, "timeout_seconds": -1, "nobody_takes_this": 1}):
        with pytest.raises(ProblemsError) as caught:
            suite_options(known_suite("trigger"), wrong)
        assert {problem.key for problem in caught.value.problems} == {f"suites.trigger.{name}" for name in wrong}
