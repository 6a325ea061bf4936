"""Outages of earlier nights beside a gate that passes without having seen one."""

from __future__ import annotations

from collections.abc import Sequence

from vendor_verifier.features.history.scheduled_check import with_earlier_nights
from vendor_verifier.gates.judge import judge_gate
from vendor_verifier.gates.thresholds import parse_threshold
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.history import HistoryEntry, HistoryRun
from vendor_verifier.records.judgement import GateVerdict


def history(rates: Sequence[float | None], question: str = "q") -> list[HistoryRun]:
    """A night for each rate, of vendor ``a``; None where nothing was measured."""
    return [
        HistoryRun(
            f"run-{night}", f"2026-01-{night + 1:02d}T00:00:00Z", "", question, True, "1",
            (HistoryEntry("m", "a", "a", "m", False, 100, 100, {} if rate is None else {"success_rate": (rate, 100)}),),
        )
        for night, rate in enumerate(rates)
    ]  # fmt: skip


def judged(gate: str = "success_rate >= 0.95", *, effective: float | None = None) -> GateVerdict:
    """Vendor ``a`` with 100 of 100 answers held against a gate."""
    found = Estimate(1.0, 0.96, 1.0, 100, effective=effective)
    return judge_gate("a", parse_threshold(gate), {"success_rate": found}, {})


def told(verdict: GateVerdict, nights: list[HistoryRun]) -> str:
    """The reason after the history was asked."""
    ((_, found),) = with_earlier_nights([("m", verdict)], nights)
    assert found.outcome == verdict.outcome
    return found.reason


def test_a_pass_says_in_how_many_nights_before_it_the_limit_was_missed() -> None:
    """The night of the gate itself is not counted, and a night without the figure is none."""
    nights = history([1.0, 0.8, None, 0.94, 1.0])
    assert told(judged(), nights).endswith("; earlier runs outside of the limit: 2 of 3, at worst 0.8")


def test_quiet_nights_are_said_too() -> None:
    """That no night missed the limit is known, not unknown."""
    assert "earlier runs outside of the limit: 0 of 2" in told(judged(), history([0.99, 1.0, 1.0]))


def test_nothing_is_said_where_nothing_is_known_or_nothing_needs_it() -> None:
    """No night before, another question, no PASS, a limit outages do not touch, a run with an outage of its own."""
    nights = history([0.8, 0.8, 1.0])
    other = [*history([0.8], "another"), *history([1.0])[-1:]]
    for verdict, runs in (
        (judged(), nights[-1:]),
        (judged(), []),
        (judged(), other),
        (judged("success_rate >= 0.999"), nights),
        (judged("success_rate <= 1"), nights),
        (judged(effective=30.0), nights),
    ):
        assert told(verdict, runs) == verdict.reason
