"""What a sample's outcome is: called, not called or undecided, by content first and finish reason second."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Failure, Response
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import Score
from vendor_verifier.suites import SUITES, replay
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite

TOOLS = ({"type": "function", "function": {"name": "f", "parameters": {"required": ["a"]}}},)
SAMPLE = Sample("s-1", Turn(({"role": "user", "content": "x"},), TOOLS))
CALL = ToolCall("f", '{"a": 1}')
CUT = ToolCall("f", '{"a": ')


def judge(response: Response | None, failure: Failure | None = None) -> Score:
    score = replay(TriggerSuite().play(SAMPLE), iter([Attempt(1, response=response, failure=failure)]))
    assert score is not None
    return score


def answer(finish: Any, *calls: ToolCall, **more: Any) -> Response:
    return Response(finish_reason=finish, tool_calls=calls, **more)


@pytest.mark.parametrize(
    ("finish", "calls", "decision"),
    [
        ("tool_calls", (CALL,), "called"),
        ("stop", (CALL,), "called"),
        ("unknown", (CALL,), "called"),
        (None, (CALL,), "called"),
        ("length", (CALL,), "called"),
        ("length", (CALL, CUT), "called"),
        ("length", (CUT,), "undecided"),
        ("length", (ToolCall("f", ""),), "undecided"),
        ("length", (), "undecided"),
        ("error", (), "undecided"),
        ("stop", (), "not_called"),
        ("content_filter", (), "not_called"),
        ("unknown", (), "not_called"),
        (None, (), "not_called"),
        ("tool_calls", (), "not_called"),
        ("tool_calls", (CUT,), "called"),
    ],
)
def test_content_decides_and_the_finish_reason_only_explains(
    finish: str | None, calls: tuple[ToolCall, ...], decision: str
) -> None:
    """Called = a complete call whatever the finish reason; length without one leaves it open."""
    assert judge(answer(finish, *calls)).decision == decision


@pytest.mark.parametrize(
    ("response", "decision", "verdicts", "anomalies"),
    [
        (answer("length", CUT), "undecided", [], ("call_cut_by_length",)),
        (answer("stop", CALL), "called", ["valid"], ("calls_but_other_finish",)),
        (answer("tool_calls"), "not_called", [], ("tool_calls_finish_without_call",)),
        (answer("stop", reasoning="hm", text=" "), "not_called", [], ("reasoning_only",)),
        (answer("stop", ToolCall("", " ")), "not_called", [], ("phantom_call",)),
        (answer("tool_calls", ToolCall("", '{"a": 1}')), "called", ["unknown_tool"], ()),
    ],
)
def test_odd_answers_are_flagged_and_judged(
    response: Response, decision: str, verdicts: list[str], anomalies: tuple[str, ...]
) -> None:
    """A half call is not charged as bad JSON, nor an empty shell as a call (P03, P04, P43, P47)."""
    score = judge(response)
    assert (score.decision, score.anomalies) == (decision, anomalies)
    assert [call.verdict for call in score.calls] == verdicts


def test_p43_every_call_of_an_answer_is_judged_by_itself() -> None:
    """Verdicts are per call, in order (P43)."""
    score = judge(answer("tool_calls", CALL, ToolCall("f", "{}"), ToolCall("g", "{}")))
    assert [call.verdict for call in score.calls] == ["valid", "schema_mismatch", "unknown_tool"]


def test_a_failure_is_undecided() -> None:
    """A truncated answer decides nothing and its calls are not judged (P46)."""
    assert judge(answer(None, CALL), Failure("truncated", "stream", "cut")) == Score("trigger")
    assert judge(None, Failure("http_5xx", "headers", "x", 500)) == Score("trigger")


def test_the_suite_sends_the_sample_as_it_is_and_once() -> None:
    """One turn, the sample's own; a recording that ends early gives no score."""
    play = TriggerSuite().play(SAMPLE)
    assert next(play) is SAMPLE.turn
    assert replay(TriggerSuite().play(SAMPLE), iter(())) is None
    assert SUITES[0].name == "trigger"


def test_kept_checkers_are_shared_by_samples_with_the_same_tools() -> None:
    """Another sample with equal tools is not compiled again; one with other tools is."""
    kept = KeptCheckers()
    other = structs.replace(
        SAMPLE, id="other", turn=structs.replace(SAMPLE.turn, tools=tuple(dict(tool) for tool in SAMPLE.turn.tools))
    )
    bare = structs.replace(SAMPLE, id="bare", turn=structs.replace(SAMPLE.turn, tools=()))
    assert kept(SAMPLE) is kept(other)
    assert kept(SAMPLE) is not kept(bare)
