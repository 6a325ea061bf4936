"""Goodput: which requests are good, and over which time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from observed import observed, table_of

from vendor_verifier.gates.goodput import goodput, seconds_of
from vendor_verifier.gates.thresholds import REQUEST_METRICS, ThresholdError, parse_slo
from vendor_verifier.records.event import Usage
from vendor_verifier.records.record import Attempt, Failure, FailureKind, Record, Response, Timing, TurnRecord
from vendor_verifier.scoring.observation_table import ObservationTable

FAST = parse_slo("avg_ttft_ms <= 200")
SHORT = parse_slo("e2e_ms <= 1000")


def record(
    number: int, ttft_ms: float | None = 100, e2e_ms: float = 500, kind: FailureKind | None = None, second: int = 0
) -> Record:
    """One answer, or with ``kind`` a failure, sent at ``second`` past midnight."""
    first = None if ttft_ms is None else int(ttft_ms * 1e6)
    timing = Timing(f"2026-01-01T00:00:{second:02}+00:00", int(e2e_ms * 1e6), first_token_ns=first)
    answer = Response(text="x", finish_reason="stop", usage=Usage(1, 2))
    failure = None if kind is None else Failure(kind, "headers", "no")
    attempt = Attempt(1, timing, None if kind else answer, failure)
    return Record("r", "m", "a", "v", "trigger", "s", number, (TurnRecord((attempt,)),))


def columns(*records: Record) -> ObservationTable:
    return table_of(map(observed, records))


def test_a_request_is_good_when_its_own_figures_keep_every_slo() -> None:
    """Fast and short is good; slow, long or failed is not; what has no TTFT is not good either and counted apart."""
    heard = columns(
        record(0),
        record(1, ttft_ms=200),
        record(2, ttft_ms=201),
        record(3, e2e_ms=1001),
        record(4, kind="http_5xx"),
        record(5, ttft_ms=None),
        record(6, ttft_ms=None, e2e_ms=2000),
    )
    found = goodput(heard, (FAST, SHORT), asked=8, seconds=4.0)
    assert (found.good, found.failed, found.unmeasured, found.asked) == (2, 1, 1, 8)
    assert found.kept == {"avg_ttft_ms <= 200": 3, "e2e_ms <= 1000": 4}
    assert (found.share, found.per_s) == (2 / 8, 2 / 4)


def test_what_is_our_own_fault_is_nobodys_failure() -> None:
    """A request that was never sent counts neither as good nor as failed."""
    found = goodput(columns(record(0), record(1, kind="untranslatable")), (FAST,), asked=1, seconds=1.0)
    assert (found.good, found.failed, found.share) == (1, 0, 1.0)


def test_without_a_time_there_is_no_rate() -> None:
    """The share stands; nothing asked gives neither."""
    assert goodput(columns(record(0)), (FAST,), asked=1, seconds=None).per_s is None
    nobody = goodput(columns(), (FAST,), asked=0, seconds=None)
    assert (nobody.share, nobody.per_s, nobody.good) == (None, None, 0)


@given(
    st.lists(st.tuples(st.none() | st.floats(0, 400), st.floats(0, 2000), st.booleans()), max_size=30),
    st.floats(0, 400),
    st.floats(0, 100),
)
def test_a_looser_slo_or_one_slo_less_never_makes_fewer_requests_good(
    answers: list[tuple[float | None, float, bool]], bound: float, more: float
) -> None:
    """Good requests only grow with the bound, and a failure in place of an answer never makes one more good."""
    heard = [record(n, *answer[:2], kind="truncated" if answer[2] else None) for n, answer in enumerate(answers)]
    tight, loose = parse_slo(f"ttft_ms <= {bound!r}"), parse_slo(f"ttft_ms <= {bound + more!r}")

    def good(records: list[Record], *slos: object) -> int:
        return goodput(columns(*records), slos, asked=len(heard), seconds=1.0).good  # type: ignore[arg-type]

    assert good(heard, tight, SHORT) <= good(heard, loose, SHORT) <= good(heard, SHORT)
    if heard:
        failed = [record(0, kind="http_5xx"), *heard[1:]]
        assert good(failed, tight) <= good(heard, tight)


def test_the_time_runs_from_the_first_send_to_the_last_end() -> None:
    """Over all requests of the vendor, failures too."""
    sent = columns(record(0, second=3, e2e_ms=9000), record(1, second=1), record(2, second=8, kind="http_5xx"))
    assert seconds_of(sent) == pytest.approx(11.0)
    assert seconds_of(columns()) is None


@pytest.mark.parametrize(
    "text", ["avg_ttft_ms.p95 <= 200", "f1 >= 0.9", "success_rate >= ceiling", "ttft_ms <= ceiling"]
)
def test_what_is_about_many_requests_is_no_slo(text: str) -> None:
    """A percentile, a rate and the ceiling are refused with the gate that says it."""
    with pytest.raises(ThresholdError, match="--gate"):
        parse_slo(text)


@pytest.mark.parametrize("metric", REQUEST_METRICS)
def test_whatever_a_request_measures_can_be_an_slo(metric: str) -> None:
    """Every metric of single requests is looked up, whether it was measured or not."""
    found = goodput(columns(record(0)), (parse_slo(f"{metric} >= 0"),), asked=1, seconds=1.0)
    assert found.good + found.unmeasured == 1
