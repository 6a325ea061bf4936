"""Restricts the comparison of two vendors' times to rows that were sent while both were being asked.

Every vendor is asked at its own pace, so a fast one has finished while a slow one is still asked, perhaps at another
hour with another load. Figures that are not times are compared over all rows. A vendor is being asked from its first
sample sent to its last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.records.judgement import Overlap
from vendor_verifier.scoring.common_window import window
from vendor_verifier.stats.bootstrap import Resampled
from vendor_verifier.stats.panel import Component, Panel
from vendor_verifier.stats.ratio_table import TIMES, RatioColumn, Trials

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Pair = tuple[str, str]


class Side(msgspec.Struct, frozen=True):
    """One vendor's figure over the rows that overlap with another: resamples, value and number of blocks with rows."""

    draws: NDArray[np.float64]
    value: float
    blocks: int


class Overlaps(msgspec.Struct, frozen=True):
    """``reduced`` counts the rows left of every pair that lost some; ``panel`` holds the times of the rows left.

    The panel's labels are the values of ``rows``: a vendor and the one that it is compared with.
    """

    reduced: tuple[Overlap, ...] = ()
    panel: Panel | None = None
    rows: Mapping[Pair, str] = msgspec.field(default_factory=dict)

    def concerns(self, metric: str, label: str, rival: str) -> bool:
        """Whether this comparison rests on less than all rows of the vendor."""
        return metric in TIMES and (label, rival) in self.rows

    def side(self, resampled: Resampled, ids: Sequence[int], metric: str, pair: Pair) -> Side | None:
        """The figure of ``pair[0]`` beside ``pair[1]``, or None where no row is left; ``resampled`` is of ``panel``."""
        import numpy as np

        name = self.rows[pair]
        if self.panel is None or (name, metric) not in self.panel.cells:
            return None
        row, column = resampled.labels.index(name), resampled.metrics.index(metric)
        holding = np.any([part.denominators != 0 for part in self.panel.cells[name, metric]], axis=0)
        blocks = int(np.unique(np.asarray(ids)[holding]).size)
        return Side(resampled.draws[:, row, column], float(resampled.point[row, column]), blocks)


def overlaps_of(trials: Sequence[Trials], panel: Panel) -> Overlaps:
    """The overlapping part of the times in ``panel`` for every two vendors that have one.

    Empty where all rows overlap, or where the times of sending are unknown.
    """
    times = [metric for metric in panel.metrics if metric in TIMES]
    asked = {each.label: each.sent.numerators for each in trials if each.sent and _is_timed(panel, each.label, times)}
    cells: dict[tuple[str, str], tuple[Component, ...]] = {}
    rows: dict[Pair, str] = {}
    left: dict[Pair, tuple[int, int]] = {}
    for one, other in permutations([each for each in trials if each.label in asked], 2):
        within = window(asked[one.label], asked[other.label])
        pair = (one.label, other.label)
        moments = asked[one.label]
        left[pair] = int(((within[0] <= moments) & (moments <= within[1])).sum()), moments.size
        if left[pair][0] < left[pair][1]:
            rows[pair] = name = f"{one.label}\n{other.label}"
            for metric in times:
                part = _within(one, metric, panel, within)
                if part is not None:
                    cells[name, metric] = (part,)
    reduced = tuple(
        Overlap(first, second, *left[first, second], *left[second, first])
        for first, second in left
        if panel.labels.index(first) < panel.labels.index(second) and {(first, second), (second, first)} & rows.keys()
    )
    if not cells:
        return Overlaps(reduced, None, rows)
    windows = {name: panel.windows[pair[0]] for pair, name in rows.items() if pair[0] in panel.windows}
    return Overlaps(reduced, Panel(panel.samples, tuple(rows.values()), tuple(times), cells, windows), rows)


def common_times(one: Trials, other: Trials, panel: Panel, metric: str) -> Panel:
    """A panel of one of ``TIMES`` of two vendors over the rows that were sent while both were being asked."""
    import numpy as np

    within = (-np.inf, np.inf)
    if one.sent and other.sent:
        within = window(one.sent.numerators, other.sent.numerators)
    parts = {each.label: _within(each, metric, panel, within) for each in (one, other)}
    known = {label: part for label, part in parts.items() if part is not None}
    left = np.any([part.denominators != 0 for part in known.values()] or [[False] * len(panel.samples)], axis=0)
    cells = {
        (label, metric): (Component(part.numerators[left], part.denominators[left]),) for label, part in known.items()
    }
    samples = tuple(sample for sample, is_left in zip(panel.samples, left, strict=True) if is_left)
    windows = {label: panel.windows[label][left] for label in known if label in panel.windows}
    return Panel(samples, (one.label, other.label), (metric,), cells, windows)


def _is_timed(panel: Panel, label: str, times: Sequence[str]) -> bool:
    parts = [part for metric in times for part in panel.cells.get((label, metric), ())]
    return any((part.denominators != 0).any() for part in parts)


def _within(trials: Trials, metric: str, panel: Panel, within: tuple[float, float]) -> Component | None:
    """The metric over the units that were sent ``within`` a time; None when none of them measured it."""
    column = RatioColumn.of(trials.ratios.get(metric, {}))
    places = column.units.places_in({name: place for place, name in enumerate(panel.samples)})
    kept = places[column.at] >= 0
    # A unit whose time of sending is unknown is kept.
    if trials.sent is not None and trials.sent.units is column.units:
        moments = column.aligned(trials.sent)
        kept &= ~(moments < within[0]) & ~(moments > within[1])
    return Component(*column.sums(places, len(panel.samples), kept)) if kept.any() else None
