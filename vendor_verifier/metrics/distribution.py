"""Summaries of measured numbers: mean and percentiles; it leaves ``None`` out and never counts it as zero."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from vendor_verifier.values.score import Distribution


def distribution(values: Iterable[float | None]) -> Distribution:
    """The summary of the numbers among ``values``; all fields but ``n`` are ``None`` when there are none."""
    measured = sorted(value for value in values if value is not None)
    if not measured:
        return Distribution(0)
    return Distribution(
        n=len(measured),
        mean=math.fsum(measured) / len(measured),
        p50=percentile(measured, 50),
        p90=percentile(measured, 90),
        p95=percentile(measured, 95),
        p99=percentile(measured, 99),
        min=measured[0],
        max=measured[-1],
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The ``percent``-th percentile (0–100) of ascending numbers, linear between closest ranks.

    Hyndman–Fan type 7 (The American Statistician 50(4), 1996), NumPy's default.

    Raises:
        ValueError: ``ordered`` is empty.
    """
    if not ordered:
        raise ValueError("no percentile of nothing")
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
