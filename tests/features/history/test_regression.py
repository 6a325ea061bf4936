"""Verdicts from a history: what alarms, what only warns, what is nobody's fault; and the stated error rates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from changing import replace
from histories import METRIC, night, nights, quiet

from vendor_verifier.features.history.figures import direction_of, scale_of
from vendor_verifier.features.history.regression import RECENT_RUNS, comparable, trends
from vendor_verifier.records.history import HistoryRun, Trend

VENDORS = ("official", "a", "b", "c")


def verdict_of(runs: Sequence[HistoryRun], label: str = "a", metric: str = METRIC) -> Trend:
    """The one trend of ``label``."""
    (found,) = trends(runs, metrics=[metric], labels=[label])
    return found


def test_a_lasting_step_is_a_regression_with_its_size_and_first_run() -> None:
    """+40 % on one vendor for four nights: exit-worthy, sized, and dated."""
    levels = quiet(np.random.default_rng(1), 30, VENDORS, sd=0.03)
    levels["a"][26:] *= 1.4
    found = verdict_of(nights(levels))
    assert found.verdict == "regression"
    assert found.changes[0].run == "night-026"
    assert found.changes[0].effect == pytest.approx(0.4, abs=0.1)
    assert "night-026" in found.reason


def test_a_step_that_is_old_is_the_new_normal() -> None:
    """More than the recent runs after it, the change is listed and alarms no longer."""
    levels = quiet(np.random.default_rng(2), 40, VENDORS, sd=0.03)
    levels["a"][20:] *= 1.3
    found = verdict_of(nights(levels))
    assert found.verdict == "steady"
    assert [change.worse for change in found.changes] == [True]
    assert len(found.nights) - found.changes[0].position > RECENT_RUNS


def test_a_drop_that_came_back_is_no_regression() -> None:
    """Three bad nights followed by four good ones do not fail tonight's check."""
    levels = quiet(np.random.default_rng(3), 34, VENDORS, sd=0.02)
    levels["a"][27:30] *= 1.5
    assert verdict_of(nights(levels)).verdict in ("steady", "improvement")


def test_getting_faster_is_an_improvement_and_more_tokens_a_second_too() -> None:
    """The metric's own direction decides what worse is."""
    levels = quiet(np.random.default_rng(4), 30, VENDORS, sd=0.03)
    levels["a"][26:] *= 0.75
    assert verdict_of(nights(levels)).verdict == "improvement"
    assert verdict_of(nights(levels, metric="tps"), metric="tps").verdict == "regression"


def test_what_all_vendors_share_is_not_held_against_one() -> None:
    """Our own network twice as slow for a week: every vendor's figures double, and nobody is blamed."""
    levels = quiet(np.random.default_rng(5), 30, VENDORS, sd=0.03, shared=0.02)
    for values in levels.values():
        values[25:] *= 2
    assert {trend.verdict for trend in trends(nights(levels), metrics=[METRIC])} == {"steady"}


def test_another_vendor_s_gain_is_not_my_loss() -> None:
    """With two others of which one becomes twice as fast, the relative series steps; the plain one does not."""
    levels = quiet(np.random.default_rng(6), 30, ("a", "b", "c"), sd=0.02, shared=0.02)
    levels["b"][25:] /= 2
    assert verdict_of(nights(levels)).verdict != "regression"
    assert verdict_of(nights(levels), "b").verdict == "improvement"


def test_one_bad_night_is_a_warning_and_not_an_alarm() -> None:
    """The newest run alone warns by its robust z; a second one would make it a level."""
    levels = quiet(np.random.default_rng(7), 25, VENDORS, sd=0.02)
    levels["a"][-1] *= 1.6
    found = verdict_of(nights(levels))
    assert found.verdict == "warning"
    assert found.z is not None
    assert found.z > 3


def test_the_more_is_watched_the_further_off_one_night_must_be() -> None:
    """A night that warns when its figure alone is asked for does not among four vendors'; one far enough off does."""
    verdicts = {}
    for off in (0.10, 0.40):
        levels = {label: [800.0] * 25 for label in VENDORS}
        levels["a"] = [800 * math.exp(each) for each in [0.0, 0.03, -0.03, 0.02, -0.02] * 5]
        levels["a"][-1] = 800 * math.exp(off)
        runs = nights(levels)
        among = {trend.label: trend.verdict for trend in trends(runs, metrics=[METRIC])}
        verdicts[off] = (verdict_of(runs).verdict, among["a"])
    assert verdicts == {0.10: ("warning", "steady"), 0.40: ("warning", "warning")}


@pytest.mark.parametrize("count", [1, 2, 7])
def test_under_eight_runs_there_is_no_verdict(count: int) -> None:
    """A sixth more is not judged before there is a history."""
    levels = quiet(np.random.default_rng(8), count, VENDORS, sd=0.02, shared=0)
    levels["a"][-1] *= 1.17
    found = verdict_of(nights(levels))
    assert found.verdict == "no_verdict"
    assert f"{count} of the 8" in found.reason


def test_the_first_bad_night_of_a_young_history_warns_and_the_next_ones_do() -> None:
    """A step of a half in the sixth of fourteen nights: warned of in the sixth and seventh, a regression after them."""
    levels = quiet(np.random.default_rng(18), 14, VENDORS, sd=0.03)
    levels["a"][5:] *= 1.6
    runs = nights(levels)
    told = [verdict_of(runs[:end]).verdict for end in range(1, 13)]
    assert told[:7] == [*["no_verdict"] * 5, "warning", "warning"]
    assert "regression" in told[7:]
    assert set(told[7:]) <= {"warning", "regression"}
    assert {verdict_of(runs[:end], "b").verdict for end in range(1, 8)} == {"no_verdict"}


def test_four_runs_are_too_few_to_warn() -> None:
    """Three nights before it say nothing of how a figure moves."""
    assert verdict_of(nights({"a": [800.0] * 3 + [8000.0]})).verdict == "no_verdict"
    assert verdict_of(nights({"a": [800.0] * 4 + [8000.0]})).verdict == "warning"


def test_runs_that_asked_something_else_are_no_part_of_the_series() -> None:
    """A changed data set starts a new series; an interrupted run is left out, though it be the newest."""
    runs = nights({"a": [800.0] * 12})
    other = night(12, {"a": 3000.0}, question="another")
    assert comparable([*runs, other]) == [other]
    assert verdict_of([*runs, other]).verdict == "no_verdict"
    assert comparable([*runs, replace(other, complete=False)]) == runs
    assert trends([]) == trends([replace(other, complete=False)]) == ()


def test_identical_nights_and_a_share_of_exactly_one_are_steady() -> None:
    """No spread at all is not a reason to divide by zero, and a tenth of a point is no regression."""
    shares = [1.0] * 20 + [0.999, 0.999]
    assert verdict_of(nights({"a": shares}, metric="success_rate"), metric="success_rate").verdict == "steady"
    fallen = [1.0] * 20 + [0.95, 0.94]
    assert verdict_of(nights({"a": fallen}, metric="success_rate"), metric="success_rate").verdict == "regression"


def test_scales_and_directions_follow_the_metric_s_name() -> None:
    """Quantities with units are ratios, shares are differences; percentiles inherit both."""
    assert [scale_of(name) for name in ("ttft_ms.p95", "tps", "avg_tokens", "f1", "toolbench")] == [
        "ratio", "ratio", "ratio", "difference", "difference",
    ]  # fmt: skip
    assert [direction_of(name) for name in ("ttft_ms.p50", "tps", "f1", "toolbench")] == [
        "lower", "higher", "higher", "higher",
    ]  # fmt: skip
