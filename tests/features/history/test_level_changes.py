"""Changes of level in a series: found where they are, and only where they are."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from history_worlds import drift
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from vendor_verifier.features.history.level_changes import change_points, hodges_lehmann, likeness

LEAST = math.log1p(0.05)


def test_a_clear_step_is_found_where_it_is() -> None:
    """One step in small noise is one change point, at the first run of the new level."""
    random = np.random.default_rng(1)
    series = random.normal(0, 0.02, 30)
    series[22:] += 0.2
    assert [point for point, _ in change_points(series, least_effect=LEAST)] == [22]


def test_two_steps_that_cancel_are_both_found() -> None:
    """A level that rises and comes back has two changes, although its halves have the same mean."""
    random = np.random.default_rng(2)
    series = random.normal(0, 0.02, 45)
    series[15:30] += 0.2
    assert [point for point, _ in change_points(series, least_effect=LEAST)] == [15, 30]


def test_a_change_below_the_least_effect_is_none_however_sure() -> None:
    """Three percent without any noise are certain and still not worth an alarm."""
    series = [0.0] * 10 + [math.log(1.03)] * 10
    assert change_points(series, least_effect=LEAST) == []
    assert [point for point, _ in change_points(series, least_effect=0.02)] == [10]


def test_one_night_alone_is_no_level() -> None:
    """A single wild run, at the end or inside, is not a change of level."""
    random = np.random.default_rng(3)
    for position in (12, 23):
        series = random.normal(0, 0.02, 24)
        series[position] += 1.0
        assert change_points(series, least_effect=LEAST) == []


@given(
    st.lists(st.floats(-3, 3), min_size=4, max_size=40),
    st.floats(-5, 5),
)
def test_points_are_ordered_inside_and_do_not_depend_on_the_unit(values: list[float], offset: float) -> None:
    """Points leave at least two runs on each side; on a log scale a unit is an offset, which changes nothing."""
    rounded = np.round(np.asarray(values), 3)
    points = [point for point, _ in change_points(rounded, least_effect=0.0501)]
    moved = [point for point, _ in change_points(np.round(rounded + round(offset, 3), 3), least_effect=0.0501)]
    edges = [0, *points, len(values)]
    assert all(b - a >= 2 for a, b in pairwise(edges))
    assert points == moved


def test_hodges_lehmann_is_the_median_difference() -> None:
    """The known value of a small example, and robust against one outlier."""
    assert hodges_lehmann([1.0, 2.0, 3.0], [11.0, 12.0, 13.0]) == 10.0
    assert hodges_lehmann([1.0, 2.0, 3.0], [11.0, 12.0, 1e9]) == pytest.approx(10.0, abs=1.0)


def test_the_likeness_of_nights_is_measured_within_levels() -> None:
    """Of independent nights it is near 0, of alike ones near what it is, and a step makes no nights alike."""
    random = np.random.default_rng(5)
    found = {}
    for alike in (0.0, 0.7):
        series = [drift(random, 60, 0.05, alike) for _ in range(20)]
        found[alike] = likeness(series, 0.0)
        for values in series:
            values[40:] += 0.3
        assert likeness(series, 0.0) == pytest.approx(found[alike], abs=0.1)
    assert found[0.0] == pytest.approx(0.0, abs=0.1)
    assert found[0.7] == pytest.approx(0.7, abs=0.15)
    assert likeness([[1.0] * 9], 1.0) == likeness([], 1.0) == 0.0


def test_alike_nights_take_more_to_be_a_change() -> None:
    """The wider the means of alike nights vary, the less a step is worth; without likeness it is Student's t-test."""
    random = np.random.default_rng(6)
    series = random.normal(0, 0.02, 30)
    series[25:] += 0.12
    p_values = [change_points(series, least_effect=LEAST, p_value=0.5, alike=alike) for alike in (0.0, 0.3, 0.6)]
    assert [[point for point, _ in found] for found in p_values] == [[25]] * 3
    (_, student), (_, milder), (_, mildest) = (found[0] for found in p_values)
    assert student < milder < mildest
    assert student == pytest.approx(ttest_ind(series[:25], series[25:]).pvalue)
