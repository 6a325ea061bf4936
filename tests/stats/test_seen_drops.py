"""What a verdict says a run would see is what it sees: drops of the stated size are found in about 8 of 10 runs.

Seeds are fixed, so a failure is a change of the code and never bad luck.
"""

from __future__ import annotations

import numpy as np
import pytest
from given_blocks import given_blocks
from numpy.typing import NDArray
from worlds import decide, propensities, sample_ids

from vendor_verifier.audit.verdict_table import DOUBTFUL_LEVEL
from vendor_verifier.audit.verdicts import LARGEST_UNSEEN_LOSS
from vendor_verifier.records.judgement import Gap, ScoreDifference
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.noise_floor import gap
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import Trials
from vendor_verifier.stats.sample_size import score_seen_drop
from vendor_verifier.stats.score_differences import score_differences, standard_error
from vendor_verifier.stats.trigger_power import TriggerDesign, f1_samples, f1_seen_drop

RUNS = 200


def chances(rng: np.random.Generator, n: int, undecided: float, share: float = 0.5) -> NDArray[np.float64]:
    """The chance of a call, or of a right answer, on every sample; without undecided ones it is 0 or 1."""
    if undecided:
        return propensities(rng, n, undecided)
    return (rng.random(n) < share).astype(float)


def expected_f1(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """F1 of two vendors with these chances, over many runs."""
    return float(2 * (one * other).sum() / (one.sum() + other.sum()))


def missing(calls: NDArray[np.float64], drop: float) -> NDArray[np.float64]:
    """The chances of a vendor that misses as many calls as lower its F1 by ``drop``."""
    low, high = 0.0, 1.0
    for _ in range(40):
        share = (low + high) / 2
        lower = expected_f1(calls, calls) - expected_f1(calls, calls * (1 - share))
        low, high = (share, high) if lower < drop else (low, share)
    return calls * (1 - low)


def gap_of(rng: np.random.Generator, baseline: Trials, calls: NDArray[np.float64]) -> Gap:
    """One vendor with these chances against the baseline."""
    vendor = Trials("v", (decide(rng, calls),))
    return gap(build_panel([baseline, vendor], sample_ids(calls.size), baseline="b", metrics=["f1"]), baseline, vendor)


@pytest.mark.slow
@pytest.mark.parametrize("vendors", [1, 9])
@pytest.mark.parametrize(("n", "undecided"), [(60, 0.0), (120, 0.0), (120, 0.1), (300, 0.1), (300, 0.3), (1000, 0.1)])
def test_a_drop_of_f1_of_the_stated_size_is_seen_in_8_of_10_runs(n: int, undecided: float, vendors: int) -> None:
    """A vendor that misses calls is doubtful or worse in 75 … 95 % of the runs that promise to see such a drop."""
    level = DOUBTFUL_LEVEL / vendors
    seen: list[bool] = []
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, n, vendors, 2026])
        calls = chances(rng, n, undecided)
        baseline = Trials("b", (decide(rng, calls), decide(rng, calls)))
        first, second = (np.array([each == "called" for each in run.values()]) for run in baseline.runs)
        ceiling = 2 * (first & second).sum() / (first.sum() + second.sum())
        drop = f1_seen_drop(n, TriggerDesign(float(ceiling), float(first.mean()), level))
        if drop <= LARGEST_UNSEEN_LOSS:
            found = gap_of(rng, baseline, missing(calls, drop))
            seen.append((found.delta.value or 0.0) < 0 and found.proof <= level)
    assert len(seen) >= RUNS / 4
    assert 0.75 <= np.mean(seen) <= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("vendors", [1, 3, 9])
@pytest.mark.parametrize("drop", [0.05, 0.1])
def test_the_samples_that_a_plan_asks_for_show_the_wanted_drop_in_8_of_10_runs(drop: float, vendors: int) -> None:
    """With the ceiling and the share of calls that it assumes, in 72 … 88 % of 200 runs (three standard errors)."""
    level = DOUBTFUL_LEVEL / vendors
    needed = f1_samples(drop, TriggerDesign(0.95, 0.5, level))
    assert needed is not None
    seen = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, vendors, round(100 * drop), 2026])
        # So many undecided samples make a self-F1 of 0.95.
        calls = propensities(rng, needed, 0.125)
        baseline = Trials("b", (decide(rng, calls), decide(rng, calls)))
        found = gap_of(rng, baseline, missing(calls, drop))
        seen += (found.delta.value or 0.0) < 0 and found.proof <= level
    assert 0.72 <= seen / RUNS <= 0.88


def difference(rng: np.random.Generator, solves: NDArray[np.float64], own: NDArray[np.float64]) -> ScoreDifference:
    """The baseline's score minus that of a vendor with the chances ``own``."""
    n = solves.size

    def trials(label: str, right: NDArray[np.bool_]) -> Trials:
        return Trials(label, ratios={"toolbench": {(f"s{i}", 0): (float(each), 1.0) for i, each in enumerate(right)}})

    both = [trials("b", rng.random(n) < solves), trials("v", rng.random(n) < own)]
    panel = build_panel(both, sample_ids(n), baseline="b", metrics=["toolbench"])
    resampled = bootstrap(panel, rng, resamples=20, blocks=given_blocks(range(n)))
    [found] = score_differences(panel, resampled, ["toolbench"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("vendors", [1, 9])
@pytest.mark.parametrize(("n", "undecided"), [(60, 0.0), (120, 0.1), (300, 0.1), (300, 0.3)])
def test_a_drop_of_a_score_of_the_stated_size_is_seen_in_8_of_10_runs(n: int, undecided: float, vendors: int) -> None:
    """A vendor that fails more samples of an evaluation is doubtful or worse in 75 … 95 % of the runs that promise to
    see such a drop."""
    level = DOUBTFUL_LEVEL / vendors
    seen: list[bool] = []
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, n, vendors])
        solves = chances(rng, n, undecided, share=0.85)
        honest = difference(rng, solves, solves)
        drop = score_seen_drop(n, error=standard_error(honest), level=level)
        if drop <= LARGEST_UNSEEN_LOSS:
            found = difference(rng, solves, solves * (1 - drop / solves.mean()))
            seen.append((found.delta.value or 0.0) > 0 and found.p_value is not None and found.p_value <= level)
    assert len(seen) >= RUNS / 4
    assert 0.75 <= np.mean(seen) <= 0.95


def test_noise_makes_a_score_blinder() -> None:
    """With the standard error of the difference the drop that is seen grows."""
    drops = [score_seen_drop(100, error=error, level=0.02) for error in (0.0, 0.02, 0.05)]
    assert drops == sorted(drops)
    assert drops[0] == pytest.approx(0.079, abs=0.001)
