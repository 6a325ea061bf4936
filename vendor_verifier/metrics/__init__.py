"""What is measured: ``METRICS`` per record, ``FIGURES`` per vendor; a number in neither list ranks nobody.

Gaps between pieces (:mod:`vendor_verifier.metrics.gaps`) are many per record, and so in neither.
``f1`` and ``schema_accuracy`` are figures only: the first needs a baseline, the second the verdicts on calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.metrics import (
    connecting,
    e2e_ms,
    e2e_tps,
    input_tokens,
    output_tokens,
    schedule,
    success,
    total_tokens,
    tpot_ms,
    tps,
    ttfat_ms,
    ttft_ms,
)
from vendor_verifier.metrics.base import Direction, Metric

METRICS: tuple[Metric, ...] = (
    success.METRIC,
    total_tokens.METRIC,
    input_tokens.METRIC,
    output_tokens.METRIC,
    ttft_ms.METRIC,
    ttft_ms.COLD,
    ttft_ms.WARM,
    ttfat_ms.METRIC,
    tpot_ms.METRIC,
    tps.METRIC,
    e2e_tps.METRIC,
    e2e_ms.METRIC,
    connecting.CONNECT,
    connecting.DNS,
    connecting.TCP,
    connecting.TLS,
    schedule.TTFT,
    schedule.E2E,
    schedule.LAG,
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
