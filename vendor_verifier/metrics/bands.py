"""The usual range of each ranked figure, from the tables on the product's page.

The page tabulates 27 vendors of eight models. Of the 19 that are not their model's baseline the quartiles stand here:
success rate, F1 and schema accuracy as they are; tokens, TTFT and TPS as multiples of the baseline's, because models
decide them more than vendors. They say what resellers did in those runs, not what is good enough: the samples were
others, and a run's own noise floor counts for more.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

PUBLISHED_ROWS = 19


class Band(msgspec.Struct, frozen=True):
    """The middle half of a figure over the published rows, from ``low`` to ``high``; ``is_ratio``: to the baseline."""

    low: float
    high: float
    is_ratio: bool = False


BANDS: Mapping[str, Band] = {
    "success_rate": Band(0.9975, 1.0),
    "f1": Band(0.755, 0.841),
    "schema_accuracy": Band(0.838, 0.949),
    "avg_tokens": Band(0.81, 1.10, is_ratio=True),
    "avg_ttft_ms": Band(0.73, 1.29, is_ratio=True),
    "tps": Band(0.85, 1.58, is_ratio=True),
}
"""By ranked figure; IRF has none, because it depends on who else is measured."""
