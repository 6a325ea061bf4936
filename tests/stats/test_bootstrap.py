"""The bootstrap reproduces the figures, pairs vendors, respects blocks, and is fast enough to be always on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from costs import assert_linear
from given_blocks import given_blocks
from worlds import METRICS, callers, equal_vendors, sample_ids

from vendor_verifier.scoring.trigger_f1 import trigger_counts
from vendor_verifier.stats.bootstrap import MOST_BLOCKS, bootstrap, choose_blocks, percentile_estimate
from vendor_verifier.stats.panel import Component, Panel, build_panel
from vendor_verifier.stats.ratio_table import Trials


def panel_of(**columns: tuple[list[float], list[float]]) -> Panel:
    """One metric ``m``, one vendor per column."""
    cells = {(label, "m"): (Component(np.array(top), np.array(low)),) for label, (top, low) in columns.items()}
    n = len(next(iter(columns.values()))[0])
    return Panel(tuple(sample_ids(n)), tuple(columns), ("m",), cells)


def test_f1_of_a_panel_is_the_scoreboards() -> None:
    """The mean over ordered pairs of runs, exactly as the published figure."""
    rng = np.random.default_rng(1)
    baseline, vendor = callers(rng, 120, (2, 2))
    panel = build_panel([baseline, vendor], sample_ids(120), baseline="v0", metrics=["f1"])
    counts = trigger_counts(sample_ids(120), baseline.runs, vendor.runs)
    assert panel.value("v1", "f1") == pytest.approx(counts.f1, abs=1e-12)
    once = trigger_counts(sample_ids(120), baseline.runs[:1], baseline.runs[1:])
    assert panel.value("v0", "f1") == pytest.approx(once.f1, abs=1e-12)


def test_the_baselines_own_f1_is_a_gift_or_a_measurement() -> None:
    """``fixed`` is 1.0, ``self`` compares different runs, and one run alone measures nothing."""
    [once] = callers(np.random.default_rng(2), 50, (1,))
    assert build_panel([once], sample_ids(50), baseline="v0", metrics=["f1"]).value("v0", "f1") is None
    fixed = build_panel([once], sample_ids(50), baseline="v0", metrics=["f1"], baseline_f1="fixed")
    assert fixed.value("v0", "f1") == 1.0


def test_a_failure_counts_as_a_miss_unless_excluded() -> None:
    """An undecided vendor lowers F1 under ``missed`` and leaves under ``exclude``."""
    base = Trials("b", ({"s0": "called", "s1": "called"},))
    vendor = Trials("v", ({"s0": "called", "s1": "undecided"},))
    values = [
        build_panel([base, vendor], sample_ids(2), baseline="b", metrics=["f1"], undecided=policy).value("v", "f1")
        for policy in ("missed", "exclude")
    ]
    assert values == [pytest.approx(2 / 3), 1.0]


def test_repetitions_of_a_sample_stay_together() -> None:
    """Two runs of a sample are one row, so resampling never splits them."""
    trials = Trials("v", (), {"avg_tokens": {("s0", 0): (10.0, 1.0), ("s0", 1): (30.0, 1.0), ("x", 0): (9.0, 1.0)}})
    part = build_panel([trials], ["s0", "s1"], metrics=["avg_tokens"]).cells["v", "avg_tokens"][0]
    assert part.numerators.tolist() == [40.0, 0.0]
    assert part.denominators.tolist() == [2.0, 0.0]


def test_labels_and_samples_are_unique() -> None:
    """A doubled name would pair rows with strangers."""
    with pytest.raises(ValueError, match="unique"):
        build_panel([Trials("a"), Trials("a")], ["s0"], metrics=["f1"])
    with pytest.raises(ValueError, match="unique"):
        build_panel([Trials("a")], ["s0", "s0"], metrics=["f1"])


def test_point_and_spread_agree_with_theory() -> None:
    """The point is the ratio of sums and the draws' deviation is the influence values' standard error."""
    panel = equal_vendors(np.random.default_rng(3), 2, 1000)
    resampled = bootstrap(panel, np.random.default_rng(4), blocks=given_blocks(range(1000)))
    for row, label in enumerate(panel.labels):
        for column, metric in enumerate(METRICS):
            influence = panel.influence(label, metric)
            assert influence is not None
            assert resampled.point[row, column] == pytest.approx(panel.value(label, metric), rel=1e-12)
            assert np.std(resampled.draws[:, row, column]) == pytest.approx(influence.std() / 1000**0.5, rel=0.08)


def test_the_same_weights_serve_all_vendors() -> None:
    """Two identical columns differ in no resample, and a constant surcharge stays constant."""
    rng = np.random.default_rng(5)
    tokens = rng.integers(100, 2000, 300).astype(float).tolist()
    ones = [1.0] * 300
    panel = panel_of(a=(tokens, ones), b=(tokens, ones), c=([each + 7 for each in tokens], ones))
    draws = bootstrap(panel, rng, resamples=200).draws[:, :, 0]
    assert (draws[:, 0] == draws[:, 1]).all()
    assert np.allclose(draws[:, 2] - draws[:, 0], 7.0, atol=1e-9)


def test_it_is_reproducible_and_seeded_by_the_caller() -> None:
    """The same generator state gives the same draws, another seed others."""
    panel = equal_vendors(np.random.default_rng(6), 2, 100)
    one, again, other = (bootstrap(panel, np.random.default_rng(seed), resamples=50).draws for seed in (7, 7, 8))
    assert (one == again).all()
    assert (one != other).any()


def test_a_metric_without_data_stays_unmeasured() -> None:
    """No cell gives NaN everywhere and an estimate without value; a resample without denominators is NaN, not 0."""
    cells = {("a", "m"): (Component(np.ones(20), np.ones(20)),), ("b", "m"): (Component(np.eye(20)[0], np.eye(20)[0]),)}
    panel = Panel(tuple(sample_ids(20)), ("a", "b", "c"), ("m",), cells)
    resampled = bootstrap(panel, np.random.default_rng(9), resamples=100)
    assert np.isnan(resampled.draws[:, 2, 0]).all()
    assert percentile_estimate(resampled, "c", "m", 0).value is None
    rare = resampled.draws[:, 1, 0]
    assert 0 < np.isnan(rare).sum() < 100
    assert np.nanmin(rare) == 1.0


def test_blocks_follow_the_measured_autocorrelation() -> None:
    """Independent samples get blocks of one; latency that comes in bursts of 20 gets blocks longer than a burst."""
    calm, ids = choose_blocks(equal_vendors(np.random.default_rng(10), 1, 3000))
    assert calm.size <= 3
    assert len(ids) == 3000
    bursty, ids = choose_blocks(equal_vendors(np.random.default_rng(10), 1, 3000, burst=20))
    assert 20 <= bursty.size <= 100
    assert bursty.count == ids[-1] + 1 >= 30
    assert (bursty.autocorrelation["v0/avg_ttft_ms"] or 0) > 0.2
    assert abs(bursty.autocorrelation["v0/success_rate"] or 0) < 0.1


def test_too_few_blocks_are_said_to_be_too_few() -> None:
    """200 samples in bursts of 20 cannot give 30 long blocks."""
    assert not choose_blocks(equal_vendors(np.random.default_rng(11), 1, 200, burst=20))[0].enough
    assert not given_blocks([0, 1, 1, 2])[0].enough
    assert given_blocks(range(30))[0].enough


def test_block_draws_take_whole_blocks() -> None:
    """With two blocks of opposite values only three means can occur."""
    panel = panel_of(a=([0.0] * 10 + [1.0] * 10, [1.0] * 20))
    drawn = bootstrap(panel, np.random.default_rng(13), resamples=100, blocks=given_blocks([0] * 10 + [1] * 10)).draws
    assert set(drawn[:, 0, 0].tolist()) == {0.0, 0.5, 1.0}


def test_blocks_must_cover_the_samples() -> None:
    """A wrong number of block names, or no sample at all, is refused."""
    panel = panel_of(a=([1.0, 2.0], [1.0, 1.0]))
    with pytest.raises(ValueError, match="a block for each"):
        bootstrap(panel, np.random.default_rng(0), blocks=given_blocks([0]))


def test_the_order_of_vendors_and_metrics_does_not_matter() -> None:
    """The same draws come out wherever a vendor stands in the panel."""
    panel = equal_vendors(np.random.default_rng(14), 3, 200)
    turned = Panel(panel.samples, panel.labels[::-1], panel.metrics[::-1], panel.cells)
    one, other = (bootstrap(each, np.random.default_rng(15), resamples=60).draws for each in (panel, turned))
    assert np.allclose(one, other[:, ::-1, ::-1], rtol=1e-12, atol=0)


@pytest.mark.slow
def test_resampling_takes_linear_time() -> None:
    """2,000 resamples of six metrics of ten vendors cost twice as much for twice as many samples, up to 4,000."""

    def work_of(samples: int) -> Callable[[], object]:
        panel = equal_vendors(np.random.default_rng(16), 10, samples)
        return partial(bootstrap, panel, np.random.default_rng(17), blocks=given_blocks(range(samples)))

    assert_linear(work_of, 1_000)


def test_a_long_run_is_resampled_in_bounded_blocks_and_its_interval_stays_right() -> None:
    """Past ``MOST_BLOCKS`` samples the cost of a resample no longer grows; the standard error is the analytic one."""
    n = 4 * MOST_BLOCKS - 3
    values = np.random.default_rng(11).normal(100.0, 20.0, n)
    panel = panel_of(v=(list(values), [1.0] * n))
    described, ids = choose_blocks(panel)
    assert (described.size, described.count, described.enough) == (4, MOST_BLOCKS, True)
    assert ids == sorted(ids)
    estimate = percentile_estimate(bootstrap(panel, np.random.default_rng(12)), "v", "m", n)
    assert estimate.low is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.96 * 20.0 / n**0.5, rel=0.08)
