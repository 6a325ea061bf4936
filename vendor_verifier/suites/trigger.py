"""The suite ``trigger``: one turn, scored by whether the model calls a tool and whether the arguments fit.

Outcome of a sample:

- ``called``: a complete call in an answer that was not cut, whatever the finish reason says;
- ``not_called``: none, and the model ended by itself (stop, content filter, an unknown or no reason);
- ``undecided``: a failure, a cut stream, or an answer that hit the length limit before a call was complete.

Where finish reason and content disagree the content decides and the disagreement is kept as an anomaly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any

from vendor_verifier.records.record import Attempt, Decision, Response, Score, ToolCall
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import TRIGGER, Play
from vendor_verifier.suites.schema import ArgumentChecker
from vendor_verifier.wire.payload import PayloadError, parse_json

# A compiled schema takes tens of kB.
_MOST_CHECKERS = 1000
NOT_JUDGED = "arguments_not_judged"
_VERDICT = attrgetter("verdict")


Tools = Sequence[Mapping[str, Any]]


class KeptCheckers:
    """A cache of checkers by tool set, for callers that judge many samples with the same tools."""

    def __init__(self) -> None:
        self._by_tools: dict[str, ArgumentChecker] = {}

    def __call__(self, sample: Sample) -> ArgumentChecker:
        return self.of(sample.turn.tools)

    def of(self, tools: Tools) -> ArgumentChecker:
        """The checker of the tools of a turn."""
        key = json.dumps(tools)
        if key not in self._by_tools:
            if len(self._by_tools) >= _MOST_CHECKERS:
                self._by_tools.clear()
            self._by_tools[key] = ArgumentChecker(tools)
        return self._by_tools[key]


@dataclass(frozen=True, slots=True)
class TriggerSuite:
    """Sends the sample as it is. ``checkers`` finds the argument checker of a sample."""

    name: str = TRIGGER
    checkers: KeptCheckers = field(default_factory=KeptCheckers, compare=False)

    def play(self, sample: Sample) -> Play:
        """Yield the sample's turn once and return the judgement of its answer."""
        attempt = yield sample.turn
        return partial(self.judge, sample, attempt)

    def judge(self, sample: Sample, attempt: Attempt) -> Score:
        """The score of one final attempt. Calls of an answer that did not succeed are not judged."""
        response = attempt.response
        if response is None or not attempt.succeeded:
            return Score(self.name)
        calls, anomalies = complete_calls(response)
        decision = decide(response, calls)
        checker = self.checkers(sample)
        verdicts = tuple(map(checker.check, calls))
        if "not_judged" in map(_VERDICT, verdicts):
            anomalies = (*anomalies, NOT_JUDGED)
        return Score(self.name, decision, verdicts, anomalies=(*anomalies, *_disagreements(response, calls)))


def decide(response: Response, calls: tuple[ToolCall, ...]) -> Decision:
    """The outcome of a successful answer with these complete calls."""
    if calls:
        return "called"
    return "undecided" if response.finish_reason in ("length", "error") else "not_called"


def complete_calls(response: Response) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """The calls that count, and the anomalies of those left out.

    Pieces with neither name nor arguments are no calls. At the length limit only the last call can be unfinished, and
    is, unless its arguments are whole JSON: the limit cut it, not the model.
    """
    calls = [call for call in response.tool_calls if call.name or call.arguments.strip()]
    anomalies = ["phantom_call"] if len(calls) < len(response.tool_calls) else []
    if response.finish_reason == "length" and calls and not _is_json(calls[-1].arguments):
        calls.pop()
        anomalies.append("call_cut_by_length")
    return tuple(calls), tuple(anomalies)


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except PayloadError:
        return False
    return True


def _disagreements(response: Response, calls: tuple[ToolCall, ...]) -> tuple[str, ...]:
    found = []
    if calls and response.finish_reason != "tool_calls":
        found.append("calls_but_other_finish")
    if not calls and response.finish_reason == "tool_calls":
        found.append("tool_calls_finish_without_call")
    if not calls and response.reasoning and not response.text.strip():
        found.append("reasoning_only")
    return tuple(found)
