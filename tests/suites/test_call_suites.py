"""The three evaluations as suites: what an answer and a failure are worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from call_evaluations import FAILURE, ONE, RIGHT, SUITES, TWO, judged, native, sample, text
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite
from vendor_verifier.values.record import Attempt, Failure


@pytest.mark.parametrize("answer_format", ["native", "text"])
@pytest.mark.parametrize("mode", ["strict", "compat"])
@pytest.mark.parametrize("make", SUITES)
def test_a_perfect_answer_scores_one_everywhere(make: Any, mode: Any, answer_format: Any) -> None:
    """Every value that applies is 1, in either mode and format."""
    answer = RIGHT if answer_format == "native" else text(json.dumps(ONE))
    score = judged(make(mode=mode, answer_format=answer_format), sample(), answer)
    assert score.decision == "called"
    assert {value for value in score.values.values() if value is not None} == {1.0}


def test_values_and_details_are_the_pages() -> None:
    """The keys that reports average, and the page's object beside them."""
    score = judged(ToolBenchSuite(), sample(), RIGHT)
    assert score.suite == "toolbench"
    assert set(score.values) == {"resolved", "tool_selection_accuracy", "precision"}
    assert score.details["expected_tools"] == score.details["agent_tools"] == ["a"]
    score = judged(MCPToolBenchSuite(), sample(), RIGHT)
    assert score.suite == "mcptoolbench"
    assert set(score.values) == {
        "resolved", "tool_selection_accuracy", "parameter_accuracy", "sequence_match", "precision",
        "parameter_precision",
    }  # fmt: skip
    assert score.details["details"] == "Tool selection: 100.0%, Parameter accuracy: 100.0%, Sequence match: True"
    score = judged(ToolCorrectnessSuite(), sample(), RIGHT)
    assert (score.suite, dict(score.values)) == ("tool_correctness", {"score": 1.0, "success": 1.0})
    assert score.details["reason"] == "All expected tools ['a'] were called."


