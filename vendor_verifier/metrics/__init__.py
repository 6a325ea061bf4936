"""What is measured: ``METRICS`` per record, ``FIGURES`` per vendor; a number in neither list ranks nobody.

Gaps between pieces (:mod:`vendor_verifier.metrics.inter_chunk_latency`) are many per record, and so in neither.
``f1`` and ``schema_accuracy`` are figures only: the first needs a baseline, the second the verdicts on calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.metrics import (
    latency,
    outcome,
    throughput,
    tokens,
)
from vendor_verifier.metrics.base import Direction, Metric

METRICS: tuple[Metric, ...] = (
    outcome.SUCCESS,
    tokens.TOTAL_TOKENS,
    tokens.INPUT_TOKENS,
    tokens.OUTPUT_TOKENS,
    latency.TTFT_MS,
    latency.COLD,
    latency.WARM,
    latency.TTFAT_MS,
    throughput.TPOT_MS,
    throughput.TPS,
    throughput.E2E_TPS,
    latency.E2E_MS,
    latency.CONNECT,
    latency.DNS,
    latency.TCP,
    latency.TLS,
    latency.TTFT,
    latency.E2E,
    latency.LAG,
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
