"""Inverse rank fusion: one score from several metrics' ranks, whatever the distances between the values.

Per metric rank 1 = best; vendors with exactly equal values share the average of their ranks; a vendor without a value
is not ranked on it. IRF = Σ over the vendor's metrics of 1 ÷ (rank + k), k = 5: with six metrics it lies in (0, 1] and
is 1 only for a vendor that is first everywhere. This is the "fusion score" of agent-vendor-verifier's page, a kin of
reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009).

Two vendors may be compared on a metric by other values than their own ones: times, over what was sent while both were
being asked. A rank is then 1 + the number of rivals that are better + half of those that are equal, pair by pair,
which is the same where all pairs are compared by the vendors' own values.

Limits: 0.9995 against 1.0 costs as much as 0.5 against 1.0; the score depends on who else takes part; a vendor that
lacks a metric sums fewer terms, so show how many it had.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from vendor_verifier.metrics import DIRECTIONS, RANKED, Direction

K = 5
RANK_METRICS: tuple[str, ...] = tuple(RANKED)

Name = TypeVar("Name", bound=Hashable)
Beside = Mapping[tuple[Name, Name], Mapping[str, tuple[float, float]]]
"""Pair of vendors → metric → the values that the two are compared by in place of their own ones."""


def irf(
    metrics: Mapping[Name, Mapping[str, float | None]],
    k: int = K,
    directions: Mapping[str, Direction] | None = None,
    beside: Beside[Name] | None = None,
) -> dict[Name, float]:
    """IRF of every vendor from vendor → metric → value.

    ``None``, NaN and absent values are not ranked; a vendor with no value at all scores 0.0. Metrics without a
    direction here or in ``DIRECTIONS`` are taken as higher-is-better.
    """
    return {
        vendor: math.fsum(1.0 / (rank + k) for rank in by_metric.values())
        for vendor, by_metric in ranks(metrics, directions, beside).items()
    }


def ranks(
    metrics: Mapping[Name, Mapping[str, float | None]],
    directions: Mapping[str, Direction] | None = None,
    beside: Beside[Name] | None = None,
) -> dict[Name, dict[str, float]]:
    """Vendor → metric → rank (1 = best, ties averaged), for the metrics the vendor was measured on.

    Pairs in ``beside`` are compared by what stands there.
    """
    known: dict[str, Direction] = {**DIRECTIONS, **(directions or {})}
    ranked: dict[Name, dict[str, float]] = {vendor: {} for vendor in metrics}
    for metric in dict.fromkeys(name for values in metrics.values() for name in values):
        measured = dict(_measured(metrics, metric))
        direction = known.get(metric, "higher")
        rank_of = average_ranks(list(measured.values()), direction)
        for vendor, value in measured.items():
            ranked[vendor][metric] = rank_of[value]
        for (one, other), values in (beside or {}).items():
            if metric in values and one in measured and other in measured:
                upwards = direction == "higher"
                shift = _behind(*values[metric], upwards) - _behind(measured[one], measured[other], upwards)
                ranked[one][metric] += shift
                ranked[other][metric] -= shift
    return ranked


def _behind(one: float, other: float, upwards: bool) -> float:
    """1 where ``other`` is better than ``one``, half for equals, 0 where it is worse."""
    return 0.5 if one == other else float((other > one) == upwards)


def average_ranks(values: Sequence[float], direction: Direction) -> dict[float, float]:
    """Value → rank; n equal values take n consecutive ranks and share their mean."""
    tally = Counter(values)
    found: dict[float, float] = {}
    before = 0
    for value in sorted(tally, reverse=direction == "higher"):
        found[value] = before + (tally[value] + 1) / 2
        before += tally[value]
    return found


def _measured(metrics: Mapping[Name, Mapping[str, float | None]], metric: str) -> Iterator[tuple[Name, float]]:
    for vendor, values in metrics.items():
        value = values.get(metric)
        if value is not None and not math.isnan(value):
            yield vendor, value
