"""Where nothing is wrong, the stated error rates hold: every verdict here would be a false one.

Seeds are fixed, so a failure is a change of the code and never bad luck.
"""

from __future__ import annotations

import numpy as np
import pytest
from given_blocks import given_blocks
from record_worlds import Persona, columns, taken, world
from worlds import callers, equal_vendors, sample_ids

from vendor_verifier.audit.behaviour import conduct
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.intervals import f1_interval, percentile_interval
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.noise_floor import gap
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.rank_uncertainty import simultaneous_differences

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("n", [300, 2000])
def test_wilson_on_jaccard_covers_95_percent(n: int) -> None:
    """Of 20,000 confusion matrices, 94 … 96 % have an interval that holds the true F1 (0.955 at prevalence ½)."""
    rng = np.random.default_rng(n)
    shares = np.array([0.4775, 0.0225, 0.0225, 0.4775])
    truth = 2 * shares[0] / (2 * shares[0] + shares[1] + shares[2])
    held = 0
    for tp, fp, fn, _ in rng.multinomial(n, shares, 20_000).tolist():
        estimate = f1_interval(tp, fp, fn)
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= truth <= estimate.high
    assert 0.94 <= held / 20_000 <= 0.96


def test_the_gap_test_is_wrong_in_5_percent() -> None:
    """The same model as the baseline is significantly off the ceiling in 4 … 6 % of 2,000 comparisons."""
    rng = np.random.default_rng(1)
    wrong = covered = 0
    for _ in range(2000):
        baseline, vendor = callers(rng, 500, (2, 1), 0.2)
        found = gap(build_panel([baseline, vendor], sample_ids(500), baseline="v0", metrics=["f1"]), baseline, vendor)
        assert found.p_value is not None
        assert found.delta.low is not None
        assert found.delta.high is not None
        wrong += found.p_value < 0.05
        covered += found.delta.low <= 0 <= found.delta.high
    assert 0.04 <= wrong / 2000 <= 0.06
    assert 0.94 <= covered / 2000 <= 0.96


def test_the_odd_one_out_is_the_vendor_by_chance_in_at_most_5_percent() -> None:
    """The exact test on the disagreements of the same model: 3 … 5.6 % of 1,000 runs at 5 %."""
    rng = np.random.default_rng(2027)
    p_values = []
    for _ in range(1000):
        baseline, vendor = callers(rng, 300, (2, 1), 0.2)
        panel = build_panel([baseline, vendor], sample_ids(300), baseline="v0", metrics=["f1"])
        p_values.append(gap(panel, baseline, vendor).excess.p_exact)
    assert 0.03 <= np.mean(np.array(p_values) < 0.05) <= 0.056


@pytest.mark.parametrize(("vendors", "n"), [(5, 200), (10, 150)])
def test_rank_intervals_claim_falsely_in_at_most_8_percent(vendors: int, n: int) -> None:
    """Of 200 runs with equal vendors, any difference at all, on any of six metrics, is claimed in 8 % at most."""
    rng = np.random.default_rng(vendors)
    blocks = given_blocks(range(n))
    wrong = 0
    for _ in range(200):
        resampled = bootstrap(equal_vendors(rng, vendors, n), rng, resamples=500, blocks=blocks)
        wrong += any(each.differs for each in simultaneous_differences(resampled).joint)
    assert wrong / 200 <= 0.08


def test_bursts_are_not_taken_for_differences() -> None:
    """Latency in bursts of 15: dependence widens what single samples are too sure of as well as what blocks are."""
    rng = np.random.default_rng(3)
    single = blocked = 0
    for _ in range(60):
        panel = equal_vendors(rng, 4, 3000, burst=15)
        for blocks in (given_blocks(range(3000)), None):
            resampled = bootstrap(panel, rng, resamples=400, blocks=blocks)
            wrong = any(each.differs for each in simultaneous_differences(resampled).joint)
            single += wrong and blocks is not None
            blocked += wrong and blocks is None
    assert blocked <= 0.12 * 60
    assert single <= 0.12 * 60


def test_order_statistics_cover_a_high_percentile() -> None:
    """p95 of 200 log-normal latencies is held in at least 94 % of 4,000 samples."""
    rng = np.random.default_rng(4)
    truth = float(np.exp(1.6448536269514722))
    held = 0
    for values in rng.lognormal(0, 1, (4000, 200)).tolist():
        estimate = percentile_interval(values, 95)
        held += (estimate.low or 0.0) <= truth and (estimate.high is None or truth <= estimate.high)
    assert held / 4000 >= 0.94


def test_a_faithful_twin_is_not_distinguishable() -> None:
    """In 90 of 100 runs simulated record by record at least, and in 95 nothing is found of it.

    A vendor that misses two fifths of its calls and breaks two fifths is told apart in every one, named in 80.
    """
    same = shy = clear = named = 0
    personas = (Persona("base", runs=2), Persona("twin"), Persona("shy", misses=0.4, broken=0.4))
    for seed in range(100):
        rng = np.random.default_rng(seed)
        played = world(rng, 120)
        rows = columns(rng, played, personas)
        tried = taken(played, personas, rows)
        judged = judge_ranking(tried, sample_ids(120), rng, baseline="base", resamples=800)
        same += ("base", "twin") in judged.not_distinguishable
        shy += ("base", "shy") in judged.not_distinguishable
        panel = build_panel(tried, sample_ids(120), baseline="base", metrics=["f1"])
        gaps = [gap(panel, tried[0], each) for each in tried[1:]]
        found = list(conduct(rows, "base", judged, gaps))
        clear += "twin" not in {each.label for each in found}
        named += {"calls_unlike_baseline", "calls_invalid"} <= {each.name for each in found if each.label == "shy"}
    assert same >= 90
    assert clear >= 95
    assert shy == 0
    assert named >= 80
