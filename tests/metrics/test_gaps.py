"""Gaps between pieces are pooled one by one, in little memory, and their percentiles tell what a mean would hide."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.metrics import inter_chunk_latency as module
from vendor_verifier.metrics.base import distribution, read_answers
from vendor_verifier.metrics.inter_chunk_latency import MOST_EXACT, Gaps, gaps_of, merged
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord

MS = 1_000_000


def answered(*gaps: int, streamed: bool = True, failure: Failure | None = None) -> TurnRecord:
    timing = Timing("2026-01-01T00:00:00Z", 9 * MS, first_token_ns=0, last_token_ns=sum(gaps), gaps_ns=gaps)
    return TurnRecord((Attempt(1, timing, Response("x", streamed=streamed), failure),))


def record(*turns: TurnRecord) -> Record:
    return Record("r", "m", "v", "v", "trigger", "s", 0, turns)


def test_collapsed_gaps_are_not_hidden() -> None:
    """Tokens that come in pairs, 20 ms and then 0, have the mean of an even stream but neither its p50 nor its p90."""
    even, lumped = Gaps(), Gaps()
    for _ in range(100):
        even.add([10 * MS] * 70)
        lumped.add([0, 20 * MS] * 35)
    told, hidden = lumped.distribution(), even.distribution()
    assert told.mean == hidden.mean == pytest.approx(10)
    assert (hidden.p50, hidden.p90, hidden.min) == (10, 10, 10)
    assert (told.p50, told.p90, told.min) == (10, 20, 0)
    third = Gaps()
    third.add([0, 0, 30 * MS] * 1000)
    assert (third.distribution().p50, third.distribution().p90) == (0, 30)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=200), st.integers(1, 60))
def test_bins_tell_percentiles_to_within_a_hundredth(values: list[int], most: int) -> None:
    """However few gaps are kept exactly, each percentile is within 1 % of the exact one and the rest is exact."""
    expected = distribution([value / 1e6 for value in values])
    counted = Gaps()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_EXACT", most)
        for start in range(0, len(values), 7):
            counted.add(values[start : start + 7])
        found = counted.distribution()
    assert (found.n, found.min, found.max) == (expected.n, expected.min, expected.max)
    assert found.mean == pytest.approx(expected.mean)
    for name in ("p50", "p90", "p95", "p99"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=0.0101, abs=1e-9)


def test_memory_stays_the_same_however_long_the_run() -> None:
    """Of four times as many gaps as are kept exactly, no more than that many and the bins are held."""
    counted, rng = Gaps(), random.Random(1)
    for _ in range(4 * MOST_EXACT // 64):
        counted.add([rng.randrange(30 * MS) for _ in range(64)])
        assert len(counted.waiting) <= MOST_EXACT
    assert counted.bins is not None
    assert len(counted.bins) < 1_500
    assert counted.distribution().n == 4 * MOST_EXACT
    assert counted.distribution().p50 == pytest.approx(15, rel=0.03)


def test_joined_parts_are_the_whole() -> None:
    """Gaps that were counted apart, in bins or not, give the numbers of all of them together."""
    few, many, whole = Gaps(), Gaps(), Gaps()
    rng = random.Random(2)
    for gaps, size in ((few, 100), (many, MOST_EXACT + 5)):
        found = [rng.randrange(30 * MS) for _ in range(size)]
        gaps.add(found)
        whole.add(found)
    assert merged([few, many]).distribution() == whole.distribution()
    assert merged([many, few]).distribution() == whole.distribution()
    assert merged([few]).distribution() == few.distribution()


def test_no_gaps_are_not_measured() -> None:
    """Nothing has no percentile, and no zero either."""
    assert Gaps().distribution().n == 0
    assert Gaps().distribution().p50 is None


def test_only_streamed_successes_have_gaps() -> None:
    """Every turn's gaps count; a failure's, and those of an answer that came whole, do not."""
    assert gaps_of(read_answers(record(answered(1, 2), answered(3)))) == (1, 2, 3)
    assert gaps_of(read_answers(record(answered(1, 2, streamed=False)))) == ()
    assert (
        gaps_of(read_answers(record(answered(1, 2), answered(3, failure=Failure("truncated", "stream", "cut"))))) == ()
    )
