"""The suite ``trigger``, whose score is whether a model calls a tool; and the verdict on every call of any record.

``called``: a complete call, whatever the finish reason says; ``not_called``: none, and the model ended by itself;
``undecided``: a failure, a cut stream, or the length limit came before a call was complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from vendor_verifier.records.record import Attempt, CallVerdict, Decision, Record, Response, Score, ToolCall
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import TRIGGER, Play, Suite, is_diagnostic, replay
from vendor_verifier.suites.schema import checker_of
from vendor_verifier.wire.payload import PayloadError, parse_json


@dataclass(frozen=True, slots=True)
class TriggerSuite:
    """Sends the sample as it is."""

    name: str = TRIGGER

    def play(self, sample: Sample) -> Play:
        """Yield the sample's turn once and return the judgement of its answer."""
        attempt = yield sample.turn
        return partial(self.judge, attempt)

    def judge(self, attempt: Attempt) -> Score:
        """The score of one final attempt."""
        response = attempt.response
        if response is None or not attempt.succeeded:
            return Score(self.name)
        calls, anomalies = complete_calls(response)
        if calls and response.finish_reason != "tool_calls":
            anomalies = (*anomalies, "calls_but_other_finish")
        if not calls and response.finish_reason == "tool_calls":
            anomalies = (*anomalies, "tool_calls_finish_without_call")
        if not calls and response.reasoning and not response.text.strip():
            anomalies = (*anomalies, "reasoning_only")
        return Score(self.name, decide(response, calls), anomalies=anomalies)


def decide(response: Response, calls: tuple[ToolCall, ...]) -> Decision:
    """The outcome of a successful answer with these complete calls."""
    if calls:
        return "called"
    return "undecided" if response.finish_reason in ("length", "error") else "not_called"


def complete_calls(response: Response) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """The calls that count, and the anomalies of those left out: pieces with neither name nor arguments, and a last
    call that the length limit cut, unless its arguments are whole JSON."""
    calls = [call for call in response.tool_calls if call.name or call.arguments.strip()]
    anomalies = ["phantom_call"] if len(calls) < len(response.tool_calls) else []
    if response.finish_reason == "length" and calls:
        try:
            parse_json(calls[-1].arguments)
        except PayloadError:
            calls.pop()
            anomalies.append("call_cut_by_length")
    return tuple(calls), tuple(anomalies)


def judged(record: Record, suite: Suite, sample: Sample) -> Score:
    """The score of one record: stored with it, else found by playing again; an unfinished recording decides nothing.

    Calls are held against the tools of their own turn in every evaluation whose turns declare some.
    """
    if record.score is not None:
        return record.score
    asked: list[Turn] = []
    score = replay(suite.play(sample), record.turns, asked) or Score(suite.name)
    calls = tuple(verdict for _, _, verdict in _checked(record, sample, asked))
    doubts = ("arguments_not_judged",) if any(call.verdict == "not_judged" for call in calls) else ()
    return structs.replace(score, calls=calls, anomalies=(*score.anomalies, *doubts)) if calls else score


def judged_calls(record: Record, suite: Suite, sample: Sample) -> Iterator[tuple[int, ToolCall, CallVerdict]]:
    """Every call that counts, with its turn (from 0 on) and its verdict; none of a failure, nor of redacted texts."""
    if record.score is None:
        asked: list[Turn] = []
        replay(suite.play(sample), record.turns, asked)
        yield from _checked(record, sample, asked)


def _checked(record: Record, sample: Sample, asked: Sequence[Turn]) -> Iterator[tuple[int, ToolCall, CallVerdict]]:
    # Questions that are meant to break something, and the types of Java and JavaScript, which are no JSON Schema.
    is_foreign = record.suite == "bfcl" and "java" in str(sample.expected.get("category", ""))
    if not record.succeeded or is_foreign or is_diagnostic(record.suite):
        return
    # The play may have asked once more than was answered.
    for number, (turn, attempt) in enumerate(zip(asked, record.finals, strict=False)):
        if turn.tools and attempt.response is not None and attempt.response.tool_calls:
            checker = checker_of(turn.tools)
            for call in complete_calls(attempt.response)[0]:
                yield number, call, checker.check(call)
