"""The suite of real tools as a generator: which calls it has run, what goes back, and how an end is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from call_evaluations import ONE, RIGHT, TWO, native, sample, text

from vendor_verifier.errors import UsageError
from vendor_verifier.store import decode_record, encode_record
from vendor_verifier.suites import replay
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.mcp_live import MOST_CALLS, McpLiveSuite
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.trigger import KeptCheckers
from vendor_verifier.values.record import Attempt, Failure, Record, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.score import Score
from vendor_verifier.values.tool_use import RunTools, ToolOutcome, ToolResult

DONE = text("That is all.")
SECOND = native(("b", '{"y": 2}'))


def results_of(step: RunTools, outcome: ToolOutcome = "ok") -> tuple[ToolResult, ...]:
    """What tools returned that always answer the same."""
    return tuple(ToolResult(each.name, outcome, f"{each.name} says hi") for each in step.requests)


def played(suite: McpLiveSuite, answers: Iterator[Attempt], calls: Any = TWO) -> tuple[Score, list[Turn | RunTools]]:
    """The score of a play with these answers and tools that answer, and all its steps."""
    play, steps = suite.play(sample(calls)), list[Turn | RunTools]()
    sent: Any = None
    while True:
        try:
            step = play.send(sent)
        except StopIteration as end:
            return end.value(), steps
        steps.append(step)
        sent = next(answers) if isinstance(step, Turn) else results_of(step)


def test_results_go_back_and_the_play_ends_when_no_more_is_called() -> None:
    """Tools first, then question, calls, question with the results as they are, calls, question, end."""
    score, steps = played(McpLiveSuite(), iter([RIGHT, SECOND, DONE]))
    assert [type(step).__name__ for step in steps] == ["RunTools", "Turn", "RunTools", "Turn", "RunTools", "Turn"]
    last = steps[-1]
    assert isinstance(last, Turn)
    assert [message["role"] for message in last.messages[-4:]] == ["assistant", "tool", "assistant", "tool"]
    assert [message["content"] for message in last.messages if message["role"] == "tool"] == ["a says hi", "b says hi"]
    assert {value for value in score.values.values() if value is not None} == {1.0}
    assert (score.details["steps"], score.details["tool_calls"]) == (3, 2)


def test_it_is_judged_as_mcptoolbench_judges_the_same_calls() -> None:
    """Whatever was called, the values both have are equal."""
    for answers in ([DONE], [RIGHT, DONE], [RIGHT, RIGHT, SECOND, DONE], [SECOND, RIGHT, DONE], [native(("a", "{"))]):
        live, _ = played(McpLiveSuite(), iter(answers))
        plain = replay(MCPToolBenchSuite(max_iterations=9).play(sample(TWO)), iter(answers))
        assert plain is not None
        if answers[0].response is not None and answers[0].response.tool_calls:
            called = [call for answer in answers if answer.response for call in answer.response.tool_calls]
            plain = MCPToolBenchSuite().judge(sample(TWO), [native(*((c.name, c.arguments) for c in called))])
        assert {name: live.values[name] for name in plain.values} == plain.values


def test_a_model_that_calls_for_ever_is_stopped() -> None:
    """By the number of turns, or of calls in all; its last calls are not run, and it has not finished."""
    score, steps = played(McpLiveSuite(max_iterations=4), iter([RIGHT] * 9))
    assert sum(isinstance(step, Turn) for step in steps) == 4
    assert sum(len(step.requests) for step in steps if isinstance(step, RunTools)) == 3
    assert score.values["finished"] == 0.0
    assert score.values["resolved"] == 0.0
    many = native(*[("a", "{}")] * (MOST_CALLS + 1))
    score, steps = played(McpLiveSuite(), iter([many]))
    assert not any(step.requests for step in steps if isinstance(step, RunTools))
    assert score.values["finished"] == 0.0


def test_a_malformed_call_is_never_run() -> None:
    """Nor are its neighbours: the sample is lost, so that no further question is paid for."""
    score, steps = played(McpLiveSuite(), iter([native(("a", '{"x": 1}'), ("b", "{nonsense"))]))
    assert not any(step.requests for step in steps if isinstance(step, RunTools))
    assert "malformed" in score.details["error"]


def recorded(*turns: TurnRecord) -> Record:
    """A record of these turns after a trip to disk."""
    record = Record("run", "m", "v", "v", "mcp_live", "s-1", 0, turns)
    return decode_record(encode_record(record))


def test_a_record_is_judged_without_any_server() -> None:
    """Played again from disk the score is that of the run, and errors of tools are counted by name."""
    results = (ToolResult("a", "error", "no"), ToolResult("c", "not_allowed", "There is no tool 'c'."))
    both = native(("a", '{"x": 1}'), ("c", "{}"))
    score = judged(
        recorded(TurnRecord((both,), (), results), TurnRecord((DONE,))), McpLiveSuite(), sample(ONE), KeptCheckers()
    )
    assert score.values["tool_success"] == 0.0
    assert score.details["tool_errors"] == ["a"]
    assert score.details["not_allowed"] == ["c"]


def test_a_record_without_results_is_judged_all_the_same() -> None:
    """A damaged line loses what its tools returned and nothing else."""
    score = judged(recorded(TurnRecord((RIGHT,)), TurnRecord((DONE,))), McpLiveSuite(), sample(ONE), KeptCheckers())
    assert score.values["resolved"] == 1.0
    assert score.values["tool_success"] is None


def test_records_of_other_suites_are_written_as_short_as_ever() -> None:
    """The new field stands only where tools were run."""
    assert b"tool_results" not in encode_record(recorded(TurnRecord((RIGHT,))))


def test_a_failure_of_the_server_judges_nobody() -> None:
    """Every value is None, and the details say who is to blame."""
    failed = Attempt(1, failure=Failure.of("tool_server", "the MCP server failed: it hung"))
    for turns in ((TurnRecord((failed,)),), (TurnRecord((RIGHT,)), TurnRecord((failed,)))):
        score = judged(recorded(*turns), McpLiveSuite(), sample(ONE), KeptCheckers())
        assert set(score.values.values()) == {None}
        assert score.details["blame"] == "us"


def test_a_failure_of_the_vendor_is_worth_nothing_although_its_tools_answered() -> None:
    """A vendor gains nothing by failing after a call."""
    failed = Attempt(1, failure=Failure("overloaded", "headers", "no", 503))
    results = (ToolResult("a", "ok"),)
    score = judged(
        recorded(TurnRecord((RIGHT,), (), results), TurnRecord((failed,))), McpLiveSuite(), sample(ONE), KeptCheckers()
    )
    assert {value for value in score.values.values() if value is not None} == {0.0}
    assert score.values["tool_success"] == 0.0


def test_text_format_has_the_results_in_the_next_question() -> None:
    """Where calls are written as text, no tools are declared and results come as the user's words."""
    answers = iter([text('[{"name": "a", "parameters": {"x": 1}}]'), text("[]")])
    score, steps = played(McpLiveSuite(answer_format="text"), answers, ONE)
    last = steps[-1]
    assert isinstance(last, Turn)
    assert not last.tools
    assert "a: a says hi" in last.messages[-1]["content"]
    assert score.values["resolved"] == score.values["finished"] == 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"server": "x", "url": "http://y"}, "leave out one"),
        ({"server": "x 'y"}, "no command"),
        ({"url": "https://y", "headers": {"Authorization": "Bearer abc"}}, "names no variable"),
        ({"url": "https://y", "headers": "nothing"}, "headers are a mapping"),
        ({"server": "x", "tool_timeout": 0}, "tool_timeout is at least"),
        ({"server": "x", "tool_timeout": float("nan")}, "tool_timeout is at least"),
        ({"server": "x", "max_result_bytes": 1}, "max_result_bytes is at least"),
        ({"server": "x", "max_restarts": -1}, "max_restarts is at least"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: Mapping[str, Any], words: str) -> None:
    """Each in one sentence."""
    with pytest.raises(UsageError, match=words):
        McpLiveSuite(**options)


def test_options_are_read_from_config_and_command_line_alike() -> None:
    """A list and a text with commas, a mapping and one header as text."""
    assert McpLiveSuite(allow="a, b,a").allowed == McpLiveSuite(allow=("a", "b")).allowed == ("a", "b")
    assert McpLiveSuite(server="npx -y 'my server'").command == ("npx", "-y", "my server")
    header = McpLiveSuite(url="https://y", headers="Authorization: Bearer ${TOKEN}").header_templates
    assert header == {"Authorization": "Bearer ${TOKEN}"}
