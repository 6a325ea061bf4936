"""Why a level was not sent to its end: what ends a search, and what is a finding about the level."""

from __future__ import annotations

import pytest

from vendor_verifier.features.capacity.sending import why_cut
from vendor_verifier.features.capacity.values import EndReason, Stage
from vendor_verifier.run.budgets import GuardedSpending
from vendor_verifier.run.local_run import RunEnd
from vendor_verifier.values.record import Attempt, Failure, FailureKind, Record, TurnRecord

DOWN = RunEnd(None, {"account": "not reached for 10 samples in a row"})


def failed(kind: FailureKind, status: int | None = None) -> Record:
    attempt = Attempt(1, failure=Failure(kind, "headers", "no", status))
    return Record("run", "m", "l", "v", "trigger", "s", 0, (TurnRecord((attempt,)),))


@pytest.mark.parametrize(
    ("end", "stage", "kind", "expected"),
    [
        (RunEnd(None, {}), "level", "http_5xx", None),
        (RunEnd(2, {}), "level", "http_5xx", "interrupted"),
        (DOWN, "level", "auth", "stopped"),
        (DOWN, "level", "connect_refused", None),
        (DOWN, "unloaded", "connect_refused", "stopped"),
        (RunEnd(None, {"another": "no key"}), "level", "http_5xx", None),
    ],
)
def test_refused_connections_fail_a_level_and_a_refused_key_ends_the_search(
    end: RunEnd, stage: Stage, kind: FailureKind, expected: EndReason | None
) -> None:
    """Under load, not being reached any more is what the level shows; without load, or without a key, nothing is."""
    assert why_cut(end, GuardedSpending(), "account", stage, [failed(kind)])[0] == expected


def test_time_and_money_are_told_apart() -> None:
    """Which budget ran out is known from the account book."""
    late = GuardedSpending(until_s=0.0, clock=lambda: 1.0)
    late.take()
    assert why_cut(RunEnd(None, {}), late, "account", "level", [])[0] == "time"
    poor = GuardedSpending(max_cost_usd=1.0, cost_usd=2.0)
    poor.take()
    assert why_cut(RunEnd(None, {}), poor, "account", "level", [])[0] == "cost"
