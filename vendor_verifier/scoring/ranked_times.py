"""The values that a figure which ranks is the mean of: times from sending, or from when requests were due.

Where a cap that the user set held requests of an open loop back, a time from sending says nothing of what was waited
for: it stays as good as that of a closed loop. Times that rank then count from the schedule, of all vendors of the run,
so that like is compared with like: ranks, intervals, verdicts and gates take them from here and from nowhere else. A
row that our own lateness spoilt, in reading it or in beginning it, stays out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from vendor_verifier.metrics import RANKED
from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.metrics.base import distribution
from vendor_verifier.records.score import Distribution
from vendor_verifier.scoring.caused_waits import by_cause
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.observation_table import ObservationTable, known

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def scheduled_metric(table: ObservationTable, name: str) -> str | None:
    """The metric from the schedule that a figure is the mean of at this vendor; None where it is its own."""
    metric = RANKED.get(name)
    return None if table.cap is None or metric is None or metric.figure is None else metric.figure.scheduled


def mean_column(table: ObservationTable, name: str, metric: str) -> NDArray[np.float64]:
    """The rows' values, NaN for none, that ``name``, a figure or a metric, is the mean of; ``metric`` is its own."""
    import numpy as np

    scheduled = scheduled_metric(table, name)
    if scheduled is None:
        return table.column(metric)
    spoilt = table.where(lambda traits: _is_spoilt(traits, name, scheduled))
    return np.where(spoilt, np.nan, table.column(scheduled))


def judged_column(table: ObservationTable, name: str, metric: str) -> NDArray[np.float64]:
    """The same for statistics: waits stand at the rows that caused them."""
    column = mean_column(table, name, metric)
    if table.cap is None or scheduled_metric(table, name) is None:
        return column
    return by_cause(column, table.column("schedule_lag_ms"), 1e3 * table.held_s(), 1e3 * asked_at(table), table.cap)


def asked_at(table: ObservationTable) -> NDArray[np.float64]:
    """When the rows were first sent, or were due where times that rank count from then; seconds since the epoch."""
    import numpy as np

    sent = table.sent()
    return sent if table.cap is None else sent - np.nan_to_num(table.column("schedule_lag_ms")) / 1e3


def is_mean_lost(table: ObservationTable, name: str, metric: str) -> bool:
    """Whether what ``name`` is the mean of is withheld, or too much of it was spoilt by our own lateness."""
    scheduled = scheduled_metric(table, name)
    if scheduled is None or metric in table.withheld:
        return table.is_lost(metric)
    return too_many_spoilt(_spoilt(table, name, scheduled), len(known(mean_column(table, name, metric))))


def mean_values(table: ObservationTable, name: str, metric: str) -> list[float]:
    """The measured ones of these values in the order of sending; none where they are lost."""
    import numpy as np

    if scheduled_metric(table, name) is None:
        return table.values(metric)
    if is_mean_lost(table, name, metric):
        return []
    return known(mean_column(table, name, metric)[np.argsort(table.sent(), kind="stable")])


def ranked_spread(table: ObservationTable, name: str, own: Distribution, metric: str) -> Distribution:
    """The distribution whose mean is the figure ``name``; ``own`` is that of its own metric."""
    scheduled = scheduled_metric(table, name)
    if scheduled is None:
        return own
    found = distribution(mean_values(table, name, metric))
    return structs.replace(found, stalled=_spoilt(table, name, scheduled))


def _spoilt(table: ObservationTable, name: str, scheduled: str) -> int:
    return table.count(lambda traits: _is_spoilt(traits, name, scheduled))


def _is_spoilt(traits: Traits, name: str, scheduled: str) -> bool:
    """Whether our own lateness is too much of the time from the schedule: in reading it, or in beginning it."""
    return scheduled in traits.spoilt or name in traits.spoilt
