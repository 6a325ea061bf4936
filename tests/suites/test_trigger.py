"""What a sample's outcome is: called, not called or undecided, by content first and finish reason second."""

from __future__ import annotations

from typing import Any

import pytest
from call_evaluations import SUITES, called, said, sample

from vendor_verifier.records.record import Attempt, Failure, Record, Response, Score, ToolCall, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.trigger import TriggerSuite, judged

TOOLS = ({"type": "function", "function": {"name": "f", "parameters": {"required": ["a"]}}},)
SAMPLE = Sample("s-1", Turn(({"role": "user", "content": "x"},), TOOLS))
CALL = ToolCall("f", '{"a": 1}')
CUT = ToolCall("f", '{"a": ')


def judge(attempt: Attempt) -> Score:
    return judged(record("trigger", attempt), TriggerSuite(), SAMPLE)


def answer(finish: Any, *calls: ToolCall, **more: Any) -> Response:
    return Response(finish_reason=finish, tool_calls=calls, **more)


@pytest.mark.parametrize(
    ("response", "decision", "anomalies"),
    [
        (answer("tool_calls", CALL), "called", ()),
        (answer("stop", CALL), "called", ("calls_but_other_finish",)),
        (answer("length", CALL), "called", ("calls_but_other_finish",)),
        (answer("length", CALL, CUT), "called", ("call_cut_by_length", "calls_but_other_finish")),
        (answer("length", CUT), "undecided", ("call_cut_by_length",)),
        (answer("length"), "undecided", ()),
        (answer("error"), "undecided", ()),
        (answer("stop"), "not_called", ()),
        (answer(None), "not_called", ()),
        (answer("tool_calls"), "not_called", ("tool_calls_finish_without_call",)),
        (answer("stop", reasoning="hm", text=" "), "not_called", ("reasoning_only",)),
        (answer("stop", ToolCall("", " ")), "not_called", ("phantom_call",)),
        (answer("tool_calls", ToolCall("", '{"a": 1}')), "called", ()),
    ],
)
def test_content_decides_and_the_finish_reason_only_explains(
    response: Response, decision: str, anomalies: tuple[str, ...]
) -> None:
    """Called = a complete call whatever the finish reason; length without one leaves it open."""
    score = judge(Attempt(1, response=response))
    assert (score.decision, score.anomalies) == (decision, anomalies)
    # A half call is not charged as bad JSON, nor an empty shell as a call.
    verdicts = [
        "valid" if call is CALL else "unknown_tool" for call in response.tool_calls if call.arguments.endswith("}")
    ]
    assert [call.verdict for call in score.calls] == verdicts


def test_a_failure_is_undecided() -> None:
    """A truncated answer decides nothing and its calls are not judged (P46)."""
    cut = Attempt(1, response=answer(None, CALL), failure=Failure("truncated", "stream", "cut"))
    assert judge(cut) == judge(Attempt(1, failure=Failure("http_5xx", "headers", "x", 500))) == Score("trigger")


SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TWO_TOOLS = tuple({"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("a", "b"))
ASKED = Turn(({"role": "user", "content": "Do a."},), TWO_TOOLS, {})


def record(suite: str, *finals: Attempt) -> Record:
    return Record("r", "m", "v", "v", suite, "s-1", 0, tuple(TurnRecord((each,)) for each in finals))


@pytest.mark.parametrize("make", SUITES)
def test_a_wrong_argument_is_named_with_the_suites_own_score(make: Any) -> None:
    """The evaluation's values are its own; the verdicts on the calls come with them."""
    suite, question = make(), sample(turn=ASKED)
    answer = called(("a", '{"x": "one"}'), ("c", "{}"))
    score = judged(record(suite.name, answer), suite, question)
    assert [call.verdict for call in score.calls] == ["schema_mismatch", "unknown_tool"]
    alone = judged(record(suite.name, said("no call")), suite, question)
    assert alone.calls == ()
    assert set(alone.values) == set(score.values)
