"""What a vendor answered to all turns of one sample, read as calls; it compares nothing with an expectation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vendor_verifier.suites.asking import AnswerFormat
from vendor_verifier.suites.calls import Call, read_native
from vendor_verifier.suites.extract_calls import extract_calls
from vendor_verifier.suites.trigger import complete_calls, decide
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.score import Decision


@dataclass(frozen=True, slots=True)
class Heard:
    """The calls of all turns in order.

    ``texts`` are the answers' texts, one a turn; ``problem`` is why a text's calls cannot be used; ``failure`` is why
    there is no whole answer, and then nothing heard counts.
    """

    decision: Decision
    calls: tuple[Call, ...] = ()
    texts: tuple[str, ...] = ()
    anomalies: tuple[str, ...] = ()
    problem: str | None = None
    failure: str | None = None


def hear(attempts: Sequence[Attempt], answer_format: AnswerFormat) -> Heard:
    """Read the final attempt of every turn. One failed turn makes the whole sample undecided."""
    responses: list[Response] = []
    for attempt in attempts:
        if attempt.response is None or not attempt.succeeded:
            kind = attempt.failure.kind if attempt.failure else "no response"
            return Heard("undecided", failure=f"no answer: {kind}")
        responses.append(attempt.response)
    if not responses:
        return Heard("undecided", failure="no answer: never asked")
    turns = [hear_turn(response, answer_format) for response in responses]
    called = any(turn.decision == "called" for turn in turns)
    return Heard(
        "called" if called else turns[-1].decision,
        tuple(call for turn in turns for call in turn.calls),
        tuple(text for turn in turns for text in turn.texts),
        tuple(dict.fromkeys(anomaly for turn in turns for anomaly in turn.anomalies)),
        next((turn.problem for turn in turns if turn.problem), None),
    )


def hear_turn(response: Response, answer_format: AnswerFormat) -> Heard:
    """Read one answer: native calls only, or calls written in the text only."""
    if answer_format == "text":
        found = extract_calls(response.text)
        decision = "called" if found.calls else decide(response, ())
        return Heard(decision, found.calls, (response.text,), problem=found.problem)
    calls, anomalies = complete_calls(response)
    return Heard(decide(response, calls), tuple(map(read_native, calls)), (response.text,), anomalies)
