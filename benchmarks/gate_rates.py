"""How often gates pass and fail falsely: `python benchmarks/gate_rates.py` prints the table of docs/verdict.md.

A vendor's failures, or slow requests, come in outages of one length at random moments; its rate over the long run is
exactly what the gate allows, so that either outcome is false. All runs count, those without an outage too.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from vendor_verifier.stats.intervals import stretch_interval

RUNS = 2_000
# Limit, requests a run, share allowed, requests an outage.
CASES = (
    ("success 0.99", 800, 0.01, 20),
    ("success 0.95, p95", 300, 0.05, 20),
    ("success 0.95, p95", 3_000, 0.05, 20),
    ("success 0.95, p95", 3_000, 0.05, 60),
)


def requests(rng: np.random.Generator, n: int, share: float, length: int) -> pd.Series[Any]:
    """Which of ``n`` requests fall into an outage; the pauses between outages have a geometric length."""
    bad = np.zeros(n + 20 * length, dtype=bool)
    place = 0
    while place < bad.size:
        place += int(rng.geometric(share / (length * (1 - share)))) - 1
        bad[place : place + length] = True
        place += length + 1
    return pd.Series(bad[-n:])


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print("| limit | requests | outage | passes | fails |\n|---|--:|--:|--:|--:|")
    for gate, n, share, length in CASES:
        rng = np.random.default_rng(n)
        found = [stretch_interval(requests(rng, n, share, length)) for _ in range(runs)]
        passed, failed = (
            sum((each.high or 0) <= share for each in found),
            sum((each.low or 0) > share for each in found),
        )
        shown = [f"{100 * hits / runs:.1f} ({interval(hits, runs)})" for hits in (passed, failed)]
        print(f"| {gate} | {n:,} | {length} | {' | '.join(shown)} |")


def interval(hits: int, runs: int) -> str:
    """The 95 % interval of a rate in per cent (Clopper, Pearson 1934)."""
    ends = stats.binomtest(hits, runs).proportion_ci()
    return f"{100 * ends.low:.1f}–{100 * ends.high:.1f}"


if __name__ == "__main__":
    main()
