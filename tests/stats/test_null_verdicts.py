"""Honest twins in seeded runs: never not as sold, hardly ever doubtful.

Seeds are fixed, so a failure is a change of the code and never bad luck.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from null_worlds import Twin, advice, model
from scipy.stats import binom

pytestmark = pytest.mark.slow

# By the number of twins in each: some hundred twins of every kind.
RUNS = {1: 100, 3: 100, 9: 34}


@pytest.mark.parametrize("vendors", [1, 3, 9])
@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("suite", ["trigger", "toolbench"])
def test_an_honest_twin_is_hardly_ever_accused(suite: str, n: int, vendors: int) -> None:
    """Of all twins none is not as sold or unusable; of doubtful ones, and of runs in which one leads, there
    are no more than a rate of 2 % shows in 99 of 100 such tests. The rate over a thousand runs stands on the page, by
    benchmarks/honest_vendors.py."""
    found: Counter[str] = Counter()
    led = 0
    for seed in range(RUNS[vendors]):
        rng = np.random.default_rng([seed, n, vendors])
        told = advice(rng, model(rng, suite, n), [Twin(f"v{number}") for number in range(vendors)])
        found.update(each.status for each in told.vendors.values() if not each.is_reference)
        led += told.choice.kind == "take"
    assert found.total() == RUNS[vendors] * vendors
    assert not found["not_as_sold"] + found["unusable"]
    assert found["doubtful"] <= binom.ppf(0.99, found.total(), 0.02)
    assert led <= binom.ppf(0.99, RUNS[vendors], 0.02)


def test_a_worse_vendor_among_twins_is_told_apart() -> None:
    """So that the rates above cannot hold because nothing is ever found: a loss of a quarter of the calls, or of the
    solved samples, is doubtful or worse in 9 of 10 runs, and never the one to take."""
    seen = 0
    for seed in range(20):
        for suite, worse in (("trigger", Twin("worse", loses=0.25)), ("toolbench", Twin("worse", fails_more=0.25))):
            rng = np.random.default_rng([seed, 7])
            told = advice(rng, model(rng, suite, 300, undecided=0.1), [worse, Twin("one"), Twin("two")])
            seen += told.vendors["worse"].status in ("doubtful", "not_as_sold")
            assert told.choice.labels != ("worse",)
    assert seen >= 0.9 * 40
