"""Times of two vendors over what was sent while both were being asked, which is what ranks compare them by.

A vendor is being asked from its first row sent to its last, or due where times that rank count from then. One that
goes on alone, at another load of the machine or another hour, is neither better nor worse for that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from vendor_verifier.metrics import RANKED, Metric
from vendor_verifier.scoring.irf import Beside
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.ranked_times import asked_at, is_mean_lost, mean_column
from vendor_verifier.scoring.row_keys import Units

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Name = TypeVar("Name", bound=Hashable)


def common_times(tables: Mapping[Name, ObservationTable], metrics: Sequence[str]) -> Beside[Name]:
    """The timed ones of ``metrics`` by pair of vendors, for pairs of which one was asked while the other was not.

    A metric that either did not measure in the common time is left out: their own values are all there is.
    """
    if len(tables) < 2:
        return {}
    timed = {name: RANKED[name] for name in metrics if name in RANKED and RANKED[name].is_timed}
    asked = {name: rows for name, table in tables.items() if (rows := _Asked.of(table, timed)) is not None}
    return {
        (one, other): found
        for one, other in combinations(asked, 2)
        if (found := dict(_common(asked[one], asked[other], timed)))
    }


def window(one: NDArray[Any], other: NDArray[Any]) -> tuple[float, float]:
    """Begin and end of the time in which both were being asked, given when their rows were sent."""
    return max(one.min(), other.min()), min(one.max(), other.max())


def _common(one: _Asked, other: _Asked, metrics: Mapping[str, Metric]) -> Iterator[tuple[str, tuple[float, float]]]:
    begin, end = window(one.moments, other.moments)
    if one.lies_within(begin, end) and other.lies_within(begin, end):
        return
    for name in metrics:
        ours, theirs = one.figure(name, begin, end), other.figure(name, begin, end)
        if ours is not None and theirs is not None:
            yield name, (ours, theirs)


class _Asked(msgspec.Struct, frozen=True):
    """A vendor's rows by the time of sending: ``moments`` ascending, and by metric the sums over all rows before.

    Rows of which nobody knows when they were sent stand in ``undated`` and always count.
    """

    moments: NDArray[np.float64]
    sums: Mapping[str, NDArray[np.float64]]
    undated: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, table: ObservationTable, metrics: Mapping[str, Metric]) -> _Asked | None:
        """The vendor's rows; None where no time of sending or none of the metrics is known."""
        import numpy as np

        charged = table.where(lambda traits: traits.charged)
        moments = _first_sent(table.units().at(charged), asked_at(table)[charged])
        parts = {
            name: _ratio(table, name, metric)[:, charged]
            for name, metric in metrics.items()
            if not is_mean_lost(table, name, metric.name)
        }
        if np.isnan(moments).all() or not any(part[1].any() for part in parts.values()):
            return None
        order = np.argsort(moments, kind="stable")
        dated = int((~np.isnan(moments)).sum())
        ordered = {name: part[:, order] for name, part in parts.items()}
        sums = {name: np.cumsum(np.pad(part[:, :dated], ((0, 0), (1, 0))), axis=1) for name, part in ordered.items()}
        return cls(moments[order][:dated], sums, {name: part[:, dated:].sum(axis=1) for name, part in ordered.items()})

    def lies_within(self, begin: float, end: float) -> bool:
        """Whether no row was sent outside of this time."""
        return bool(begin <= self.moments[0] and self.moments[-1] <= end)

    def figure(self, metric: str, begin: float, end: float) -> float | None:
        """The metric over the rows sent in this time; None when none of them measured it."""
        import numpy as np

        if metric not in self.sums:
            return None
        first, last = np.searchsorted(self.moments, begin, "left"), np.searchsorted(self.moments, end, "right")
        found = self.undated[metric] + (self.sums[metric][:, last] - self.sums[metric][:, first] if first < last else 0)
        return float(found[0] / found[1]) if found[1] > 0 else None


def _first_sent(units: Units, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """When each row's sample and repetition was first sent: evaluations that share a sample ask it side by side."""
    import numpy as np

    different, places = units.once()
    first = np.full(len(different), np.nan)
    known = np.flatnonzero(~np.isnan(moments))[::-1]
    # From the last row to the first, which is the one that stays.
    first[places[known]] = moments[known]
    return first[places]


def _ratio(table: ObservationTable, name: str, metric: Metric) -> NDArray[np.float64]:
    """Numerators and denominators of the rows, both 0 where the metric was not measured."""
    import numpy as np

    if metric.pooled:
        return np.nan_to_num(np.array(table.sums(metric.name)))
    column = mean_column(table, name, metric.name)
    return np.array([np.nan_to_num(column), ~np.isnan(column)], dtype=np.float64)
