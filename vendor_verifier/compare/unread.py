"""Says when an evaluation read no call in any answer of a vendor, and which option reads what is there instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from vendor_verifier.compare.columns import Columns
from vendor_verifier.compare.facts import Facts
from vendor_verifier.suites.base import Suite
from vendor_verifier.suites.call_suite import CallSuite
from vendor_verifier.suites.hearing import CALLS_ONLY_IN_TEXT, CALLS_ONLY_NATIVE

# Fewer answers without a call, and without one elsewhere, are as likely a model that missed them.
_TELLING = 3
_ELSEWHERE = {
    CALLS_ONLY_IN_TEXT: ("hold calls in their text; if the question asks for calls there, read them with", "text"),
    CALLS_ONLY_NATIVE: ("make native calls; read them with", "native"),
}


def unread_calls(columns: Mapping[tuple[str, str], Columns], suites: Iterable[Suite]) -> Iterator[str]:
    """One sentence for each vendor and evaluation of tool calls whose answers held no call that was read."""
    reading = [suite for suite in suites if isinstance(suite, CallSuite)]
    for (model, label), own in columns.items():
        for suite in reading:
            answers = [row for row in own.of_suite(suite.name) if row.succeeded]
            if words := _words(suite, answers):
                yield f"{model}: {label}: {words}"


def _words(suite: CallSuite, answers: Sequence[Facts]) -> str | None:
    wanting = [row for row in answers if row.decision == "not_called" and any(value == 0 for _, value in row.scores)]
    if not wanting or any(row.decision == "called" for row in answers):
        return None
    nothing = f"{suite.name} read no call in any of {len(answers)} answers"
    for anomaly, (found, other) in _ELSEWHERE.items():
        if holding := sum(anomaly in row.anomalies for row in wanting):
            option = f"--answer-format {other} (suites.{suite.name}.answer_format: {other})"
            return f"{nothing}: {holding} of them {found} {option}"
    if len(wanting) < _TELLING:
        return None
    places = "neither natively nor in their texts"
    return f"{nothing}: there is none, {places}; `explain RUN --vendor LABEL` shows what was asked and answered"
