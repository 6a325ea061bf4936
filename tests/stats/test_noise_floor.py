"""The ceiling is what theory says, and a vendor is judged against it and not against 1."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import callers, decide, propensities, sample_ids

from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.noise_floor import bias_test, excess_test, gap, latency_spread, mcnemar, noise_floor
from vendor_verifier.stats.panel import Panel, build_panel
from vendor_verifier.stats.ratio_table import Trials


def panel_of(*trials: Trials, n: int) -> Panel:
    return build_panel(trials, sample_ids(n), baseline=trials[0].label, metrics=["f1", "schema_accuracy"])


def test_self_f1_is_what_the_propensities_say() -> None:
    """Self-F1 = E[p²] ÷ E[p] for samples that call with chance p; the interval holds it."""
    rng = np.random.default_rng(1)
    n = 20_000
    chances = propensities(rng, n, 0.3)
    baseline = Trials("b", (decide(rng, chances), decide(rng, chances)))
    panel = panel_of(baseline, n=n)
    floor = noise_floor(panel, bootstrap(panel, rng, resamples=50), baseline)
    truth = float((chances**2).mean() / chances.mean())
    assert floor.runs == 2
    assert floor.ceiling.value == pytest.approx(truth, abs=0.01)
    assert floor.ceiling.low is not None
    assert floor.ceiling.high is not None
    assert floor.ceiling.low < truth < floor.ceiling.high


def test_one_run_has_no_ceiling() -> None:
    """Without a second run nothing can be said about the floor, and no gap is made up."""
    baseline, vendor = callers(np.random.default_rng(2), 100, (1, 1))
    panel = panel_of(baseline, vendor, n=100)
    floor = noise_floor(panel, bootstrap(panel, np.random.default_rng(0), resamples=20), baseline)
    assert (floor.ceiling.value, floor.ttft_ratio.value) == (None, None)
    found = gap(panel, baseline, vendor)
    assert (found.delta.value, found.p_value, found.excess.n) == (None, None, 0)


def test_a_vendor_that_misses_calls_is_below_the_ceiling() -> None:
    """A tenth of the calls dropped gives a gap whose interval excludes 0, and the bias test names the direction."""
    rng = np.random.default_rng(3)
    chances = propensities(rng, 2000)
    baseline = Trials("b", (decide(rng, chances), decide(rng, chances)))
    shy = Trials("v", (decide(rng, chances * 0.9),))
    found = gap(panel_of(baseline, shy, n=2000), baseline, shy)
    assert found.delta.high is not None
    assert found.delta.high < 0
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert found.bias.second > found.bias.first
    assert found.bias.p_mid < 0.001


def test_noise_both_ways_shows_in_excess_not_in_bias() -> None:
    """A vendor that flips a coin on 5 % of the samples has no leaning, but disagrees too much."""
    rng = np.random.default_rng(4)
    chances = propensities(rng, 4000)
    baseline = Trials("b", (decide(rng, chances), decide(rng, chances)))
    noisy = Trials("v", (decide(rng, np.where(rng.random(4000) < 0.05, 0.5, chances)),))
    found = gap(panel_of(baseline, noisy, n=4000), baseline, noisy)
    assert found.bias.p_mid > 0.05
    assert found.excess.p_exact < 0.01
    assert found.excess.first > found.excess.second / 2


def test_perfect_agreement_still_has_an_interval() -> None:
    """Ten samples without a disagreement do not prove that there is none."""
    run = dict.fromkeys(sample_ids(10), "called")
    baseline, vendor = Trials("b", (run, run)), Trials("v", (run,))  # type: ignore[arg-type]
    delta = gap(panel_of(baseline, vendor, n=10), baseline, vendor).delta
    assert delta.value == 0
    assert delta.low is not None
    assert delta.low < -0.1


def test_a_vendor_that_never_agrees_is_far_below_the_ceiling() -> None:
    """All failed against a baseline that never wavers: nothing varies, and still the gap is −1 and not nothing."""
    run = dict.fromkeys(sample_ids(40), "called")
    baseline, vendor = Trials("b", (run, run)), Trials("v", (dict.fromkeys(run, "undecided"),))  # type: ignore[arg-type]
    found = gap(panel_of(baseline, vendor, n=40), baseline, vendor)
    assert (found.delta.value, found.delta.low, found.p_value) == (-1.0, -1.0, None)
    assert found.delta.high is not None
    assert found.delta.high < -0.8


def test_clustered_errors_are_wider_where_clusters_agree() -> None:
    """Samples repeated four times over say less than four times as many samples."""
    rng = np.random.default_rng(5)
    baseline, vendor = callers(rng, 250, (2, 1), 0.3)
    repeated = [
        Trials(each.label, tuple({f"s{i}": run[f"s{i // 4}"] for i in range(1000)} for run in each.runs))
        for each in (baseline, vendor)
    ]
    panel = panel_of(*repeated, n=1000)
    plain = gap(panel, *repeated).delta
    clustered = gap(panel, *repeated, blocks=[i // 4 for i in range(1000)]).delta
    assert plain.low is not None
    assert plain.value is not None
    assert clustered.low is not None
    assert clustered.value is not None
    assert clustered.value - clustered.low == pytest.approx(2 * (plain.value - plain.low), rel=0.02)


@pytest.mark.parametrize(
    ("first", "second", "exact", "mid"),
    [(1, 0, 1.0, 0.5), (1, 4, 0.375, 0.21875), (0, 5, 0.0625, 0.03125), (6, 0, 0.03125, 0.015625), (0, 0, 1.0, 1.0)],
)
def test_mcnemar_has_known_p_values(first: int, second: int, exact: float, mid: float) -> None:
    """1 failure against 4 is nothing, and 0 against 5 is not quite enough for the exact test."""
    found = mcnemar(first, second)
    assert (found.p_exact, found.p_mid) == (pytest.approx(exact), pytest.approx(mid))


def test_mid_p_of_an_even_split() -> None:
    """Equal counts give 1 − ½·P, never 1 − P."""
    assert mcnemar(3, 3).p_mid == pytest.approx(1 - 20 / 64 / 2)


def test_the_tests_count_only_what_was_decided() -> None:
    """A failure is neither a leaning nor a disagreement."""
    one = {"a": "called", "b": "called", "c": "not_called", "d": "called"}
    two = {"a": "called", "b": "not_called", "c": "not_called", "d": "undecided"}
    got = {"a": "undecided", "b": "called", "c": "called", "d": "not_called", "e": "called"}
    bias = bias_test(one, got)  # type: ignore[arg-type]
    excess = excess_test(one, two, got)  # type: ignore[arg-type]
    assert (bias.first, bias.second) == (1, 1)
    assert (excess.first, excess.second) == (1, 1)


@pytest.mark.parametrize(
    ("odd", "wavering", "exact", "mid"),
    [(0, 0, 1.0, 1.0), (0, 3, 1.0, 1 - 4 / 27), (1, 0, 1 / 3, 1 / 6), (4, 0, 1 / 81, 1 / 162), (2, 1, 7 / 27, 4 / 27)],
)
def test_the_odd_one_out_of_three_has_known_p_values(odd: int, wavering: int, exact: float, mid: float) -> None:
    """A vendor that is the odd one in four of four samples is so by chance once in 81."""
    n = odd + wavering
    one = dict.fromkeys(sample_ids(n), "called")
    two = {name: "called" if i < odd else "not_called" for i, name in enumerate(one)}
    got = {name: "not_called" if i < odd or i % 2 else "called" for i, name in enumerate(one)}
    found = excess_test(one, two, got)  # type: ignore[arg-type]
    assert (found.first, found.second) == (odd, wavering)
    assert (found.p_exact, found.p_mid) == (pytest.approx(exact), pytest.approx(mid))


def test_latency_spread_is_a_geometric_ratio() -> None:
    """A second run that doubles half the latencies and keeps the rest is √2 slower."""
    column = {(f"s{i}", run): (100.0 * (2 if run and i % 2 else 1), 1.0) for i in range(40) for run in (0, 1)}
    spread = latency_spread(Trials("b", (), {"avg_ttft_ms": column}))
    assert spread.value == pytest.approx(2**0.5)
    assert spread.n == 40
    assert (spread.low or 0) < 2**0.5 < (spread.high or 0)
