"""The three evaluations as suites: what is asked, where calls are read, what an answer and a failure are worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from call_evaluations import FAILURE, ONE, QUESTION, RIGHT, SUITES, TWO, judged, native, sample, text
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Attempt, Failure
from vendor_verifier.records.request import Turn
from vendor_verifier.suites import replay
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite


@pytest.mark.parametrize("make", SUITES)
def test_decisions_are_those_of_triggering(make: Any) -> None:
    cut = Attempt(1, response=RIGHT.response, failure=Failure("truncated", "stream", "cut"))
    attempts = [RIGHT, native(finish="stop"), native(finish="length"), native(("a", '{"x": '), finish="length"), cut]
    found = [judged(make(), sample(), attempt).decision for attempt in attempts]
    assert found == ["called", "not_called", "undecided", "undecided", "undecided"]


ANSWERS = st.sampled_from(
    [
        RIGHT, native(finish="stop"), native(finish="length"), native(("b", "{}")), native(("a", "{}"), ("a", "{}")),
        native(("a", '{"x": '), ("", "")), native(("a", '{"x": 1}'), ("b", '{"y": 2}')), text("I cannot."),
    ]
)  # fmt: skip
EXPECTED = st.sampled_from([ONE, TWO, [], [{"name": "a", "parameters": {}}], None, [1], [*TWO, *ONE]])


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(SUITES), EXPECTED, ANSWERS)
def test_a_failure_never_pays(make: Any, expected: Any, answer: Attempt) -> None:
    """Putting a failure in the place of an answer raises no value and takes none out of a mean."""
    answered = judged(make(), sample(expected), answer).values
    for name, value in judged(make(), sample(expected), FAILURE).values.items():
        assert answered[name] is None if value is None else (value == 0.0 and (answered[name] or 0.0) >= 0.0)


def test_a_failure_is_not_a_silent_success() -> None:
    """Where no tool is expected a failure scores 0 and an answer without calls 1."""
    assert judged(ToolCorrectnessSuite(), sample([]), native(finish="stop")).values["score"] == 1.0
    failed = judged(ToolCorrectnessSuite(), sample([]), FAILURE)
    assert (failed.values["score"], failed.details["error"]) == (0.0, "no answer: rate_limited")


@pytest.mark.parametrize("make", SUITES)
@pytest.mark.parametrize("expected", [None, [1], "["])
def test_a_sample_without_readable_calls_is_a_defect(make: Any, expected: Any) -> None:
    """Nothing is scored, neither for the vendor nor against it, and the reason is kept."""
    score = judged(make(), sample(expected), RIGHT)
    assert set(score.values.values()) == {None}
    assert score.details["error"]


def test_a_task_without_parameters_can_be_resolved() -> None:
    """Its parameter accuracy is None for answers and failures alike."""
    question = sample([{"name": "a", "parameters": {}}])
    for attempt in (native(("a", "")), native(("a", '{"x": 1}')), FAILURE):
        assert judged(MCPToolBenchSuite(), question, attempt).values["parameter_accuracy"] is None
    assert judged(MCPToolBenchSuite(), question, native(("a", ""))).values["resolved"] == 1.0


def test_a_call_that_cannot_be_read_is_unresolved_with_a_reason() -> None:
    broken = native(("a", '{"x": 1'))
    score = judged(MCPToolBenchSuite(), sample(), broken)
    assert score.values["resolved"] == 0.0
    assert "malformed" in score.details["error"]
    assert "malformed" in judged(ToolCorrectnessSuite(), sample(), broken).details["reason"]


def test_an_unreadable_second_turn_leaves_the_sample_unresolved() -> None:
    suite = MCPToolBenchSuite(answer_format="text", max_iterations=3)
    calls = [*ONE, {"name": "b", "parameters": {}}]
    turns = text(json.dumps(calls[:1])), text(json.dumps([{"name": "b", "parameters": "{"}]))
    score = judged(suite, sample(calls), *turns)
    assert (score.values["resolved"], score.values["sequence_match"]) == (0.0, 1.0)
    assert "call 2 is malformed" in score.details["error"]


def test_calls_are_read_where_they_were_asked_for() -> None:
    """Calls written in the text of a native answer are another finding."""
    text_answer = text(json.dumps(ONE))
    for prompt in (None, "Please, use your tools: {problem_statement}"):
        score = judged(ToolBenchSuite(agent_prompt=prompt), sample(), text_answer)
        assert (score.decision, score.values["resolved"]) == ("not_called", 0.0)
        assert score.anomalies == ("calls_only_in_text",)
    native_answer = judged(ToolBenchSuite(answer_format="text"), sample(), RIGHT)
    assert (native_answer.decision, native_answer.anomalies) == ("not_called", ("calls_only_native",))
    assert judged(ToolBenchSuite(answer_format="text"), sample(), text_answer).decision == "called"


# Word for word from the pages of ToolBench and MCPToolBench++.
PAGE_PROMPTS = (
    """{problem_statement}

