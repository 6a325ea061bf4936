"""Two runs of a vendor whose times drift are not told apart by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from vendor_verifier.features.history.run_diff import Side, compare_model
from vendor_verifier.scoring.row_keys import Units
from vendor_verifier.stats.ratio_table import RatioColumn, Trials

N = 1600


def run(rng: np.random.Generator, drift: float, slower: float = 1.0) -> Side:
    """One run of one vendor with a drift of 40 requests, its samples sent in an order of its own."""
    units = Units.of((f"s{place}", 0) for place in range(N))
    keeps = np.exp(-1 / 40)
    waves: NDArray[np.float64] = lfilter([1.0], [1.0, -keeps], rng.normal(size=N) * np.sqrt(1 - keeps**2))
    at = rng.permutation(N)
    values = slower * 400 * np.exp(drift * waves[at] + rng.normal(0, 0.35, N))
    column = RatioColumn(units, range(N), values)
    sent = RatioColumn(units, range(N), at.astype(np.float64))
    return Side((Trials("v", (), {"avg_ttft_ms": column}, sent),))


def shares(drift: float, slower: float = 1.0) -> float:
    """The share of 40 pairs of runs whose interval leaves out no change."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sides = run(rng, drift), run(rng, drift, slower)
        samples = [f"s{place}" for place in range(N)]
        (change,) = compare_model("m", *sides, samples, metrics=["avg_ttft_ms"])
        interval = change.effect
        assert interval.low is not None
        assert interval.high is not None
        found += interval.low > 0 or interval.high < 0
    return found / 40


def test_a_drift_is_no_change() -> None:
    """Of 40 pairs of equal runs with a drift at most four differ, as without one; a quarter slower is seen."""
    assert shares(0.12) <= 0.1
    assert shares(0.0) <= 0.15
    assert shares(0.12, 1.25) >= 0.8
