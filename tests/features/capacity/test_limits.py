"""Which limits hold where, and whether what was found is enough."""

from __future__ import annotations

import pytest

from vendor_verifier.features.capacity.curve import standing
from vendor_verifier.features.capacity.limits import read_limits
from vendor_verifier.features.capacity.values import EndReason, LoadKind, VendorCapacity
from vendor_verifier.gates.thresholds import ThresholdError


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ((), "concurrency", ["avg_ttft_ms.p95", "success_rate", "f1", "schema_accuracy"]),
        ((), "rate", ["ttft_from_schedule_ms.p95", "success_rate", "f1", "schema_accuracy"]),
        (("ttft_ms.p50 <= 9",), "rate", ["ttft_ms.p50", "success_rate", "f1", "schema_accuracy"]),
        (("tps >= 30",), "concurrency", ["tps", "avg_ttft_ms.p95", "success_rate", "f1", "schema_accuracy"]),
    ],
)
def test_a_limit_replaces_the_usual_one_on_the_same_thing(
    given: tuple[str, ...], kind: LoadKind, expected: list[str]
) -> None:
    """Naming any time to first token takes the usual one away; everything else stays."""
    assert [limit.subject for limit in read_limits(given, kind)] == expected


def test_what_load_does_not_change_is_no_limit_of_it() -> None:
    """A cost limit belongs to a run's gates, and the message says so."""
    with pytest.raises(ThresholdError, match="run --gate"):
        read_limits(["cost_per_valid_call_usd <= 0.1"], "concurrency")


@pytest.mark.parametrize(
    ("reason", "capacity", "broke_at", "at_least", "expected"),
    [
        ("edge", 6, 7, None, "enough"),
        ("highest", 64, None, None, "enough"),
        ("unloaded", None, None, None, "too_little"),
        ("requests", 8, None, None, "unknown"),
        ("stopped", None, None, None, "unknown"),
        ("edge", 6, 7, 6, "enough"),
        ("edge", 6, 7, 50, "too_little"),
        ("requests", 64, None, 50, "enough"),
        ("requests", 8, None, 50, "unknown"),
        ("requests", 8, 32, 50, "too_little"),
        ("client", 8, 16, 50, "unknown"),
        ("client", 8, 16, None, "enough"),
        ("client", None, 2, None, "unknown"),
        ("edge", None, 2, None, "unknown"),
        ("drifted", 8, 16, 50, "unknown"),
        ("unloaded", None, None, 2, "too_little"),
    ],
)
def test_too_little_is_only_said_of_what_is_known(
    reason: EndReason, capacity: float | None, broke_at: float | None, at_least: float | None, expected: str
) -> None:
    """A wish is missed when the vendor gave way below it, and open when the search or our own process ended first."""
    assert standing(VendorCapacity("m", "l", "v", capacity, reason, broke_at=broke_at), at_least) == expected
