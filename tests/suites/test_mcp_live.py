"""The suite of real tools as a generator: which calls it has run, what goes back, and how an end is judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from call_evaluations import ONE, RIGHT, TWO, native, sample, text

from vendor_verifier.records.record import Attempt, Failure, Record, TurnRecord
from vendor_verifier.records.request import RunTools, ToolResult, Turn
from vendor_verifier.records.score import Score
from vendor_verifier.store import decode_record, encode_record
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.mcp_live import MOST_CALLS, McpLiveSuite
from vendor_verifier.suites.trigger import KeptCheckers

DONE = text("That is all.")
SECOND = native(("b", '{"y": 2}'))


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
        if isinstance(step, Turn):
            sent = next(answers)
        else:
            sent = tuple(ToolResult(each.name, "ok", f"{each.name} says hi") for each in step.requests)


def recorded(*turns: TurnRecord) -> Score:
    """The score of a record with these turns after a trip to disk."""
    record = decode_record(encode_record(Record("run", "m", "v", "v", "mcp_live", "s-1", 0, turns)))
    return judged(record, McpLiveSuite(), sample(ONE), KeptCheckers())


def test_results_go_back_until_no_more_is_called() -> None:
    """Tools first, then question, calls, question with the results as they are, calls, question, end."""
    score, steps = played(McpLiveSuite(), iter([RIGHT, SECOND, DONE]))
    assert [type(step).__name__ for step in steps] == ["RunTools", "Turn", "RunTools", "Turn", "RunTools", "Turn"]
    last = steps[-1]
    assert isinstance(last, Turn)
    assert [message["role"] for message in last.messages[-4:]] == ["assistant", "tool", "assistant", "tool"]
    assert [message["content"] for message in last.messages if message["role"] == "tool"] == ["a says hi", "b says hi"]
    assert score.values["resolved"] == 1.0
    assert (score.details["steps"], score.details["tool_calls"]) == (3, 2)


def test_a_model_that_calls_for_ever_is_stopped() -> None:
    """By the number of turns, or of calls in all; its last calls are not run."""
    score, steps = played(McpLiveSuite(max_iterations=4), iter([RIGHT] * 9))
    assert sum(isinstance(step, Turn) for step in steps) == 4
    assert sum(len(step.requests) for step in steps if isinstance(step, RunTools)) == 3
    assert score.values["resolved"] == 0.0
    _, steps = played(McpLiveSuite(), iter([native(*[("a", "{}")] * (MOST_CALLS + 1))]))
    assert not any(step.requests for step in steps if isinstance(step, RunTools))


def test_a_malformed_call_is_never_run() -> None:
    """Nor are its neighbours: the sample is lost, so that no further question is paid for."""
    score, steps = played(McpLiveSuite(), iter([native(("a", '{"x": 1}'), ("b", "{nonsense"))]))
    assert not any(step.requests for step in steps if isinstance(step, RunTools))
    assert score.values["resolved"] == 0.0


def test_a_record_is_judged_without_a_server() -> None:
    """A record that lost what its tools returned is judged all the same."""
    results = (ToolResult("a", "error", "no"), ToolResult("c", "not_allowed", "There is no tool 'c'."))
    both = native(("a", '{"x": 1}'), ("c", "{}"))
    score = recorded(TurnRecord((both,), (), results), TurnRecord((DONE,)))
    assert score.details["tool_errors"] == ["a: error", "c: not_allowed"]
    assert recorded(TurnRecord((RIGHT,)), TurnRecord((DONE,))).values["resolved"] == 1.0


def test_a_failure_of_the_server_judges_nobody() -> None:
    """Every value is None, and the details say that it is ours; a vendor's failure scores 0."""
    ours = Attempt(1, failure=Failure.of("tool_server", "the MCP server failed: it hung"))
    for turns in ((TurnRecord((ours,)),), (TurnRecord((RIGHT,)), TurnRecord((ours,)))):
        score = recorded(*turns)
        assert set(score.values.values()) == {None}
        assert score.details["blame"] == "us"
    theirs = Attempt(1, failure=Failure("overloaded", "headers", "no", 503))
    score = recorded(TurnRecord((RIGHT,), (), (ToolResult("a", "ok"),)), TurnRecord((theirs,)))
    assert {value for value in score.values.values() if value is not None} == {0.0}
