"""Warnings about a vendor's rows: times that we read late ourselves, and calls that an evaluation did not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from vendor_verifier.metrics.lateness import MOST_SPOILT
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.suites.base import Suite
from vendor_verifier.suites.tool_calls.suite import CALLS_ONLY_IN_TEXT, CALLS_ONLY_NATIVE, CallSuite
from vendor_verifier.values.score import VendorScore
from vendor_verifier.words import english


def stall_warnings(model: str, vendors: Iterable[VendorScore]) -> Iterator[str]:
    """One sentence for a model that lost rows to our lateness: its vendors, how many, and whose times are missing."""
    spoilt = {each.label: [found for found in each.distributions.values() if found.stalled] for each in vendors}
    rows = {label: max(each.stalled for each in found) for label, found in spoilt.items() if found}
    if not rows:
        return
    counted = ", ".join(f"{label} {count}" for label, count in rows.items())
    lost = [label for label, found in spoilt.items() if any(not each.n for each in found)]
    if lost:
        yield english("warn_lost", model=model, told=counted, lost=", ".join(lost), most=f"{MOST_SPOILT:.0%}")
    else:
        yield english("warn_late", model=model, told=counted)


# Fewer answers than this without any call may as well be a model that missed them.
_TELLING = 3
_ELSEWHERE = {CALLS_ONLY_IN_TEXT: "text", CALLS_ONLY_NATIVE: "native"}


def unread_calls(columns: Mapping[tuple[str, str], ObservationTable], suites: Iterable[Suite]) -> Iterator[str]:
    """One sentence for each vendor and evaluation of tool calls whose answers held no call that was read."""
    reading = [suite for suite in suites if isinstance(suite, CallSuite)]
    for (model, label), own in columns.items():
        for suite in reading:
            answers = [row for row in own.of_suite(suite.name) if row.succeeded]
            if words := _words(suite, answers, f"{model}: {label}"):
                yield words


def _words(suite: CallSuite, answers: Sequence[Traits], who: str) -> str | None:
    wanting = [row for row in answers if row.decision == "not_called" and any(value == 0 for _, value in row.scores)]
    if not wanting or any(row.decision == "called" for row in answers):
        return None
    words = {"who": who, "suite": suite.name, "answers": len(answers)}
    for anomaly, other in _ELSEWHERE.items():
        if holding := sum(anomaly in row.anomalies for row in wanting):
            return english(f"warn_calls_{other}", **words, holding=holding)
    return english("warn_calls_none", **words) if len(wanting) >= _TELLING else None
