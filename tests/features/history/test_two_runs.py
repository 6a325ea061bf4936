"""Two runs sample by sample: verdicts by interval and least effect, flips, and what else changed."""

from __future__ import annotations

import numpy as np
import pytest

from vendor_verifier.features.history.run_diff import (
    Side,
    common_samples,
    compare_model,
    flip_counts,
    flips_of,
    setting_changes,
)
from vendor_verifier.records.history import MetricChange
from vendor_verifier.stats.ratio_table import Trials

SAMPLES = [f"s{number}" for number in range(400)]
QUANTITIES = ("avg_ttft_ms", "tps", "avg_tokens")


def trials(label: str, seed: int, *, success: float = 1.0, ttft: float = 800.0, called: float = 0.5) -> Trials:
    """A vendor over all samples; ``seed`` 0 decides as the baseline does."""
    random = np.random.default_rng(seed)
    units = [(name, 0) for name in SAMPLES]
    succeeded = random.random(len(units)) < success
    base = np.random.default_rng(0).random(len(units)) < called
    times = ttft * np.exp(random.normal(0, 0.35, len(units)))
    return Trials(
        label,
        ({name: "called" if one else "not_called" for name, one in zip(SAMPLES, base, strict=True)},),
        {
            "success_rate": {unit: (float(one), 1.0) for unit, one in zip(units, succeeded, strict=True)},
            "avg_ttft_ms": {unit: (float(one), 1.0) for unit, one in zip(units, times, strict=True)},
        },
    )


def compared(before: list[Trials], after: list[Trials], *metrics: str) -> dict[tuple[str, str], MetricChange]:
    found = compare_model("m", Side(before, "a"), Side(after, "a"), SAMPLES, metrics=metrics)
    return {(change.label, change.metric): change for change in found}


def test_a_clear_loss_is_worse_and_a_clear_gain_improved() -> None:
    """Success from 99 % to 85 % and back, over the same samples."""
    good, bad = [trials("a", 1, success=0.99)], [trials("a", 2, success=0.85)]
    worse = compared(good, bad, "success_rate")["a", "success_rate"]
    better = compared(bad, good, "success_rate")["a", "success_rate"]
    assert (worse.verdict, better.verdict) == ("worse", "improved")
    assert worse.effect.value == pytest.approx(worse.after - worse.before)
    assert worse.effect.low is not None
    assert worse.effect.high is not None
    assert worse.effect.low < worse.effect.value < worse.effect.high < 0


def test_identical_runs_are_the_same_when_there_are_enough_samples_and_undecided_when_not() -> None:
    """400 samples without a change bound it below 2 points (3 ÷ n); 40 do not."""
    many = compared([trials("a", 1)], [trials("a", 1)], "success_rate")["a", "success_rate"]
    few = compare_model("m", Side([trials("a", 1)]), Side([trials("a", 1)]), SAMPLES[:40], metrics=["success_rate"])[0]
    assert (many.verdict, few.verdict) == ("same", "undecided")
    assert many.effect.high == pytest.approx(3 / 400)


def test_two_samples_have_an_interval_without_an_end_and_decide_nothing() -> None:
    """Two samples and many comparisons widen an interval beyond any number, which is then left out."""
    many = [f"v{number}" for number in range(40)]
    before, after = ([trials(label, seed, ttft=ttft) for label in many] for seed, ttft in ((1, 10.0), (2, 4000.0)))
    found = compare_model("m", Side(before), Side(after), SAMPLES[:2], metrics=["avg_ttft_ms"])
    assert len(found) == len(many)
    assert {(change.verdict, change.effect.high) for change in found} == {("undecided", None)}


def test_slower_first_tokens_are_worse_and_what_all_share_is_taken_out() -> None:
    """One of four vendors 50 % slower is worse; all of them 50 % slower is nobody's fault."""
    labels = ("a", "b", "c", "d")
    before = [trials(label, seed) for seed, label in enumerate(labels)]
    one = [trials(label, 10 + seed, ttft=1200.0 if label == "b" else 800.0) for seed, label in enumerate(labels)]
    everyone = [trials(label, 10 + seed, ttft=1200.0) for seed, label in enumerate(labels)]
    found = compared(before, one, "avg_ttft_ms")
    assert found["b", "avg_ttft_ms"].verdict == "worse"
    assert found["b", "avg_ttft_ms"].effect.value == pytest.approx(0.5, abs=0.15)
    assert {found[label, "avg_ttft_ms"].verdict for label in "acd"} <= {"same", "undecided"}
    shared = compared(before, everyone, "avg_ttft_ms")
    assert {change.verdict for change in shared.values()} <= {"same", "undecided"}
    assert shared["a", "avg_ttft_ms"].shared == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("many", [2, 3, 4, 7])
def test_one_vendor_that_changed_changes_no_other(many: int) -> None:
    """One of two, three, four or seven vendors 73.5 % slower is worse alone: the mean of two others is no network."""
    labels = "abcdefg"[:many]
    before = [trials(label, seed) for seed, label in enumerate(labels)]
    after = [trials(label, 10 + seed, ttft=1388.0 if label == "b" else 800.0) for seed, label in enumerate(labels)]
    found = compared(before, after, "avg_ttft_ms")
    assert [label for label in labels if found[label, "avg_ttft_ms"].verdict in ("worse", "improved")] == ["b"]
    assert found["b", "avg_ttft_ms"].effect.value == pytest.approx(0.735, abs=0.15)
    for label in set(labels) - {"b"}:
        assert abs(found[label, "avg_ttft_ms"].shared) < 0.08