IMPORTANT: Output your answer as a JSON array of tool calls.
Each tool call should have "name" and "parameters" fields.

Example format:
```json
[
  {"name": "tool_name", "parameters": {"key": "value"}}
]
""",
    """{problem_statement}

Output your tool calls as a JSON array. Each element should have:
- "name": the tool name
- "parameters": an object with parameter key-value pairs

Example:
[{"name": "tool_name", "parameters": {"param1": "value1"}}]
""",
)


@pytest.mark.parametrize("prompt", PAGE_PROMPTS)
@pytest.mark.parametrize("make", SUITES)
def test_the_pages_prompt_scores_a_perfect_vendor_one(make: Any, prompt: str) -> None:
    """A vendor that does what the configured prompt says gets every point, in the text as natively."""
    suite = make(agent_prompt=prompt)
    for answer in (text(json.dumps(ONE)), RIGHT):
        score = judged(suite, sample(), answer)
        assert (score.decision, score.anomalies) == ("called", ())
        assert {value for value in score.values.values() if value is not None} == {1.0}


def test_a_format_that_was_chosen_wins_over_the_prompt() -> None:
    native_only = ToolBenchSuite(agent_prompt=PAGE_PROMPTS[0], answer_format="native")
    assert judged(native_only, sample(), text(json.dumps(ONE))).values["resolved"] == 0.0
    written_only = ToolBenchSuite(agent_prompt=PAGE_PROMPTS[0], answer_format="text")
    assert judged(written_only, sample(), RIGHT).values["resolved"] == 0.0


def test_options_of_tool_correctness_reach_the_score() -> None:
    answer = native(("b", '{"y": 2}'), ("a", '{"x": 9}'))
    for options, score, success in (
        ({}, 1.0, 1.0),
        ({"check_ordering": True, "threshold": 0.6}, 0.5, 0.0),
        ({"exact_match": True}, 1.0, 1.0),
        ({"exact_match": True, "check_ordering": True}, 0.0, 0.0),
        ({"compare_parameters": True}, 0.5, 1.0),
    ):
        values = judged(ToolCorrectnessSuite(**options), sample(TWO), answer).values
        assert (values["score"], values["success"]) == (score, success)


@pytest.mark.parametrize("make", SUITES)
@pytest.mark.parametrize("options", [{"answer_format": "xml"}, {"agent_prompt": "Do it."}, {"max_iterations": 0}])
def test_options_that_cannot_be_meant_are_refused(make: Any, options: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        make(**options)


def test_a_native_question_goes_out_as_it_is() -> None:
    assert next(ToolBenchSuite().play(sample())) is QUESTION


def test_a_text_question_declares_no_tools_and_shows_them() -> None:
    turn = next(ToolBenchSuite(answer_format="text").play(sample()))
    assert (turn.tools, turn.parameters) == ((), {"temperature": 0})
    assert turn.messages[0] == QUESTION.messages[0]
    content = turn.messages[1]["content"]
    assert content.startswith("Do a.\n\nAvailable tools, one JSON object per line:\n")
    assert '{"name": "b", "description": "does b", "parameters": {"type": "object"}}' in content
    assert "JSON array" in content


def test_an_agent_prompt_replaces_the_wording_alone() -> None:
    """Its braces stay; in text format the tools follow the problem statement; pictures stay behind the text."""
    (_, asked) = next(MCPToolBenchSuite(agent_prompt=PAGE_PROMPTS[1]).play(sample())).messages
    assert asked == {"role": "user", "content": PAGE_PROMPTS[1].replace("{problem_statement}", "Do a.")}
    turn = next(MCPToolBenchSuite(agent_prompt=PAGE_PROMPTS[1], answer_format="text").play(sample()))
    assert turn.messages[1]["content"].startswith("Do a.\n\nAvailable tools")
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    parts = [{"type": "text", "text": "Do a."}, picture]
    suite = ToolBenchSuite(agent_prompt="Please: {problem_statement}")
    (asked,) = next(suite.play(sample(turn=Turn(({"role": "user", "content": parts},))))).messages
    assert asked["content"] == [{"type": "text", "text": "Please: Do a."}, picture]
    messages = next(suite.play(sample(turn=Turn(({"role": "system", "content": "x"},))))).messages
    assert messages[1] == {"role": "user", "content": "Please: "}


def test_missing_calls_are_asked_for_with_the_tools_results() -> None:
    """The n-th call of a tool gets the n-th recorded output of it, else a neutral success."""
    calls = [{"name": "a"}, {"name": "a", "output": {"n": 2}}, {"name": "b"}]
    play = ToolBenchSuite(max_iterations=3).play(sample(calls))
    next(play)
    following = play.send(native(("a", '{"x": 1}')))
    said, told = following.messages[2:]
    body = {"id": said["tool_calls"][0]["id"], "type": "function"}
    assert said["tool_calls"] == [{**body, "function": {"name": "a", "arguments": '{"x": 1}'}}]
    assert told == {"role": "tool", "tool_call_id": body["id"], "content": '{"status": "ok"}'}
    assert (following.tools, following.parameters) == (QUESTION.tools, QUESTION.parameters)
    assert json.loads(play.send(native(("a", "{}"))).messages[-1]["content"]) == {"n": 2}


def test_written_and_native_calls_may_take_turns() -> None:
    """Each turn is answered in the form it was made in, and the calls of both count."""
    play = ToolBenchSuite(agent_prompt=PAGE_PROMPTS[0], max_iterations=3).play(sample(TWO))
    next(play)
    said, told = play.send(text(json.dumps(ONE))).messages[2:]
    assert said == {"role": "assistant", "content": json.dumps(ONE)}
    assert told["content"].startswith('Results of the tools:\na: {"status": "ok"}\n')
    with pytest.raises(StopIteration) as end:
        play.send(native(("b", '{"y": 2}')))
    assert end.value.value().values["resolved"] == 1.0


@pytest.mark.parametrize(
    ("expected", "answers", "turns"),
    [
        (ONE, [native(("b", "{}"))], 1),
        (TWO, [native(("a", "{}"), ("b", "{}"))], 1),
        (TWO, [native(finish="stop")], 1),
        (TWO, [FAILURE], 1),
        (TWO, [native(("a", '{"x": '))], 1),
        (TWO, [native(("a", "{}")), native(finish="stop")], 2),
        (TWO, [native(("a", "{}"))] * 3, 3),
    ],
)
def test_when_to_stop_asking(expected: Any, answers: list[Attempt], turns: int) -> None:
    left = iter([*answers, native(("one too many", "{}"))])
    assert replay(ToolBenchSuite(max_iterations=3).play(sample(expected)), left) is not None
    assert len(answers) + 1 - len(list(left)) == turns


def test_a_failed_turn_spoils_the_sample() -> None:
    assert judged(ToolBenchSuite(), sample(TWO), native(("a", "{}"))).values["tool_selection_accuracy"] == 0.5
    score = judged(ToolBenchSuite(max_iterations=2), sample(TWO), native(("a", "{}")), FAILURE)
    assert (score.decision, set(score.values.values())) == ("undecided", {0.0})
