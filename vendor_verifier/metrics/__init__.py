"""Metrics: the one list of definitions that measuring, ranking, reports and gates are derived from."""

from __future__ import annotations

from collections.abc import Mapping

from vendor_verifier.metrics import inter_chunk_latency, latency, outcome, tokens
from vendor_verifier.metrics.base import Direction as Direction
from vendor_verifier.metrics.base import Figure as Figure
from vendor_verifier.metrics.base import Metric as Metric

METRICS: tuple[Metric, ...] = (
    outcome.F1,
    outcome.SUCCESS,
    outcome.SCHEMA_ACCURACY,
    outcome.TOOL_CALL_ERROR_RATE,
    tokens.TOTAL_TOKENS,
    tokens.INPUT_TOKENS,
    tokens.OUTPUT_TOKENS,
    latency.TTFT_MS,
    latency.TTFT_COLD_MS,
    latency.TTFT_WARM_MS,
    latency.TTFT_FROM_SUBMISSION_MS,
    latency.TTFAT_MS,
    inter_chunk_latency.ICL_MS,
    tokens.TPOT_MS,
    tokens.TPS,
    tokens.E2E_TPS,
    latency.E2E_MS,
    latency.TTFT_FROM_SCHEDULE_MS,
    latency.E2E_FROM_SCHEDULE_MS,
    latency.SCHEDULE_LAG_MS,
    latency.CONNECT_MS,
    latency.DNS_MS,
    latency.TCP_MS,
    latency.TLS_MS,
)
RECORD_METRICS = tuple(metric for metric in METRICS if metric.is_measured)
POOLED = tuple(metric for metric in RECORD_METRICS if metric.pooled)
SPREADS = tuple(metric for metric in METRICS if metric.has_spread)
RANKED: Mapping[str, Metric] = {metric.figure.name: metric for metric in METRICS if metric.figure is not None}
"""Figure → the metric by which it ranks vendors."""
FIGURES: tuple[Figure, ...] = tuple(metric.figure for metric in METRICS if metric.figure is not None)
DIRECTIONS: Mapping[str, Direction] = {
    **{metric.name: metric.direction for metric in METRICS},
    **{name: metric.direction for name, metric in RANKED.items()},
}
# For figures that are not in our list (costs, a plugin's own): a name that ends in a unit is a quantity.
_UNITS = ("tps", "_tokens", "_ms", "_s", "_usd")
_UNIT_OF = {**{metric.name: metric.unit for metric in METRICS}, **{name: each.unit for name, each in RANKED.items()}}


def is_share(name: str) -> bool:
    """Whether a figure is a share of 1 and not a quantity with a unit; ``ttft_ms.p95`` is judged as ``ttft_ms``."""
    name = name.partition(".")[0]
    return _UNIT_OF[name] == "share" if name in _UNIT_OF else not name.endswith(_UNITS)


def is_higher_better(name: str) -> bool:
    """Whether a higher value is better, which is assumed of figures that are not in our list, such as suite scores."""
    return DIRECTIONS.get(name, "higher") == "higher"
