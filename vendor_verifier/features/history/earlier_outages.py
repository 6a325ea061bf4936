"""The outages of earlier nights, said beside a gate that this night passes without having seen any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from vendor_verifier.features.history.regression import comparable
from vendor_verifier.gates.judge import decide, shows_no_outage
from vendor_verifier.values.estimate import Estimate
from vendor_verifier.values.history import HistoryRun
from vendor_verifier.values.judgement import GateVerdict, Threshold
from vendor_verifier.words import english


def with_earlier_nights(
    gates: Iterable[tuple[str, GateVerdict]], runs: Sequence[HistoryRun]
) -> tuple[tuple[str, GateVerdict], ...]:
    """The gates, by model; one that passes without an outage gets what the nights before it show as its reason.

    ``runs`` end with the one that the gates are about. No outcome is changed: the gate is about this run.
    """
    nights = comparable(runs)[:-1] if runs else []
    return tuple((model, _told(model, verdict, nights)) for model, verdict in gates)


def _told(model: str, verdict: GateVerdict, nights: Sequence[HistoryRun]) -> GateVerdict:
    gate = verdict.threshold
    if not isinstance(gate, Threshold) or not shows_no_outage(gate, verdict.estimate, verdict.outcome):
        return verdict
    rates = [
        entry.figures[gate.metric][0]
        for night in nights
        for entry in night.entries
        if (entry.model, entry.label) == (model, verdict.label) and gate.metric in entry.figures
    ]
    if not rates:
        return verdict
    # Of one night only the rate is kept, so this counts nights, and says nothing about how sure each of them was.
    below = sum(decide(gate, Estimate(rate, rate, rate)) == "FAIL" for rate in rates)
    told = english("gate_earlier_runs", said=verdict.reason, below=below, nights=len(rates), least=f"{min(rates):.6g}")
    return structs.replace(verdict, reason=told)
