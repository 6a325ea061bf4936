"""The three evaluators on texts and names: the pages' examples and what the originals read, count and crash on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_evaluations import ONE, QUESTION, RIGHT, SUITES, TWO, any_json, called, failed, judged, said, sample
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.records.record import Attempt, Failure
from vendor_verifier.suites import replay
from vendor_verifier.suites.calls import calls_in_text, read_calls
from vendor_verifier.suites.tool_correctness import ToolCorrectnessMetric
from vendor_verifier.suites.toolbench import MCPToolBenchSuite, ToolBenchSuite, evaluate_text

NO_CALLS = {"resolved": False, "error": "Could not extract tool calls from solution"}


def call(name: Any, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


def tools(expected: Any, answer: str) -> dict[str, Any]:
    return evaluate_text(ToolBenchSuite(), {"ground_truth": expected}, answer)


def mcp(label: Any, answer: Any) -> dict[str, Any]:
    written = answer if isinstance(answer, str) else json.dumps(answer)
    return evaluate_text(MCPToolBenchSuite(), {"function_call_label": label}, written)


def test_a_hostile_text_full_of_fences_is_read_in_no_time() -> None:
    assert tools([call("a")], "x```\n" * 400_000) == NO_CALLS


@pytest.mark.parametrize("truth", [None, [], [{"parameters": {}}], ["a", 1], 5, "["])
def test_a_row_without_readable_truth_is_an_error(truth: Any) -> None:
    for found in (tools(truth, "?"), mcp(truth, "?")):
        assert (set(found), found["resolved"]) == ({"resolved", "error"}, False)


@pytest.mark.parametrize(
    ("label", "answered", "selection", "accuracy"),
    [
        # Spellings that only a wire has, and tools that would do as well.
        ([{**call("a", x=1), "similar_tools": [{"name": "b"}]}], [call("b", x=1)], 0.0, 0.0),
        ([call("a", x=1)], [{"name": "a", "arguments": {"x": 1}}], 1.0, 0.0),
        # The quirks of the original, by the sensible rule.
        ([call("a", x=1), call("a", x=2)], [call("a", x=2), call("a", x=1)], 1.0, 1.0),
        ([call("a", x=None)], [call("a")], 1.0, 0.0),
        # The fallback that the page promises for a text that is not JSON.
        ([call("a", x=1)], '```json\n[{"name": "a", "parameters": {"x": 1}}]\n```', 1.0, 1.0),
        ([call("a", x=1, y=True)], "I call a(x=1, y=true), yes: a(x=1, y=true).", 1.0, 1.0),
    ],
)
def test_mcptoolbench_rows(label: Any, answered: Any, selection: float, accuracy: float) -> None:
    found = mcp(label, answered)
    assert (found["tool_selection_accuracy"], found["parameter_accuracy"]) == (selection, accuracy)
    assert found["resolved"] is (accuracy == 1)


@pytest.mark.parametrize("prose", ["a(1)", "a(**{'x': 1})", "a(x=open)", "a(x=" + "-" * 1900 + "1)"])
def test_written_calls_are_never_run(prose: str) -> None:
    (found,) = calls_in_text(f"So {prose}.", {"a"})
    assert found.problem


@pytest.mark.parametrize(
    ("wanted", "given", "equal"),
    [
        (1, 1.0, True), (1, True, False), (0, False, False), ([1], [True], False), ("1", 1, False),
        ([1, 2], [2, 1], False),
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ("a", "A", False),
        ([{"k": 1}], [{"k": 1}, {"k": 1}], False), ([{"k": 1}], [{"k": 1, "l": 1}], False), (None, 0, False),
        ("2024-01-01", "2024-1-1", False), (9007199254740993, 9007199254740992.0, False), ({}, [], False),
    ],
)  # fmt: skip
def test_which_values_are_equal(wanted: Any, given: Any, equal: bool) -> None:
    assert mcp([call("a", x=wanted)], [call("a", x=given)])["resolved"] is equal


ANY_JSON = any_json(st.sampled_from(["name", "parameters", "function", "tool_calls"]))


@settings(deadline=None)  # the machine may be busy
@given(ANY_JSON, ANY_JSON)
def test_no_evaluator_raises_on_any_json(expected: Any, answer: Any) -> None:
    for found in (tools([expected], json.dumps(answer)), mcp(expected, json.dumps(answer))):
        assert found["resolved"] in (True, False)
        json.dumps(found)
    for options in ({}, {"exact_match": True}, {"check_ordering": True}):
        metric = ToolCorrectnessMetric(**options)
        assert 0.0 <= metric.score(read_calls(expected), read_calls(answer)).score <= 1.0


@pytest.mark.parametrize("make", SUITES)
def test_decisions_are_those_of_triggering(make: Any) -> None:
    cut = Attempt(1, response=RIGHT.response, failure=Failure("truncated", "stream", "cut"))
    attempts = [RIGHT, called(finish="stop"), called(finish="length"), called(("a", '{"x": '), finish="length"), cut]
    found = [judged(make(), sample(), attempt).decision for attempt in attempts]
    assert found == ["called", "not_called", "undecided", "undecided", "undecided"]


ANSWERS = st.sampled_from(
    [
        RIGHT, called(finish="stop"), called(finish="length"), called(("b", "{}")), called(("a", "{}"), ("a", "{}")),
        called(("a", '{"x": '), ("", "")), called(("a", '{"x": 1}'), ("b", '{"y": 2}')), said("I cannot."),
    ]
)  # fmt: skip
EXPECTED = st.sampled_from([ONE, TWO, [], [{"name": "a", "parameters": {}}], None, [1], [*TWO, *ONE]])


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(SUITES), EXPECTED, ANSWERS)
def test_a_failure_never_pays(make: Any, expected: Any, answer: Attempt) -> None:
    """Putting a failure in the place of an answer raises no value and takes none out of a mean."""
    answered = judged(make(), sample(expected), answer).values
    for name, value in judged(make(), sample(expected), failed()).values.items():
        assert answered[name] is None if value is None else (value == 0.0 and (answered[name] or 0.0) >= 0.0)


def test_calls_are_read_where_they_were_asked_for() -> None:
    text_answer = said(json.dumps(ONE))
    for prompt in (None, "Please, use your tools: {problem_statement}"):
        score = judged(ToolBenchSuite(agent_prompt=prompt), sample(), text_answer)
        assert (score.decision, score.values["resolved"]) == ("not_called", 0.0)
        assert score.anomalies == ("calls_only_in_text",)
    native_answer = judged(ToolBenchSuite(answer_format="text"), sample(), RIGHT)
    assert (native_answer.decision, native_answer.anomalies) == ("not_called", ("calls_only_native",))
    assert judged(ToolBenchSuite(answer_format="text"), sample(), text_answer).decision == "called"


# The page of ToolBench has it so.
PAGE_PROMPT = "{problem_statement}\n\nIMPORTANT: Output your answer as a JSON array of tool calls.\n```json\n[]\n"


@pytest.mark.parametrize("make", SUITES)
def test_the_pages_prompt_scores_a_perfect_vendor_one(make: Any) -> None:
    """A vendor that does what the configured prompt says gets every point, in the text as natively."""
    suite = make(agent_prompt=PAGE_PROMPT)
    for answer in (said(json.dumps(ONE)), RIGHT):
        score = judged(suite, sample(), answer)
        assert (score.decision, score.anomalies) == ("called", ())
        assert {value for value in score.values.values() if value is not None} == {1.0}


def test_a_text_question_declares_no_tools_and_shows_them() -> None:
    turn = next(ToolBenchSuite(answer_format="text").play(sample()))
    assert (turn.tools, turn.parameters) == ((), {"temperature": 0})
    assert turn.messages[0] == QUESTION.messages[0]
    for part in ("Do a.", '{"name": "b", "description": "does b", "parameters": {"type": "object"}}', "JSON array"):
        assert part in turn.messages[1]["content"]


def test_missing_calls_are_asked_for_with_the_tools_results() -> None:
    """The n-th call of a tool gets the n-th recorded output of it, else a neutral success."""
    calls = [{"name": "a"}, {"name": "a", "output": {"n": 2}}, {"name": "b"}]
    play = ToolBenchSuite(max_iterations=3).play(sample(calls))
    next(play)
    following = play.send(called(("a", '{"x": 1}')))
    said, told = following.messages[2:]
    body = {"id": said["tool_calls"][0]["id"], "type": "function"}
    assert said["tool_calls"] == [{**body, "function": {"name": "a", "arguments": '{"x": 1}'}}]
    assert told == {"role": "tool", "tool_call_id": body["id"], "content": '{"status": "ok"}'}
    assert (following.tools, following.parameters) == (QUESTION.tools, QUESTION.parameters)
    assert json.loads(play.send(called(("a", "{}"))).messages[-1]["content"]) == {"n": 2}


@pytest.mark.parametrize(
    ("expected", "answers", "turns"),
    [
        (ONE, [called(("b", "{}"))], 1),
        (TWO, [called(("a", "{}"), ("b", "{}"))], 1),
        (TWO, [called(finish="stop")], 1),
        (TWO, [called(("a", '{"x": '))], 1),
        (TWO, [called(("a", "{}")), called(finish="stop")], 2),
    ],
)
def test_when_to_stop_asking(expected: Any, answers: list[Attempt], turns: int) -> None:
    left = iter([*answers, called(("one too many", "{}"))])
    assert replay(ToolBenchSuite(max_iterations=3).play(sample(expected)), left) is not None
    assert len(answers) + 1 - len(list(left)) == turns
