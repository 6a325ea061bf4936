"""A figure with the interval in which its true value probably lies."""

from __future__ import annotations

import msgspec


class Estimate(msgspec.Struct, frozen=True):
    """A number and the interval that holds the truth with ``level`` confidence, from ``n`` observations.

    ``effective``: how many independent observations these count as, where neighbours in time are alike; None for all.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str = ""
    level: float = 0.95
    effective: float | None = None


NOT_MEASURED = Estimate(None)
