"""IRF over the resamples: its interval, who leads how often, and the gap to the leader. The score itself is unchanged.

IRF orders even identical vendors, with a gap that does not shrink as samples are added, because ranks have no scale.
Never show ``p_first`` alone: among five equal vendors the leader has 0.53 of it on average, not 0.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vendor_verifier.compare.bootstrap import Resampled, spread
from vendor_verifier.compare.ranking import DIRECTIONS, K
from vendor_verifier.metrics.base import Direction
from vendor_verifier.values.judgement import Estimate, IrfInterval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def irf_draws(
    values: NDArray[np.float64], metrics: tuple[str, ...], k: int = K, directions: Mapping[str, Direction] | None = None
) -> NDArray[np.float64]:
    """IRF of every row of ``values`` (rows, vendors, metrics): shape (rows, vendors), as ``ranking.irf`` computes it.

    Average rank = 1 + #better + #equal others ÷ 2, exact ties on unrounded values; NaN is not ranked and adds nothing.
    """
    import numpy as np

    known = {**DIRECTIONS, **(directions or {})}
    total = np.zeros(values.shape[:2])
    for column, metric in enumerate(metrics):
        figures = values[:, :, column] * (1.0 if known.get(metric, "higher") == "higher" else -1.0)
        measured = np.isfinite(figures)
        for vendor in range(figures.shape[1]):
            own = figures[:, vendor, None]
            rank = 0.5 + (figures > own).sum(axis=1) + 0.5 * (figures == own).sum(axis=1)
            total[:, vendor] += np.where(measured[:, vendor], 1.0 / (rank + k), 0.0)
    return total


def irf_intervals(
    resampled: Resampled, n: int, k: int = K, directions: Mapping[str, Direction] | None = None
) -> tuple[tuple[IrfInterval, ...], dict[str, Estimate]]:
    """Per measured vendor, best first, its IRF with interval; and per other vendor the leader's IRF minus its own.

    ``p_first`` shares a tie for the lead. ``n`` is the number of samples. Where a gap's interval covers 0 the order of
    the two is not established.
    """
    import numpy as np

    point = irf_draws(resampled.point[None], resampled.metrics, k, directions)[0]
    draws = irf_draws(resampled.draws, resampled.metrics, k, directions)
    leads = np.isclose(draws, draws.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    p_first = (leads / leads.sum(axis=1, keepdims=True)).mean(axis=0)
    places, drawn = _places(point[None])[0], _places(draws)
    ranked = np.isfinite(resampled.point).any(axis=1)
    order = sorted(np.flatnonzero(ranked).tolist(), key=lambda row: -point[row])
    rows = tuple(
        IrfInterval(
            resampled.labels[row],
            spread(float(point[row]), draws[:, row], n),
            float(p_first[row]),
            spread(float(places[row]), drawn[:, row], n),
        )
        for row in order
    )
    lead = order[0] if order else 0
    gaps = {
        resampled.labels[row]: spread(float(point[lead] - point[row]), draws[:, lead] - draws[:, row], n)
        for row in order[1:]
    }
    return rows, gaps


def _places(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 + how many score more, by row."""
    import numpy as np

    columns = [(scores > scores[:, row, None] + 1e-12).sum(axis=1) + 1.0 for row in range(scores.shape[1])]
    return np.stack(columns, axis=1)
