"""Trends over a history: which runs are compared, and what is a regression."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from history_worlds import METRIC, history
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vendor_verifier.features.history.trends import change_points, trend_line, trends


def level(count: int, *, seed: int = 1, value: float = 800.0) -> NDArray[np.float64]:
    return value * np.exp(np.random.default_rng(seed).normal(0, 0.02, count))


def verdicts(runs: pd.DataFrame, figure: str = METRIC) -> dict[str, str]:
    return {trend.label: trend.verdict for trend in trends(runs, [figure])}


def test_a_lasting_step_is_a_regression_with_its_size_and_start() -> None:
    """A fifth slower for three nights; the line names the run since when, both levels and every run as a bar."""
    values = level(20)
    values[17:] *= 1.2
    (trend,) = trends(history({"a": {METRIC: values}}), [METRIC])
    assert trend.verdict == "regression"
    assert "since n017" in trend.reason
    assert trend.changes == (17,)
    assert trend_line(trend).startswith("regression: m / a / ttft_ms.p50: ")


@pytest.mark.parametrize(
    ("figure", "factor", "expected"),
    [
        (METRIC, 1.3, "regression"),
        (METRIC, 0.7, "improvement"),
        ("tps", 0.7, "regression"),
        ("tps", 1.3, "improvement"),
    ],
)
def test_direction_of_a_figure_decides_what_is_worse(figure: str, factor: float, expected: str) -> None:
    values = level(20)
    values[15:] *= factor
    assert verdicts(history({"a": {figure: values}}), figure) == {"a": expected}


def test_one_bad_run_is_no_change_and_seven_runs_are_too_few() -> None:
    for night in (-1, 12):
        values = level(20)
        values[night] *= 1.5
        assert verdicts(history({"a": {METRIC: values}})) == {"a": "steady"}
    values = np.array([800.0] * 6 + [1600.0])
    assert verdicts(history({"a": {METRIC: values}})) == {"a": "too_few_runs"}


def test_a_slowdown_of_all_vendors_is_not_a_regression() -> None:
    """A slower network moves all four vendors; one that moves alone is named alone, whatever the others gain."""
    vendors = {label: {METRIC: level(20, seed=seed)} for seed, label in enumerate("abcd")}
    for figures in vendors.values():
        figures[METRIC][15:] *= 1.4
    assert set(verdicts(history(vendors)).values()) == {"steady"}
    vendors["b"][METRIC][15:] *= 1.4
    assert verdicts(history(vendors)) == {"a": "steady", "b": "regression", "c": "steady", "d": "steady"}
    gained = {label: {METRIC: level(20, seed=seed)} for seed, label in enumerate("abcd")}
    for label in "abc":
        gained[label][METRIC][15:] *= 0.7
    assert verdicts(history(gained))["d"] == "steady"


def test_only_complete_runs_of_the_newest_question_are_compared() -> None:
    """Half a run is no night, and another question starts a new series."""
    runs = history({"a": {METRIC: level(20)}})
    other = runs.assign(question=["q"] * 10 + ["new"] * 10)
    assert len(trends(other, [METRIC])[0].values) == 10
    half = runs.assign(complete=[True] * 19 + [False])
    assert trends(half, [METRIC])[0].runs[-1] == "n018"
    assert trends(runs.iloc[:0], [METRIC]) == []
    assert trends(runs, ["f1"]) == []


@given(st.lists(st.floats(-3, 3), min_size=4, max_size=40), st.floats(-5, 5))
def test_points_are_ordered_inside_and_do_not_depend_on_the_unit(values: list[float], offset: float) -> None:
    """Points leave at least two runs on each side; on a log scale a unit is an offset, which changes nothing."""
    rounded = np.round(np.asarray(values), 3)
    points = change_points(rounded, least_effect=0.0501)
    moved = change_points(np.round(rounded + round(offset, 3), 3), least_effect=0.0501)
    edges = [0, *points, len(values)]
    assert all(b - a >= 2 for a, b in pairwise(edges))
    assert points == moved


def test_a_step_below_the_least_effect_is_no_change() -> None:
    series = np.r_[np.tile([0.0, 0.001], 10), np.tile([0.02, 0.021], 10)]
    assert [change_points(series, least_effect=least) for least in (0.01, 0.05)] == [[20], []]