@pytest.mark.parametrize(
    ("attempt", "decision"),
    [
        (RIGHT, "called"), (native(finish="stop"), "not_called"), (native(finish="length"), "undecided"),
        (FAILURE, "undecided"), (native(("a", '{"x": '), finish="length"), "undecided"),
        (Attempt(1, response=RIGHT.response, failure=Failure("truncated", "stream", "cut")), "undecided"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("make", SUITES)
def test_decisions_are_those_of_triggering(make: Any, attempt: Attempt, decision: str) -> None:
    """Called, not called, undecided: one definition for all suites."""
    assert judged(make(), sample(), attempt).decision == decision


ANSWERS = st.sampled_from(
    [
        RIGHT, native(finish="stop"), native(finish="length"), native(("b", "{}")), native(("a", "{}"), ("a", "{}")),
        native(("a", '{"x": '), ("", "")), native(("a", '{"x": 1}'), ("b", '{"y": 2}')), text("I cannot."),
    ]
)  # fmt: skip

EXPECTED = st.sampled_from([ONE, TWO, [], [{"name": "a", "parameters": {}}], None, [1], [*TWO, *ONE]])


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(SUITES), st.sampled_from(["strict", "compat"]), EXPECTED, ANSWERS)
def test_a_failure_never_pays(make: Any, mode: Any, expected: Any, answer: Attempt) -> None:
    """Whatever the answer, putting a failure in its place raises no value and takes none out of a mean."""
    suite = make(mode=mode)
    answered = judged(suite, sample(expected), answer).values
    failed = judged(suite, sample(expected), FAILURE).values
    for name, value in failed.items():
        before = answered[name]
        if value is None:
            assert before is None
        else:
            assert value == 0.0
            assert before is None or before >= 0.0


def test_a_failure_is_not_a_silent_success() -> None:
    """Where no tool is expected a failure scores 0 and an answer without calls 1."""
    assert judged(ToolCorrectnessSuite(), sample([]), native(finish="stop")).values["score"] == 1.0
    failed = judged(ToolCorrectnessSuite(), sample([]), FAILURE)
    assert (failed.values["score"], failed.details["reason"]) == (0.0, "no answer: rate_limited")


@pytest.mark.parametrize("make", SUITES)
@pytest.mark.parametrize("expected", [None, [1], "["])
def test_a_sample_without_a_readable_expectation_is_the_datasets_defect(make: Any, expected: Any) -> None:
    """Nothing is scored, neither for the vendor nor against it, and the reason is kept."""
    score = judged(make(), sample(expected), RIGHT)
    assert set(score.values.values()) == {None}
    assert score.details["error"]


@pytest.mark.parametrize("make", [ToolBenchSuite, MCPToolBenchSuite])
def test_an_empty_ground_truth_is_unscored_in_strict_and_unresolved_in_compat(make: Any) -> None:
    """The originals count it as unresolved, so their rates do too."""
    assert judged(make(), sample([]), RIGHT).values["resolved"] is None
    assert judged(make(mode="compat"), sample([]), RIGHT).values["resolved"] == 0.0


def test_no_parameters_expected_is_not_applicable_whatever_comes() -> None:
    """Parameter accuracy is None for answers and failures alike; compat has the original's 0."""
    question = sample([{"name": "a", "parameters": {}}])
    for attempt in (native(("a", "")), native(("a", '{"x": 1}')), FAILURE):
        assert judged(MCPToolBenchSuite(), question, attempt).values["parameter_accuracy"] is None
    assert judged(MCPToolBenchSuite(), question, native(("a", ""))).values["resolved"] == 1.0
    assert judged(MCPToolBenchSuite(mode="compat"), question, native(("a", ""))).values["resolved"] == 0.0


def test_a_malformed_call_is_unresolved_with_a_reason() -> None:
    """Also where the original would crash."""
    broken = native(("a", '{"x": 1'))
    for make in (ToolBenchSuite, MCPToolBenchSuite):
        score = judged(make(), sample(), broken)
        assert score.values["resolved"] == 0.0
        assert "malformed" in score.details["error"]
    score = judged(MCPToolBenchSuite(mode="compat"), sample(), broken)
    assert score.details == {"resolved": False, "error": "the original cannot score this answer (AttributeError)"}
    assert "malformed" in judged(ToolCorrectnessSuite(), sample(), broken).details["reason"]


def test_native_reads_native_calls_only_and_text_reads_text_only() -> None:
    """Calls written in the text of a native answer are another finding."""
    written = text(json.dumps(ONE))
    assert judged(ToolBenchSuite(), sample(), written).decision == "not_called"
    assert judged(ToolBenchSuite(answer_format="text"), sample(), RIGHT).decision == "not_called"
    assert judged(ToolBenchSuite(answer_format="text"), sample(), written).decision == "called"


def test_text_in_compat_is_extracted_as_the_original_does() -> None:
    """Prose around JSON is read in strict only."""
    prose = text(f"I call {json.dumps(ONE)}.")
    for make in (ToolBenchSuite, MCPToolBenchSuite):
        assert judged(make(answer_format="text"), sample(), prose).values["resolved"] == 1.0
        assert judged(make(answer_format="text", mode="compat"), sample(), prose).values["resolved"] == 0.0


@pytest.mark.parametrize(
    ("answer", "error"), [('{"tool_calls": null}', None), ('{"tool_calls": 5}', "TypeError"), ("[" * 9999, "Recursion")]
)
def test_what_crashes_an_originals_extraction_is_unresolved(answer: str, error: str | None) -> None:
    """Null calls are no calls there too; a number, or brackets beyond Python's depth, get the crash as the reason."""
    details = judged(MCPToolBenchSuite(mode="compat", answer_format="text"), sample(), text(answer)).details
    assert details["resolved"] is False
    assert (error or "") in details.get("error", "")
    assert ("error" in details) is (error is not None)


def test_options_of_tool_correctness_reach_the_score() -> None:
    """Threshold, exactness, order and parameters each change the verdict on one answer."""
    answer = native(("b", '{"y": 2}'), ("a", '{"x": 9}'))
    scores = {
        key: judged(ToolCorrectnessSuite(**options), sample(TWO), answer).values
        for key, options in {
            "plain": {},
            "ordered": {"check_ordering": True, "threshold": 0.6},
            "exact": {"exact_match": True},
            "same list": {"exact_match": True, "check_ordering": True},
            "parameters": {"compare_parameters": True},
        }.items()
    }
    assert {key: (values["score"], values["success"]) for key, values in scores.items()} == {
        "plain": (1.0, 1.0),
        "ordered": (0.5, 0.0),
        "exact": (1.0, 1.0),
        "same list": (0.0, 0.0),
        "parameters": (0.5, 1.0),
    }


@pytest.mark.parametrize("make", SUITES)
@pytest.mark.parametrize(
    "options",
    [{"mode": "loose"}, {"answer_format": "xml"}, {"agent_prompt": "Do it."}, {"max_iterations": 0}],
)
def test_options_that_cannot_be_meant_are_refused(make: Any, options: Mapping[str, Any]) -> None:
    """With the suite's name and what was read."""
    with pytest.raises(UsageError, match=next(iter(options))):
        make(**options)


@pytest.mark.parametrize(
    "options", [{"threshold": 1.5}, {"threshold": "0.5"}, {"compare_parameters": True, "mode": "compat"}]
)
def test_options_of_tool_correctness_that_cannot_be_meant_are_refused(options: Any) -> None:
    """A threshold outside [0, 1], and a comparison the original does not have."""
    with pytest.raises(UsageError, match="tool_correctness: "):
        ToolCorrectnessSuite(**options)
