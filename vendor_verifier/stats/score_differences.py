"""Differences between vendors in the main score of an evaluation, paired by samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec import structs

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import ScoreDifference
from vendor_verifier.stats.bootstrap import Resampled
from vendor_verifier.stats.intervals import LEVEL, estimate_of, separate
from vendor_verifier.stats.panel import Panel

# Below this the spread of so few samples says little of the spread of the difference.
LEAST_SAMPLES = 10


def score_differences(panel: Panel, resampled: Resampled, scores: Sequence[str]) -> Iterator[ScoreDifference]:
    """The difference of every pair of vendors in each of the metrics ``scores`` that both were measured on."""
    for metric in scores:
        labels = [label for label in panel.labels if (label, metric) in panel.cells]
        for first, second in combinations(labels, 2):
            delta, p_value = _difference(panel, resampled, metric, (first, second))
            if delta.value is not None:
                yield ScoreDifference(metric, first, second, delta, p_value)


def standard_error(difference: ScoreDifference) -> float:
    """The standard error behind a paired difference's interval, 0 where no sample moves it."""
    from vendor_verifier.special_functions import stdtrit

    delta = difference.delta
    if difference.p_value is None or delta.low is None or delta.high is None:
        return 0.0
    return (delta.high - delta.low) / 2 / float(stdtrit(delta.n - 1, (1 + LEVEL) / 2))


def _difference(
    panel: Panel, resampled: Resampled, metric: str, pair: tuple[str, str]
) -> tuple[Estimate, float | None]:
    """first − second with its interval, and the p-value of a paired t-test on the influence of each sample.

    Where no sample moves the difference the interval is that of two separate figures, and there is no p-value.
    """
    import numpy as np

    from vendor_verifier.special_functions import stdtr, stdtrit

    own, other = (panel.value(label, metric) for label in pair)
    ours, theirs = (panel.influence(label, metric) for label in pair)
    if own is None or other is None or ours is None or theirs is None:
        return Estimate(None), None
    asked = [sum(part.denominators for part in panel.cells[label, metric]) != 0 for label in pair]
    units = int(np.count_nonzero(asked[0] & asked[1]))
    if units < LEAST_SAMPLES:
        return Estimate(own - other, n=units, method="too few samples"), None
    error = float(np.std(ours - theirs, ddof=1)) / math.sqrt(len(panel.samples))
    if error <= 1e-12:
        apart = separate(*(estimate_of(panel, resampled, label, metric) for label in pair))
        return structs.replace(apart, n=units), None
    half = float(stdtrit(units - 1, (1 + LEVEL) / 2)) * error
    delta = own - other
    found = Estimate(delta, delta - half, delta + half, units, "paired t", LEVEL)
    return found, 2 * float(stdtr(units - 1, -abs(delta) / error))
