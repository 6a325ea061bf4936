"""The tests that verdicts rest on: how often they accuse equals, that they find differences, known values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats

from vendor_verifier.stats import answers, compare
from vendor_verifier.stats.intervals import (
    OUTAGE,
    bootstrap,
    exact_interval,
    mean_interval,
    median_interval,
    stretch_interval,
    wilson,
)

DRAWS = 1_000
Drawn = Callable[[Generator, float], float]


def share(rng: Generator, more: float) -> float:
    return compare.more_often(rng.binomial(150, 0.1 + more), 150, rng.binomial(300, 0.1), 300).p_value


def groups(rng: Generator, more: float) -> float:
    """Outages of about 20 requests, as often at both sides."""
    lengths = np.stack([rng.geometric(1 / 20, (2, 40)), np.full((2, 40), 3)], axis=2)
    down = rng.random((2, 40)) < np.array([[0.1 + more], [0.1]])
    hit = [np.repeat(np.stack([down[side], down[side] & False], axis=1), lengths[side].ravel()) for side in (0, 1)]
    own, base = (compare.stretches(each, 2) for each in hit)
    return compare.more_stretches(own, int(hit[0].sum()), hit[0].size, base, hit[1].size).p_value


def odd(rng: Generator, more: float) -> float:
    """Questions on which one model is sure, and others on which it is not."""
    chance = np.where(np.arange(300) % 4 == 0, 0.5, 0.02)
    own, one, two = (rng.random(300) < chance for _ in range(3))
    return compare.odd_one_out(own ^ (rng.random(300) < more), one, two)[0].p_value


def sign(rng: Generator, more: float) -> float:
    own, base = (rng.random(200) < 0.5 for _ in range(2))
    return compare.sign_test(own & (rng.random(200) >= more), base).p_value


def scores(rng: Generator, more: float) -> float:
    hard = rng.random(100)
    own, base = np.clip(hard + rng.normal(0, 0.2, (2, 100)), 0, 1)
    return compare.paired(own - more, base).p_value


def slope(rng: Generator, more: float) -> float:
    x = rng.uniform(50, 500, 60)
    return compare.slope(x, np.rint((0.01 + more) * x + rng.normal(0, 3, 60)), 0.01).p_value


def batch_means(rng: Generator, more: float) -> float:
    """Slow spells that last for a tenth of the run, at a ratio that lies on the line."""
    spells = np.repeat(rng.normal(0, 0.3, (2, 12)), 25, axis=1)
    own, base = (np.exp(each + rng.normal(0, 0.3, 300)) for each in spells)
    found = compare.window_differences(np.arange(300.0), own * (1.25 + more), np.arange(300.0), base)
    assert found is not None
    return compare.slower(found, 1.25).p_value


def correlation(rng: Generator, more: float) -> float:
    x, base_x, noise, base_noise = rng.normal(size=(4, 100))
    return compare.correlated_more(x, noise + more * 5 * x, base_x, base_noise, 0.0).p_value


def texts(rng: Generator, more: float) -> float:
    """Each answer parts from the likeliest one at some place, so that two agree up to the earlier of theirs."""
    own, first, second = rng.random((3, 150))
    one, two, base = (
        np.minimum(own, first) * (1 - more),
        np.minimum(own, second) * (1 - more),
        np.minimum(first, second),
    )
    found = np.stack([base - (one + two) / 2, two - (base + one) / 2, one - (base + two) / 2], axis=1)
    result = answers.odd_one_out(found, rng)
    assert result is not None
    return result.p_value


EVERY = (share, groups, odd, sign, scores, slope, batch_means, correlation, texts)


@pytest.mark.parametrize("drawn", EVERY, ids=lambda each: each.__name__)
def test_equal_vendors_are_rarely_told_apart(drawn: Drawn) -> None:
    """At 5 % at most 5 % of equal vendors, up to three standard errors of the simulation."""
    rng = np.random.default_rng(31)
    rejected = np.mean([drawn(rng, 0.0) <= 0.05 for _ in range(DRAWS)])
    assert rejected <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / DRAWS)


@pytest.mark.parametrize("drawn", EVERY, ids=lambda each: each.__name__)
def test_larger_differences_are_found_more_often(drawn: Drawn) -> None:
    rng = np.random.default_rng(32)
    found = [np.mean([drawn(rng, more) <= 0.05 for _ in range(60)]) for more in (0.0, 0.15, 0.6)]
    assert found == sorted(found)
    assert found[-1] >= 0.9


def test_holm_corrects_each_step_and_keeps_the_order() -> None:
    assert compare.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert compare.holm([]) == []


@pytest.mark.parametrize(
    ("failed", "gap", "number"),
    [("", 2, 0), ("101", 2, 1), ("1001", 2, 2), ("11", 1, 1), ("101", 1, 2), ("000", 2, 0)],
)
def test_failures_close_together_are_one_stretch(failed: str, gap: int, number: int) -> None:
    assert compare.stretches(np.array([each == "1" for each in failed], bool), gap) == number


def test_one_long_outage_is_not_evidence_but_many_are() -> None:
    assert compare.more_stretches(1, 200, 315, 0, 630).p_value > 0.3
    assert compare.more_stretches(26, 26, 315, 0, 630).p_value < 1e-9
    assert compare.more_stretches(0, 0, 315, 3, 630).p_value == 1


def test_times_are_held_against_the_line() -> None:
    """1.31 times slower is more than 1.25, and no proof of 1.5."""
    sent, rng = np.arange(315.0), np.random.default_rng(1)
    own, base = np.exp(rng.normal(math.log(1.31), 0.05, 315)), np.exp(rng.normal(0, 0.05, 315))
    found = compare.window_differences(sent, own, sent, base)
    assert found is not None
    assert compare.slower(found, 1.25).p_value < 0.01
    assert compare.slower(found, 1.5).p_value > 0.99
    assert compare.slower(found, 1.25).value == pytest.approx(1.31, rel=0.02)
    assert compare.window_differences(sent[:59], own[:59], sent, base) is None
    assert compare.window_differences(sent, own, sent + 250, base) is not None
    assert compare.window_differences(sent, own, np.where(sent < 300, 0, sent), base) is None


def test_wilson_and_median_have_their_known_values() -> None:
    """Newcombe 1998, table I: 81 of 263; order statistics 2 and 9 of ten enclose the median."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20)[0] == 0
    assert wilson(20, 20)[1] == 1
    assert wilson(0, 0) == (0, 1)
    assert median_interval(np.arange(1.0, 11)) == (5.5, 2, 9)


