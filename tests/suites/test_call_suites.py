"""The three evaluations as suites: what is asked, where calls are read, what an answer and a failure are worth."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_evaluations import FAILURE, ONE, QUESTION, RIGHT, SUITES, TWO, judged, native, sample, text
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.records.record import Attempt, Failure
from vendor_verifier.suites import replay
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


def test_a_text_question_declares_no_tools_and_shows_them() -> None:
    turn = next(ToolBenchSuite(answer_format="text").play(sample()))
    assert (turn.tools, turn.parameters) == ((), {"temperature": 0})
    assert turn.messages[0] == QUESTION.messages[0]
    content = turn.messages[1]["content"]
    assert content.startswith("Do a.\n\nAvailable tools, one JSON object per line:\n")
    assert '{"name": "b", "description": "does b", "parameters": {"type": "object"}}' in content
    assert "JSON array" in content


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
