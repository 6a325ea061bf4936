"""The three evaluations as suites: what is asked, in which form, and what is asked next."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_evaluations import FAILURE, ONE, QUESTION, RIGHT, SUITES, TWO, judged, native, sample, text

from vendor_verifier.suites import replay
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.request import Turn


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