def test_the_difference_of_shares_has_newcombes_interval() -> None:
    """Newcombe 1998, table II, (a) by method 10: 56 of 70 and 48 of 80."""
    found = compare.more_often(56, 70, 48, 80)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


def test_bootstrap_encloses_a_ratio_of_sums() -> None:
    rng = np.random.default_rng(3)
    sums = np.stack([rng.poisson(20, 200), rng.poisson(40, 200)], axis=1).astype(float)
    low, high = bootstrap(sums, lambda totals: totals[:, 0] / totals[:, 1])
    assert 0.45 < low < 0.5 < high < 0.55


@pytest.mark.parametrize(
    ("own", "one", "other", "odds"),
    [("aab", "aaa", "aaa", (1, 0)), ("aba", "aab", "abb", (1, 1)), ("abc", "bcd", "cda", (0, 0))],
)
def test_only_triples_with_two_equal_answers_count(own: str, one: str, other: str, odds: tuple[int, int]) -> None:
    assert compare.odd_one_out(*(np.array(list(each)) for each in (own, one, other)))[1:] == odds


def test_powers_agree_with_simulated_tests() -> None:
    rng = np.random.default_rng(8)
    tests: dict[str, tuple[float, Callable[[], float]]] = {
        "odd": (
            compare.odd_power(200, 0.10, 0.04, 0.01),
            lambda: stats.binom.sf((o := rng.binomial(200, 0.10)) - 1, o + rng.binomial(200, 0.04), 1 / 3),
        ),
        "share": (
            compare.share_power(150, 300, 0.02, 0.1, 0.01),
            lambda: compare.more_often(rng.binomial(150, 0.12), 150, rng.binomial(300, 0.02), 300).p_value,
        ),
        "sign": (
            compare.sign_power(200, 0.1, 0.1, 0.01),
            lambda: stats.binom.sf((k := rng.binomial(200, 0.15)) - 1, k + rng.binomial(200, 0.05), 0.5),
        ),
        "stretches": (
            compare.stretches_power(200, 2, 400, 2, 0.01, 0.06),
            lambda: compare.more_stretches(compare.stretches(rng.random(200) < 0.06, 2), 9, 200, 2, 400).p_value,
        ),
    }
    for name, (power, p_value) in tests.items():
        assert power == pytest.approx(np.mean([p_value() <= 0.01 for _ in range(1_500)]), abs=0.06), name


def test_the_smallest_difference_is_that_found_in_eight_of_ten() -> None:
    assert compare.smallest(lambda points: points) == 0.8
    assert compare.smallest(lambda points: 0.0) == np.inf
    assert compare.slower_power(0.1, 12, 1.25, 0.01, 1.3) < 0.1 < 0.9 < compare.slower_power(0.1, 12, 1.25, 0.01, 2)
    assert compare.slower_power(0.0, 12, 1.25, 0.01, 1.3) == 1


def test_answers_are_compared_by_place() -> None:
    assert answers.similarity("abcd", "abXY") == 0.5
    assert answers.similarity("", "") == 1
    assert answers.similarity("ab", "abcd") == 0.5
    assert answers.odd_one_out(answers.leanings([("a", "a", "a")] * 20), np.random.default_rng(0)) is None


def test_fewer_answers_agree_with_the_drawn_labels() -> None:
    """Of ten questions on which only the vendor differs the p-value is (1/3)¹⁰ ÷ 0.8, drawn 20,000 times."""
    few = answers.odd_one_out(answers.leanings([("xy", "ab", "ab")] * 10), np.random.default_rng(0))
    assert few is not None
    assert few.z > 0
    assert few.p_value < 0.001
    nearer = answers.odd_one_out(
        answers.leanings([("ab", "ab", "xy"), ("xy", "ab", "xy")] * 40), np.random.default_rng(0)
    )
    assert nearer is not None
    assert nearer.z < 0
    assert nearer.p_value < 0.001


def test_intervals_of_a_runs_figures() -> None:
    import pandas as pd

    exact = exact_interval(5, 10)
    assert (exact.low, exact.high) == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert exact_interval(0, 10).low == 0
    assert exact_interval(0, 0).value is None
    # A run without a failure may have missed an outage.
    none = stretch_interval(pd.Series(np.zeros(300, bool)))
    assert (none.value, none.low) == (0, 0)
    assert none.high is not None
    assert none.high >= OUTAGE / 300
    scattered, together = np.zeros(300, bool), np.zeros(300, bool)
    scattered[::20], together[:15] = True, True
    one, other = stretch_interval(pd.Series(scattered)), stretch_interval(pd.Series(together))
    assert one.value == other.value == 0.05
    assert (one.low or 0) > (other.low or 0)
    assert stretch_interval(pd.Series(np.ones(300, bool))).low > 0.4  # type: ignore[operator]
    ones = pd.Series(np.ones(100))
    assert mean_interval(ones * 3, ones * 2).value == 1.5
    assert mean_interval(ones[:19], ones[:19]).value is None
