"""Figures of quality that surely fall under load while every level keeps its limit; it judges no limit.

A level alone has too few answers for a small fall. So, for every level that keeps its limit, its answers and those of
all higher ones that do are taken as one and compared with the unloaded ones, paired by question. Of the levels whose
pool lies below the unloaded figure with its whole interval the one is named that shows it best. There are as many
intervals as levels, so each has the confidence 1 − 5 % ÷ their number (Bonferroni): where nothing falls, one figure is
said to fall in 2.5 % of searches at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.features.capacity.level import LevelEvidence, Quality
from vendor_verifier.features.capacity.values import Fall, Point
from vendor_verifier.scoring.observation import Observation
from vendor_verifier.stats.intervals import LEVEL
from vendor_verifier.values.estimate import Estimate

if TYPE_CHECKING:
    import numpy as np

_FIGURES = ("f1", "schema_accuracy")


@dataclass(frozen=True, slots=True)
class Loaded:
    """One level with its rows."""

    point: Point
    rows: Sequence[Observation]


def falls(
    levels: Sequence[Loaded],
    reference: LevelEvidence,
    samples: Sequence[str],
    new_rng: Callable[[], np.random.Generator],
) -> Iterator[Fall]:
    """The falls over ``levels``, which rise; ``reference`` is the evidence without load."""
    for metric in _FIGURES:
        # A level that misses its limit says so itself, and must not make those below it look worse.
        kept = [one for one in levels if not _is_missed(one.point, metric)]
        share = (1 - LEVEL) / max(1, len(kept))
        pools = (
            (one.point.level, Quality.of(_pooled(kept[place:]), reference, (), samples, new_rng()))
            for place, one in enumerate(kept)
        )
        found = [
            (_depth(estimate), level, estimate.value, loaded)
            for level, quality in pools
            for estimate, loaded in [(quality.over_ceiling(metric, 1 - share), quality.value(metric))]
            if estimate.high is not None and estimate.high < 0
        ]
        if found:
            _, level, fell, loaded = max(found)
            assert fell is not None
            assert loaded is not None
            yield Fall(metric, level, loaded - fell, loaded)


def _depth(estimate: Estimate) -> float:
    """The distance of a difference below 0 in half widths of its interval."""
    assert estimate.value is not None
    assert estimate.high is not None
    return -estimate.value / max(estimate.high - estimate.value, 1e-12)


def _is_missed(point: Point, metric: str) -> bool:
    return any(limit.threshold.metric == metric for limit in point.missed)


def _pooled(levels: Sequence[Loaded]) -> LevelEvidence:
    """The evidence of several levels as one: their repetitions follow each other."""
    pooled = LevelEvidence()
    for one in levels:
        first = pooled.repetitions
        for row in one.rows:
            pooled.add("", msgspec.structs.replace(row, repetition=first + row.repetition))
    return pooled
