"""Closed-form intervals give the published numbers, hold their estimate and shrink with the sample."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.stats.intervals import clopper_pearson, f1_interval, percentile_interval, rule_of_three, wilson


def counts() -> st.SearchStrategy[tuple[int, int]]:
    """(successes, n) with n of at least 1."""
    return st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def bounds(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(11, 16, 0.444, 0.858), (22, 32, 0.514, 0.820), (2000, 2000, 0.99808, 1.0), (300, 300, 0.98736, 1.0)],
)
def test_wilson_gives_known_intervals(successes: int, n: int, low: float, high: float) -> None:
    """11 of 16 and 22 of 32 are the same share with very different intervals; all of n never shows 1."""
    assert bounds(wilson(successes, n)) == pytest.approx((low, high), abs=6e-4)


def test_clopper_pearson_gives_the_textbook_interval() -> None:
    """0 of 10 is compatible with up to 30.85 %, and 5 of 10 with 18.7 … 81.3 %."""
    assert bounds(clopper_pearson(0, 10)) == pytest.approx((0.0, 0.30850), abs=1e-5)
    assert bounds(clopper_pearson(5, 10)) == pytest.approx((0.18709, 0.81291), abs=1e-5)


def test_the_rule_of_three_is_about_three_over_n() -> None:
    """No failure in 300 leaves 1 % possible, exactly 1 − 0.05^(1/300)."""
    assert rule_of_three(300) == pytest.approx(1 - 0.05 ** (1 / 300), abs=1e-12)
    assert rule_of_three(300) == pytest.approx(3 / 300, rel=0.01)
    with pytest.raises(ValueError, match="nothing was tried"):
        rule_of_three(0)


def test_f1_is_wilson_on_jaccard() -> None:
    """F1 = 2J/(1+J) at both ends, with J's interval from TP of TP+FP+FN."""
    estimate, jaccard = f1_interval(412, 22, 39), wilson(412, 473)
    assert estimate.value == pytest.approx(0.931073, abs=1e-6)
    low, high = bounds(jaccard)
    assert bounds(estimate) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))


def test_nothing_measured_is_none() -> None:
    """0 ÷ 0 has no value and no interval, whatever the method."""
    for estimate in (wilson(0, 0), clopper_pearson(0, 0), f1_interval(0, 0, 0), percentile_interval([], 50)):
        assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 0)


def test_impossible_counts_are_refused() -> None:
    """More successes than trials, or negative counts, are a bug of the caller."""
    with pytest.raises(ValueError, match="cannot be"):
        wilson(3, 2)
    with pytest.raises(ValueError, match="cannot be"):
        clopper_pearson(-1, 2)
    with pytest.raises(ValueError, match="not negative"):
        f1_interval(1, -1, 0)


@given(counts())
def test_every_interval_holds_its_estimate(count: tuple[int, int]) -> None:
    """For any count, and Clopper–Pearson is never shorter than the share it is about."""
    for estimate in (wilson(*count), clopper_pearson(*count), f1_interval(count[0], count[1] - count[0], 0)):
        low, high = bounds(estimate)
        assert estimate.value is not None
        assert 0 <= low <= estimate.value <= high <= 1


@given(counts(), st.integers(2, 10))
def test_intervals_shrink_as_samples_are_added(count: tuple[int, int], factor: int) -> None:
    """The same share of more samples is known better."""
    for method in (wilson, clopper_pearson):
        low, high = bounds(method(*count))
        closer_low, closer_high = bounds(method(count[0] * factor, count[1] * factor))
        assert closer_high - closer_low < high - low


def test_order_statistics_of_the_median_of_ten() -> None:
    """The binomial(10, ½) quantiles 2 and 8 put the interval between the 2nd and the 9th value."""
    estimate = percentile_interval([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 50)
    assert (estimate.value, estimate.low, estimate.high) == (5.5, 2, 9)


def test_a_high_percentile_of_few_values_is_open_upwards() -> None:
    """p99 of 100 values has no upper bound, p95 of 1000 has one."""
    assert percentile_interval(list(range(100)), 99).high is None
    estimate = percentile_interval(list(range(1000)), 95)
    assert bounds(estimate) == (935, 963)


def test_time_outs_are_infinite_and_open_the_interval() -> None:
    """A percentile that falls among time-outs has no value, one below them has."""
    values = [1.0] * 60 + [math.inf] * 40
    assert percentile_interval(values, 95).value is None
    median = percentile_interval(values, 50)
    assert (median.value, median.low) == (1.0, 1.0)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values: list[float], random: object) -> None:
    """A percentile interval is the same for any order and holds its value."""
    shuffled = sorted(values, key=lambda _: random.random())  # type: ignore[attr-defined]
    estimate = percentile_interval(values, 90)
    assert percentile_interval(shuffled, 90) == estimate
    assert estimate.value is not None
    assert (estimate.low or 0.0) <= estimate.value <= (math.inf if estimate.high is None else estimate.high)


def test_a_percentile_is_strictly_inside() -> None:
    """0 and 100 are minimum and maximum, which have no such interval."""
    with pytest.raises(ValueError, match="strictly between"):
        percentile_interval([1.0], 100)
