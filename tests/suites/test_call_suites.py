"""The three evaluations as suites: what is asked, what is asked next, what an answer and a failure are worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.base import Suite, replay
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.record import Attempt, Failure, Response
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score

TOOLS = tuple(
    {"type": "function", "function": {"name": name, "description": f"does {name}", "parameters": {"type": "object"}}}
    for name in ("a", "b")
)
QUESTION = Turn(
    ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Do a."}),
    TOOLS,
    {"tool_choice": "auto", "temperature": 0},
)
ONE = [{"name": "a", "parameters": {"x": 1}}]
TWO = [*ONE, {"name": "b", "parameters": {"y": 2}, "output": {"found": 7}}]
SUITES = (ToolBenchSuite, MCPToolBenchSuite, ToolCorrectnessSuite)


def sample(calls: Any = ONE, turn: Turn = QUESTION) -> Sample:
    return Sample("s-1", turn, {} if calls is None else {"calls": calls})


def native(*calls: tuple[str, str], finish: Any = "tool_calls") -> Attempt:
    made = tuple(ToolCall(name, arguments) for name, arguments in calls)
    return Attempt(1, response=Response(tool_calls=made, finish_reason=finish))


def text(answer: str, finish: Any = "stop") -> Attempt:
    return Attempt(1, response=Response(text=answer, finish_reason=finish))


FAILURE = Attempt(1, failure=Failure("rate_limited", "headers", "too many requests", 429))
RIGHT = native(("a", '{"x": 1}'))


def judged(suite: Suite, question: Sample, *attempts: Attempt) -> Score:
    score = replay(suite.play(question), iter(attempts))
    assert score is not None
    return score


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


def test_a_native_question_goes_out_as_it_is() -> None:
    """The sample's own turn, to the last key."""
    assert next(ToolBenchSuite().play(sample())) is QUESTION


def test_a_text_question_declares_no_tools_and_shows_them() -> None:
    """Names, descriptions and schemas stand in the user message; tool_choice is not sent, temperature is."""
    turn = next(ToolBenchSuite(answer_format="text").play(sample()))
    assert (turn.tools, turn.parameters) == ((), {"temperature": 0})
    assert turn.messages[0] == QUESTION.messages[0]
    content = turn.messages[1]["content"]
    assert content.startswith("Do a.\n\nAvailable tools, one JSON object per line:\n")
    assert '{"name": "b", "description": "does b", "parameters": {"type": "object"}}' in content
    assert "JSON array" in content


PROMPT = '{problem_statement}\n\nExample: [{"name": "tool_name", "parameters": {"param1": "value1"}}]'


def test_an_agent_prompt_replaces_the_wording_and_keeps_its_braces() -> None:
    """Only the placeholder is replaced; in text format the tools come with the problem statement."""
    (_, asked) = next(MCPToolBenchSuite(agent_prompt=PROMPT).play(sample())).messages
    assert asked == {"role": "user", "content": PROMPT.replace("{problem_statement}", "Do a.")}
    turn = next(MCPToolBenchSuite(agent_prompt=PROMPT, answer_format="text").play(sample()))
    assert turn.messages[1]["content"].startswith("Do a.\n\nAvailable tools")
    assert '{"param1": "value1"}' in turn.messages[1]["content"]


def test_pictures_stay_and_a_question_without_user_gets_one() -> None:
    """Parts that are no text stay behind the reworded text."""
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    parts = [{"type": "text", "text": "Do a."}, picture]
    suite = ToolBenchSuite(agent_prompt="Please: {problem_statement}")
    (asked,) = next(suite.play(sample(turn=Turn(({"role": "user", "content": parts},))))).messages
    assert asked["content"] == [{"type": "text", "text": "Please: Do a."}, picture]
    messages = next(suite.play(sample(turn=Turn(({"role": "system", "content": "x"},))))).messages
    assert messages[1] == {"role": "user", "content": "Please: "}


