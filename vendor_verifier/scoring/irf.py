"""Inverse rank fusion: one score from several metrics' ranks, whatever the distances between the values.

Per metric rank 1 = best; vendors with exactly equal values share the average of their ranks; a vendor without a value
is not ranked on it. IRF = Σ over the vendor's metrics of 1 ÷ (rank + k), k = 5: with six metrics it lies in (0, 1] and
is 1 only for a vendor that is first everywhere. This is the "fusion score" of agent-vendor-verifier's page, a kin of
reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009).

Limits: 0.9995 against 1.0 costs as much as 0.5 against 1.0; the score depends on who else takes part; a vendor that
lacks a metric sums fewer terms. IRF orders, it does not measure.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

from vendor_verifier.scoring.metrics import RANK_METRICS as RANK_METRICS
from vendor_verifier.scoring.metrics import Direction, is_higher_better

K = 5
Name = TypeVar("Name", bound=Hashable)


def irf(
    metrics: Mapping[Name, Mapping[str, float | None]],
    k: int = K,
    directions: Mapping[str, Direction] | None = None,
) -> dict[Name, float]:
    """IRF of every vendor from vendor → metric → value.

    ``None``, NaN and absent values are not ranked; a vendor without any value scores 0.0. Metrics without a direction
    here or in ``METRICS`` are taken as higher-is-better.
    """
    return {
        vendor: math.fsum(1.0 / (rank + k) for rank in by_metric.values())
        for vendor, by_metric in ranks(metrics, directions).items()
    }


def ranks(
    metrics: Mapping[Name, Mapping[str, float | None]], directions: Mapping[str, Direction] | None = None
) -> dict[Name, dict[str, float]]:
    """Vendor → metric → rank (1 = best, ties averaged), for the metrics that the vendor was measured on."""
    ranked: dict[Name, dict[str, float]] = {vendor: {} for vendor in metrics}
    for metric in dict.fromkeys(name for values in metrics.values() for name in values):
        direction = (directions or {}).get(metric)
        higher = is_higher_better(metric) if direction is None else direction == "higher"
        known = {vendor: values.get(metric) for vendor, values in metrics.items()}
        measured = {vendor: value for vendor, value in known.items() if value is not None and not math.isnan(value)}
        for vendor, value in measured.items():
            better = sum(other > value if higher else other < value for other in measured.values())
            equal = sum(other == value for other in measured.values())
            ranked[vendor][metric] = better + (equal + 1) / 2
    return ranked
