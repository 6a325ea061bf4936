"""Times from a schedule by what caused them, so that their uncertainty can be told from one run.

Under a cap of c places a request that keeps its place for s seconds makes everybody wait s ÷ c longer who comes while
the backlog lasts. So waits follow each other, and under too high a load they sum up without end: two equal vendors
drift apart like two random walks, and intervals over rows that waited call half of such pairs different. What the
requests took themselves is as good as independent. Each row is therefore given, in place of its own wait, what it cost
those behind it beyond the mean row. That is infinitesimal perturbation analysis of a queue (Ho, Cao, Journal of
Optimization Theory and Applications 40, 1983); the mean over rows stays what it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A request sent later than this after its due time found no place free; timers alone are not as late.
WAITED_MS = 5.0
# Of the rows before a backlog those are looked at that can still be under way when it begins.
_LOOKED_AT, _MOST_LOOKED_AT = 10, 10_000


def by_cause(
    times_ms: NDArray[np.float64],
    waits_ms: NDArray[np.float64],
    held_ms: NDArray[np.float64],
    due_ms: NDArray[np.float64],
    places: int,
) -> NDArray[np.float64]:
    """``times_ms``, NaN where not measured, with every wait at the row that caused it; their mean is the same.

    ``waits_ms``: from due to sent; ``held_ms``: how long each row kept a place; ``due_ms``: when it was due.
    """
    import numpy as np

    known = ~np.isnan(times_ms)
    if not known.any():
        return times_ms
    order = np.argsort(due_ms, kind="stable")
    waits, held = np.nan_to_num(waits_ms[order]), np.nan_to_num(held_ms[order])
    measured = np.flatnonzero(known[order])
    behind = _behind(waits, held, due_ms[order], known[order], places)
    cost = (held - held.mean()) * behind / places
    # What a row cost that is not measured itself, as a failure is not, goes to the next one that is.
    at = np.minimum(np.searchsorted(measured, np.arange(cost.size)), measured.size - 1)
    own = (times_ms[order] - waits)[measured] + np.bincount(at, cost, measured.size)
    found = np.full(times_ms.size, np.nan)
    found[order[measured]] = own - own.mean() + times_ms[known].mean()
    return found


def _behind(
    waits: NDArray[np.float64],
    held: NDArray[np.float64],
    due: NDArray[np.float64],
    known: NDArray[np.bool_],
    places: int,
) -> NDArray[np.float64]:
    """The number of measured rows that waited behind each row, all in the order in which they were due."""
    import numpy as np

    ends, found = due + waits + held, np.zeros(waits.size)
    counts = np.concatenate([[0], np.cumsum(known)])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], waits > WAITED_MS, [0]])))
    looked_at = min(_LOOKED_AT * places, _MOST_LOOKED_AT)
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        found[first:end] += counts[end] - counts[first + 1 : end + 1]
        before = np.arange(max(0, first - looked_at), first)
        found[before[ends[before] > due[first]]] += counts[end] - counts[first]
    return found