def test_missing_calls_are_asked_for_with_the_tools_results() -> None:
    """The calls made and a neutral success go back; the next answer's calls are added."""
    play = MCPToolBenchSuite(max_iterations=3).play(sample(TWO))
    next(play)
    following = play.send(native(("a", '{"x": 1}')))
    said, told = following.messages[2:]
    assert said["tool_calls"] == [
        {"id": said["tool_calls"][0]["id"], "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}
    ]
    assert told == {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": '{"status": "ok"}'}
    assert (following.tools, following.parameters) == (QUESTION.tools, QUESTION.parameters)
    with pytest.raises(StopIteration) as end:
        play.send(native(("b", '{"y": 2}')))
    score = end.value.value()
    assert (score.values["resolved"], score.values["sequence_match"]) == (1.0, 1.0)


def test_recorded_outputs_are_told_instead_of_neutral_ones() -> None:
    """The n-th call of a tool gets the n-th recorded output of it."""
    calls = [{"name": "a", "output": {"n": 1}}, {"name": "a", "output": {"n": 2}}, {"name": "b"}]
    play = ToolBenchSuite(max_iterations=3).play(sample(calls))
    next(play)
    first = play.send(native(("a", "{}")))
    second = play.send(native(("a", "{}")))
    contents = [json.loads(turn.messages[-1]["content"]) for turn in (first, second)]
    assert contents == [{"n": 1}, {"n": 2}]


def test_in_text_format_the_results_are_told_as_text() -> None:
    """The answer goes back as it was said, then the results and the wish for more."""
    play = ToolBenchSuite(max_iterations=2, answer_format="text").play(sample(TWO))
    next(play)
    following = play.send(text(json.dumps(TWO[1:])))
    said, told = following.messages[2:]
    assert said == {"role": "assistant", "content": json.dumps(TWO[1:])}
    assert told["content"].startswith('Results of the tools:\nb: {"found": 7}\n')


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
    """Single-step samples, complete, silent, failed or malformed answers end the play; so does max_iterations."""
    left = iter([*answers, native(("one too many", "{}"))])
    assert replay(ToolBenchSuite(max_iterations=3).play(sample(expected)), left) is not None
    assert len(answers) + 1 - len(list(left)) == turns


def test_one_turn_is_the_default_and_a_failed_turn_spoils_the_sample() -> None:
    """Nothing is asked twice unless wished; a failure in the second turn makes the sample a failure."""
    assert judged(ToolBenchSuite(), sample(TWO), native(("a", "{}"))).values["tool_selection_accuracy"] == 0.5
    score = judged(ToolBenchSuite(max_iterations=2), sample(TWO), native(("a", "{}")), FAILURE)
    assert (score.decision, set(score.values.values())) == ("undecided", {0.0})


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
@pytest.mark.parametrize("mode", ["strict", "compat"])
@pytest.mark.parametrize("make", SUITES)
def test_the_pages_own_prompt_scores_a_perfect_vendor_one(make: Any, mode: Any, prompt: str) -> None:
    """A vendor that does what the configured prompt says gets every point, in the text as natively."""
    suite = make(mode=mode, agent_prompt=prompt)
    for answer in (text(json.dumps(ONE)), RIGHT):
        score = judged(suite, sample(), answer)
        assert (score.decision, score.anomalies) == ("called", ())
        assert {value for value in score.values.values() if value is not None} == {1.0}


@pytest.mark.parametrize(
    "wording",
    [
        "Antworte als json-Liste.",
        "以JSON数组回答。",
        "Write tool_calls.",
        'Each has "name" and "arguments".',
        "in `JSON`",
    ],
)
def test_a_prompt_that_names_a_written_form_asks_for_calls_in_the_text(wording: str) -> None:
    """JSON in any case and language, tool_calls, or the keys of a call."""
    assert ToolBenchSuite(agent_prompt=f"{{problem_statement}} {wording}").reading == "either"


def test_calls_leaked_into_the_text_unasked_keep_failing() -> None:
    """Without a prompt, or with one that asks for nothing written, the text is not read; the record says so."""
    for prompt in (None, "Please, use your tools: {problem_statement}"):
        score = judged(ToolBenchSuite(agent_prompt=prompt), sample(), text(json.dumps(ONE)))
        assert (score.decision, score.values["resolved"]) == ("not_called", 0.0)
        assert score.anomalies == ("calls_only_in_text",)


def test_compat_reads_the_text_as_its_originals_do() -> None:
    """The originals read nothing but text, so a written call counts in compat without being told."""
    for make in (ToolBenchSuite, MCPToolBenchSuite):
        assert judged(make(mode="compat"), sample(), text(json.dumps(ONE))).values["resolved"] == 1.0
        assert judged(make(mode="compat"), sample(), text(f"So: {json.dumps(ONE)}")).values["resolved"] == 0.0


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_a_format_that_was_chosen_wins_over_the_prompt(mode: Any) -> None:
    """native reads no text whatever the prompt says, and text no native call."""
    native_only = ToolBenchSuite(mode=mode, agent_prompt=PAGE_PROMPTS[0], answer_format="native")
    assert judged(native_only, sample(), text(json.dumps(ONE))).values["resolved"] == 0.0
    written_only = ToolBenchSuite(mode=mode, agent_prompt=PAGE_PROMPTS[0], answer_format="text")
    score = judged(written_only, sample(), RIGHT)
    assert (score.values["resolved"], score.anomalies) == (0.0, ("calls_only_native",))


def test_written_and_native_calls_may_take_turns() -> None:
    """Each turn is answered in the form it was made in, and the calls of both count."""
    play = ToolBenchSuite(agent_prompt=PAGE_PROMPTS[0], max_iterations=3).play(sample(TWO))
    next(play)
    following = play.send(text(json.dumps(ONE)))
    assert following.messages[-1]["content"].startswith("Results of the tools:\na: ")
    with pytest.raises(StopIteration) as end:
        play.send(native(("b", '{"y": 2}')))
    assert end.value.value().values["resolved"] == 1.0
