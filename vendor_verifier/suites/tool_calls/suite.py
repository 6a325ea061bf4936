"""The base class of tool-call suites: it plays a sample's turns, reads the calls and scores them.

A sample of several expected calls may be played over several turns: while an answer calls tools and expected calls are
still missing, the tools' results are sent (recorded ones where the sample has them, else a neutral success) and the
model goes on. A failed or undecided answer scores 0 everywhere, so failing can never raise a mean. A sample without
readable expected calls is a defect of the dataset: it scores None, and its details name the defect.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from vendor_verifier.errors import UsageError
from vendor_verifier.suites import AnyPlay
from vendor_verifier.suites.tool_calls.calls import (
    Call,
    Expectation,
    Mode,
    first_problem,
    read_expectation,
    read_native,
)
from vendor_verifier.suites.tool_calls.prompt import (
    PLACEHOLDER,
    AnswerFormat,
    Reading,
    extract_calls,
    first_turn,
    next_turn,
    reading_of,
    tool_results,
)
from vendor_verifier.suites.trigger import complete_calls, decide
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Decision, Score

# The answer holds calls, but not where this evaluation reads them.
CALLS_ONLY_IN_TEXT = "calls_only_in_text"
CALLS_ONLY_NATIVE = "calls_only_native"


@dataclass(frozen=True, slots=True)
class AnsweredCalls:
    """The calls of all turns in order.

    ``texts`` are the answers' texts, one a turn, and ``in_text`` says that calls were looked for there; ``problem`` is
    why a text's calls cannot be used; ``failure`` is why there is no whole answer, and then no call counts.
    """

    decision: Decision
    calls: tuple[Call, ...] = ()
    texts: tuple[str, ...] = ()
    anomalies: tuple[str, ...] = ()
    problem: str | None = None
    failure: str | None = None
    in_text: bool = False


def read_attempts(attempts: Sequence[Attempt], reading: Reading, tools: Collection[str] = ()) -> AnsweredCalls:
    """Read the final attempt of every turn. One failed turn makes the whole sample undecided."""
    responses: list[Response] = []
    for attempt in attempts:
        if attempt.response is None or not attempt.succeeded:
            kind = attempt.failure.kind if attempt.failure else "no response"
            return AnsweredCalls("undecided", failure=f"no answer: {kind}")
        responses.append(attempt.response)
    if not responses:
        return AnsweredCalls("undecided", failure="no answer: never asked")
    turns = [read_turn(response, reading, tools) for response in responses]
    called = any(turn.decision == "called" for turn in turns)
    return AnsweredCalls(
        "called" if called else turns[-1].decision,
        tuple(call for turn in turns for call in turn.calls),
        tuple(text for turn in turns for text in turn.texts),
        tuple(dict.fromkeys(anomaly for turn in turns for anomaly in turn.anomalies)),
        next((turn.problem for turn in turns if turn.problem), None),
        in_text=all(turn.in_text for turn in turns),
    )


def read_turn(response: Response, reading: Reading, tools: Collection[str] = ()) -> AnsweredCalls:
    """Read one answer to a question about these ``tools``.

    Calls that stand where none were looked for are an anomaly and nothing more."""
    native, anomalies = complete_calls(response)
    if reading == "native" or (reading == "either" and native):
        unread = (CALLS_ONLY_IN_TEXT,) if not native and extract_calls(response.text).calls else ()
        return AnsweredCalls(
            decide(response, native), tuple(map(read_native, native)), (response.text,), (*anomalies, *unread)
        )
    found = extract_calls(response.text, tools)
    decision = "called" if found.calls else decide(response, ())
    unread = (CALLS_ONLY_NATIVE,) if native and not found.calls else ()
    return AnsweredCalls(decision, found.calls, (response.text,), unread, problem=found.problem, in_text=True)


# The exceptions that the originals raise on unforeseen input; here such a sample is unresolved, with the reason.
ORIGINAL_CRASHES = (AttributeError, TypeError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSuite(ABC):
    """The options of every evaluation of tool calls; subclasses score an answer.

    ``max_iterations`` is the greatest number of turns per sample. Raises UsageError for options that cannot be meant.
    """

    name: str
    mode: Mode = "strict"
    answer_format: AnswerFormat = "auto"
    agent_prompt: str | None = None
    max_iterations: int = 1

    def __post_init__(self) -> None:
        if self.mode not in ("strict", "compat"):
            raise UsageError(f"{self.name}: mode is strict or compat, read {self.mode!r}")
        if self.answer_format not in ("auto", "native", "text"):
            raise UsageError(f"{self.name}: answer_format is auto, native or text, read {self.answer_format!r}")
        if self.agent_prompt is not None and PLACEHOLDER not in self.agent_prompt:
            raise UsageError(f"{self.name}: agent_prompt has no {PLACEHOLDER}, so the question would not be asked")
        if self.max_iterations < 1:
            raise UsageError(f"{self.name}: max_iterations is at least 1, read {self.max_iterations}")

    @property
    def reading(self) -> Reading:
        """The place to read an answer's calls from."""
        return reading_of(self.answer_format, self.agent_prompt, self.mode)

    @abstractmethod
    def value_names(self) -> tuple[str, ...]:
        """The keys of ``Score.values``."""

    @abstractmethod
    def evaluate(self, expectation: Expectation, answered: AnsweredCalls) -> dict[str, Any]:
        """The details of a whole answer; values are read from it by name, absent ones as 0."""

    def defect(self, expectation: Expectation) -> str | None:  # noqa: ARG002 - most take any expectation
        """The reason that no answer can be scored against this expectation, or None."""
        return None

    def unresolved(self, reason: str) -> dict[str, Any]:
        """The details of an answer that scores 0."""
        return {"resolved": False, "error": reason}

    def not_applicable(self, expectation: Expectation) -> frozenset[str]:  # noqa: ARG002 - most measure everything
        """Values that are None for this sample whatever is answered."""
        return frozenset()

    def tools_in_prose(self, sample: Sample) -> frozenset[str]:  # noqa: ARG002 - most read JSON alone
        """The tools whose calls are also read where a text says ``name(key="value")``."""
        return frozenset()

    def play(self, sample: Sample) -> AnyPlay:
        """Yield the first turn and further ones while expected calls are missing, and return the judgement."""
        expected = read_expectation(sample.expected.get("calls")).calls
        turn = first_turn(sample.turn, self.answer_format, self.agent_prompt)
        attempts: list[Attempt] = []
        earlier: tuple[Call, ...] = ()
        following: Turn | None = turn
        tools = self.tools_in_prose(sample)
        while following is not None:
            turn = following
            attempt = yield turn
            attempts.append(attempt)
            following, earlier = self._following(turn, attempt, expected, earlier, len(attempts), tools)
        return partial(self.judge, sample, tuple(attempts))

    def _following(
        self,
        turn: Turn,
        attempt: Attempt,
        expected: Sequence[Call],
        earlier: tuple[Call, ...],
        turns: int,
        tools: frozenset[str],
    ) -> tuple[Turn | None, tuple[Call, ...]]:
        """The turn after this attempt, if there is to be one, and the calls made so far."""
        response = attempt.response
        if turns >= self.max_iterations or len(expected) < 2 or response is None or not attempt.succeeded:
            return None, earlier
        answered = read_turn(response, self.reading, tools)
        calls = answered.calls
        made = (*earlier, *calls)
        missing = Counter(call.name for call in expected) - Counter(call.name for call in made)
        if not calls or not missing or first_problem(calls):
            return None, made
        results = tool_results(expected, earlier, calls)
        return next_turn(turn, response, calls, results, in_text=answered.in_text), made

    def judge(self, sample: Sample, attempts: Sequence[Attempt]) -> Score:
        """The score of the final attempts of all turns."""
        expectation = read_expectation(sample.expected.get("calls"))
        answered = read_attempts(attempts, self.reading, self.tools_in_prose(sample))
        if defect := self._defect(sample, expectation):
            values: Mapping[str, float | None] = dict.fromkeys(self.value_names())
            return Score(
                self.name, answered.decision, values=values, details={"error": defect}, anomalies=answered.anomalies
            )
        if answered.decision == "undecided":
            details = self.unresolved(answered.failure or "the answer ended before it called anything")
        else:
            details = self._evaluated(expectation, answered)
        skipped = self.not_applicable(expectation)
        values = {name: None if name in skipped else _number(details.get(name, 0.0)) for name in self.value_names()}
        return Score(self.name, answered.decision, values=values, details=details, anomalies=answered.anomalies)

    def _evaluated(self, expectation: Expectation, answered: AnsweredCalls) -> dict[str, Any]:
        if self.mode == "strict":
            return self.evaluate(expectation, answered)
        try:
            return self.evaluate(expectation, answered)
        except ORIGINAL_CRASHES as crash:
            return self.unresolved(f"the original cannot score this answer ({type(crash).__name__})")

    def _defect(self, sample: Sample, expectation: Expectation) -> str | None:
        if "calls" not in sample.expected:
            return "the sample does not say which calls are expected"
        return None if self.mode == "compat" else expectation.problem or self.defect(expectation)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def raw_calls(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Calls as the originals expect them; parameters that could not be read are null, on which an original raises."""
    return [{"name": call.name, "parameters": None if call.problem else dict(call.parameters)} for call in calls]
