"""What a vendor answered to all turns of one sample, read as calls; it compares nothing with an expectation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vendor_verifier.suites.asking import Reading
from vendor_verifier.suites.calls import Call, read_native
from vendor_verifier.suites.extract_calls import extract_calls
from vendor_verifier.suites.trigger import complete_calls, decide
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.score import Decision

# The answer holds calls, but not where this evaluation was told to read them.
CALLS_ONLY_IN_TEXT = "calls_only_in_text"
CALLS_ONLY_NATIVE = "calls_only_native"


@dataclass(frozen=True, slots=True)
class Heard:
    """The calls of all turns in order.

    ``texts`` are the answers' texts, one a turn, and ``in_text`` says that calls were looked for there; ``problem`` is
    why a text's calls cannot be used; ``failure`` is why there is no whole answer, and then nothing heard counts.
    """

    decision: Decision
    calls: tuple[Call, ...] = ()
    texts: tuple[str, ...] = ()
    anomalies: tuple[str, ...] = ()
    problem: str | None = None
    failure: str | None = None
    in_text: bool = False


def hear(attempts: Sequence[Attempt], reading: Reading) -> Heard:
    """Read the final attempt of every turn. One failed turn makes the whole sample undecided."""
    responses: list[Response] = []
    for attempt in attempts:
        if attempt.response is None or not attempt.succeeded:
            kind = attempt.failure.kind if attempt.failure else "no response"
            return Heard("undecided", failure=f"no answer: {kind}")
        responses.append(attempt.response)
    if not responses:
        return Heard("undecided", failure="no answer: never asked")
    turns = [hear_turn(response, reading) for response in responses]
    called = any(turn.decision == "called" for turn in turns)
    return Heard(
        "called" if called else turns[-1].decision,
        tuple(call for turn in turns for call in turn.calls),
        tuple(text for turn in turns for text in turn.texts),
        tuple(dict.fromkeys(anomaly for turn in turns for anomaly in turn.anomalies)),
        next((turn.problem for turn in turns if turn.problem), None),
        in_text=all(turn.in_text for turn in turns),
    )


def hear_turn(response: Response, reading: Reading) -> Heard:
    """Read one answer. Calls that stand where none were looked for are an anomaly and nothing more."""
    native, anomalies = complete_calls(response)
    if reading == "native" or (reading == "either" and native):
        unread = (CALLS_ONLY_IN_TEXT,) if not native and extract_calls(response.text).calls else ()
        return Heard(decide(response, native), tuple(map(read_native, native)), (response.text,), (*anomalies, *unread))
    found = extract_calls(response.text)
    decision = "called" if found.calls else decide(response, ())
    unread = (CALLS_ONLY_NATIVE,) if native and not found.calls else ()
    return Heard(decision, found.calls, (response.text,), unread, problem=found.problem, in_text=True)
