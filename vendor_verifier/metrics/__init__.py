"""What is measured: ``METRICS`` per record, ``FIGURES`` per vendor; a number in neither list ranks nobody.

``f1`` and ``schema_accuracy`` are figures only: the first needs a baseline, the second the verdicts on calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.metrics import (
    e2e_ms,
    e2e_tps,
    first_answer_ms,
    input_tokens,
    output_tokens,
    success,
    total_tokens,
    tps,
    ttft_ms,
)
from vendor_verifier.metrics.base import Direction, Metric

METRICS: tuple[Metric, ...] = (
    success.METRIC,
    total_tokens.METRIC,
    input_tokens.METRIC,
    output_tokens.METRIC,
    ttft_ms.METRIC,
    first_answer_ms.METRIC,
    tps.METRIC,
    e2e_tps.METRIC,
    e2e_ms.METRIC,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number per vendor that ranks it."""

    name: str
    direction: Direction
    unit: str


FIGURES: tuple[Figure, ...] = (
    Figure("f1", "higher", "share"),
    Figure("success_rate", "higher", "share"),
    Figure("schema_accuracy", "higher", "share"),
    Figure("avg_tokens", "lower", "tokens"),
    Figure("avg_ttft_ms", "lower", "ms"),
    Figure("tps", "higher", "tokens/s"),
)
