"""Latency by region: who is counted where, and that it leaves no trace where nobody names a region."""

from __future__ import annotations

import pytest
from observed import observed, table_of

from vendor_verifier.records.record import Attempt, Failure, FailureKind, Record, Response, Timing, TurnRecord
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.vendor_figures import regions_of


def record(number: int, region: str | None, ttft_ms: float = 100, kind: FailureKind | None = None) -> Record:
    """One answer of ten times its TTFT, or with ``kind`` a failure."""
    timing = Timing("2026-01-01T00:00:00+00:00", int(ttft_ms * 1e7), first_token_ns=int(ttft_ms * 1e6))
    failure = None if kind is None else Failure(kind, "headers", "no")
    attempt = Attempt(1, timing, None if kind else Response(text="x", finish_reason="stop"), failure)
    return Record("r", "m", "a", "v", "trigger", "s", number, (TurnRecord((attempt,)),), region=region)


def columns(*records: Record) -> ObservationTable:
    return table_of(map(observed, records))


def test_each_region_has_its_own_times_and_success() -> None:
    """Percentiles of what was answered there, a failure lowers its own region alone, unnamed workers stand last."""
    found = regions_of(
        columns(
            record(0, None, 5),
            record(1, "us", 300),
            record(2, "eu", 100),
            record(3, "eu", 200),
            record(4, "eu", kind="http_5xx"),
        )
    )
    assert [(one.region, one.succeeded, one.asked) for one in found] == [("eu", 2, 3), ("us", 1, 1), (None, 1, 1)]
    assert [one.success_rate for one in found] == [pytest.approx(2 / 3), 1.0, 1.0]
    assert [(one.ttft_ms.n, one.ttft_ms.p50) for one in found] == [(2, 150), (1, 300), (1, 5)]
    assert [one.e2e_ms.p50 for one in found] == [1500, 3000, 50]


def test_a_run_without_regions_has_none() -> None:
    """A local run, and workers that name no region, tell nothing by region."""
    assert regions_of(columns(record(0, None), record(1, None))) == ()
    assert regions_of(ObservationTable()) == ()


def test_what_is_our_own_fault_counts_in_no_region() -> None:
    """A region where nothing was really asked has no rate, not a rate of zero."""
    (only,) = regions_of(columns(record(0, "eu", kind="harness")))
    assert (only.asked, only.success_rate, only.ttft_ms.n) == (0, None, 0)


def test_the_record_that_stands_says_the_region() -> None:
    """Asked again elsewhere after a failure, a sample counts where it succeeded."""
    (only,) = regions_of(columns(record(0, "eu", kind="timeout_total"), record(0, "us")))
    assert (only.region, only.succeeded, only.asked) == ("us", 1, 1)