@pytest.mark.slow
def test_no_difference_is_called_one_in_fewer_than_one_of_twenty_comparisons() -> None:
    """100 pairs of runs of five identical vendors, two metrics: a false verdict anywhere in at most 5 (and noise)."""
    wrong = 0
    for seed in range(100):
        before = [trials(label, 1000 * seed + i, success=0.95) for i, label in enumerate("abcde")]
        after = [trials(label, 1000 * seed + 100 + i, success=0.95) for i, label in enumerate("abcde")]
        found = compared(before, after, "success_rate", "avg_ttft_ms")
        wrong += any(change.verdict in ("worse", "improved") for change in found.values())
    assert wrong <= 9


def test_f1_is_compared_against_each_run_s_own_baseline() -> None:
    """A vendor that stops calling on a third of the samples loses F1; the baseline itself has none to compare."""
    official, vendor = trials("a", 1), trials("b", 2)
    shy = Trials("b", ({name: "not_called" if i % 3 == 0 else vendor.runs[0][name] for i, name in enumerate(SAMPLES)},))
    found = compared([official, vendor], [official, shy], "f1")
    assert set(found) == {("b", "f1")}
    assert found["b", "f1"].before == 1.0
    assert found["b", "f1"].verdict == "worse"


def test_what_only_one_run_measured_is_not_compared() -> None:
    """No vendor, sample or metric is made up for the run that lacks it."""
    assert compared([trials("a", 1)], [trials("b", 1)], "success_rate") == {}
    assert compared([trials("a", 1)], [Trials("a")], "success_rate") == {}
    assert compared([trials("a", 1)], [trials("a", 1)], "tps") == {}


def test_figures_stand_over_the_samples_that_both_runs_measured() -> None:
    """What one run alone measured is in neither figure nor in n, so that figures and change agree."""
    units = {(f"s{number}", 0): (100.0, 1.0) for number in range(10)}
    slower = {(f"s{number}", 0): (200.0, 1.0) for number in range(5, 15)}
    names = [f"s{number}" for number in range(15)]

    def side(parts: dict[tuple[str, int], tuple[float, float]]) -> Side:
        valid = {unit: (float(unit[0] != "s5"), 1.0) for unit in parts}
        return Side([Trials("a", (), {"avg_tokens": parts, "schema_accuracy": valid})])

    first = side({**units, ("s0", 0): (9000.0, 1.0)})
    tokens, schema = compare_model("m", first, side(slower), names, metrics=["avg_tokens", "schema_accuracy"])
    assert (tokens.before, tokens.after, tokens.effect.n) == (100, 200, 5)
    assert tokens.effect.value == pytest.approx(1.0)
    assert (schema.before, schema.after, schema.effect.n) == (0.8, 0.8, 5)


def test_samples_are_common_when_the_same_suite_asked_them() -> None:
    """Order of the first run, each once, and never across suites."""
    before, after = {"trigger": ("x", "y", "z"), "toolbench": ("w",)}, {"trigger": ("z", "x", "w")}
    assert common_samples(before, after) == ["x", "z"]


def test_flips_name_the_sample_and_both_ends() -> None:
    """Success, schema and the decision to call, counted by direction."""
    before = Trials("a", ({"s": "called", "t": "called"},), {"success_rate": {("s", 0): (1.0, 1.0)}})
    after = Trials("a", ({"s": "not_called", "t": "called"},), {"success_rate": {("s", 0): (0.0, 1.0)}})
    flips = list(flips_of("m", before, after))
    assert {(flip.what, flip.sample, flip.before, flip.after) for flip in flips} == {
        ("success", "s", "succeeded", "failed"),
        ("called", "s", "called", "not_called"),
    }
    assert flip_counts(flips) == {
        "m / a / called: called → not_called": 1,
        "m / a / success: succeeded → failed": 1,
    }


def test_settings_that_differ_are_named_by_path_and_incidental_ones_are_not() -> None:
    """Entries join by label whatever their order; run ids and times are no change."""
    entry = {"model": "m", "label": "a", "parameters": {"temperature": 0.6}}
    other = {"model": "m", "label": "b"}
    before = {"run": "1", "created_at": "x", "entries": [entry, other], "tasks": [{"suite": "trigger", "count": 3}]}
    after = {
        "run": "2",
        "created_at": "y",
        "entries": [other, entry | {"parameters": {"temperature": 1.0}}],
        "tasks": [{"suite": "trigger", "count": 4}],
    }
    found = {change.where: (change.before, change.after) for change in setting_changes(before, after)}
    assert found == {"entries.m / a.parameters.temperature": ("0.6", "1.0"), "tasks.trigger.count": ("3", "4")}
    assert setting_changes(before, before | {"run": "3"}) == ()
    measured = {"pace": {"m: a": {"in_flight": 4.8}}, "resent": {"m: a": 1}}
    assert setting_changes(before, before | measured) == ()
