"""The metrics of a vendor (names, titles, units, meanings), and IRF over them.

Reports and docs/metrics.md are made from this list. IRF = Σ over the vendor's metrics of 1 ÷ (rank + k), k = 5. Per
metric rank 1 = best; vendors with exactly equal values share the average of their ranks; a vendor without a value has
no rank. This is the "fusion score" of agent-vendor-verifier's page, a kin of reciprocal rank fusion (Cormack,
Clarke, Büttcher, SIGIR 2009). It orders vendors, it does not measure them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

Direction = Literal["higher", "lower"]
Kind = Literal["rank", "quality", "time", "tokens", "cost"]


class Metric(msgspec.Struct, frozen=True):
    """A number of a vendor. ``kind`` is ``rank`` for the six that IRF is made of, ``time`` for what has percentiles:
    of these the mean is meant where no percentile is named."""

    name: str
    title: str
    unit: str
    direction: Direction
    meaning: str
    kind: Kind


_TOOL_ERRORS, _COST_OF_ONE = "answers with a bad call ÷ answers with tools", "all attempts ÷ records of known cost"
_ROWS = (
    Metric("success_rate", "Success", "share", "higher", "succeeded ÷ planned, after retries", "rank"),
    Metric("f1", "F1", "share", "higher", "2·TP ÷ (2·TP + FP + FN) of tool calls against the baseline", "rank"),
    Metric("schema_accuracy", "Schema", "share", "higher", "valid tool calls ÷ judged tool calls", "rank"),
    Metric("tps", "TPS", "tokens/s", "higher", "Σ tokens after the first chunk ÷ Σ (last − first token)", "rank"),
    Metric("avg_ttft_ms", "TTFT", "ms", "lower", "mean of (first token − sent), of streamed answers", "rank"),
    Metric("avg_tokens", "Tokens", "tokens", "lower", "mean of input + output tokens of an answer", "rank"),
    Metric("irf", "IRF", "", "higher", "Σ 1 ÷ (rank + 5) over the rank metrics", "quality"),
    Metric("tool_call_error_rate", "Tool errors", "share", "lower", _TOOL_ERRORS, "quality"),
    Metric("ttft_ms", "TTFT", "ms", "lower", "first token − sent", "time"),
    Metric("ttft_due_ms", "TTFT from due", "ms", "lower", "first token − due, at a stated request rate", "time"),
    Metric("ttfat_ms", "TTFAT", "ms", "lower", "first token that is not reasoning − sent", "time"),
    Metric("tpot_ms", "TPOT", "ms", "lower", "(last − first token) ÷ (output tokens − 1)", "time"),
    Metric("e2e_ms", "E2E", "ms", "lower", "end − sent, all turns", "time"),
    Metric("request_tps", "Request TPS", "tokens/s", "higher", "decoding speed of one answer", "time"),
    Metric("connect_ms", "Connecting", "ms", "lower", "opening the connection, before the request is sent", "time"),
    Metric("input_tokens", "Input tokens", "tokens", "lower", "prompt tokens, cached ones included", "tokens"),
    Metric("output_tokens", "Output tokens", "tokens", "lower", "generated tokens, reasoning included", "tokens"),
    Metric("total_usd", "Cost", "USD", "lower", "all attempts", "cost"),
    Metric("cost_per_1000_requests_usd", "Cost of 1,000 requests", "USD", "lower", _COST_OF_ONE, "cost"),
    Metric("cost_per_valid_call_usd", "Cost of a valid call", "USD", "lower", "all attempts ÷ valid calls", "cost"),
    Metric("wasted_usd", "Wasted", "USD", "lower", "attempts that led to no success", "cost"),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ROWS}
RANK_METRICS: tuple[str, ...] = tuple(metric.name for metric in _ROWS if metric.kind == "rank")
# Metric of a single answer → its values in a frame, and the name under which a time is discarded when read late.
REQUEST_VALUES: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "ttft_ms": (lambda rows: rows["ttft_ms"], "ttft_ms"),
    "avg_ttft_ms": (lambda rows: rows["ttft_ms"], "ttft_ms"),
    "ttft_due_ms": (lambda rows: rows["ttft_due_ms"], "ttft_due_ms"),
    "ttfat_ms": (lambda rows: rows["ttfat_ms"], "ttfat_ms"),
    "tpot_ms": (lambda rows: 1e3 * rows["decode_s"] / (rows["output_tokens"] - 1).where(lambda n: n > 0), "decode_s"),
    "request_tps": (lambda rows: rows["tokens_after"] / rows["decode_s"], "decode_s"),
    "tps": (lambda rows: rows["tokens_after"] / rows["decode_s"], "decode_s"),
    "e2e_ms": (lambda rows: rows["e2e_ms"], "e2e_ms"),
    "connect_ms": (lambda rows: rows["connect_ms"], ""),
    "input_tokens": (lambda rows: rows["input_tokens"], ""),
    "output_tokens": (lambda rows: rows["output_tokens"], ""),
    "avg_tokens": (lambda rows: rows["input_tokens"] + rows["output_tokens"], ""),
}
# What users type for a metric.
SHORT_NAMES: Mapping[str, str] = {
    "ttft": "ttft_ms", "e2e": "e2e_ms", "latency": "e2e_ms", "success": "success_rate", "schema": "schema_accuracy",
    "tokens": "avg_tokens",
}  # fmt: skip
# Of a name that is not in the list (a plugin's own), the unit is its ending.
_QUANTITIES = ("tps", "_tokens", "_ms", "_s", "_usd")


def is_higher_better(name: str) -> bool:
    """Whether a higher value is better, as of an evaluation's score; ``ttft_ms.p95`` is judged as ``ttft_ms``."""
    metric = METRICS.get(name.partition(".")[0])
    return metric is None or metric.direction == "higher"


def is_share(name: str) -> bool:
    """Whether a metric is a share of 1 and no quantity with a unit."""
    name = name.partition(".")[0]
    return METRICS[name].unit == "share" if name in METRICS else not name.endswith(_QUANTITIES)


K = 5
Name = TypeVar("Name", bound=Hashable)


def irf(
    metrics: Mapping[Name, Mapping[str, float | None]], k: int = K, directions: Mapping[str, Direction] | None = None
) -> dict[Name, float]:
    """IRF of every vendor from vendor → metric → value.

    ``None``, NaN and absent values are not ranked; a vendor without any value scores 0.0. Metrics without a direction
    here or in ``METRICS`` are taken as higher-is-better.
    """
    return {
        vendor: math.fsum(1.0 / (rank + k) for rank in by_metric.values())
        for vendor, by_metric in ranks(metrics, directions).items()
    }


def ranks(
    metrics: Mapping[Name, Mapping[str, float | None]], directions: Mapping[str, Direction] | None = None
) -> dict[Name, dict[str, float]]:
    """Vendor → metric → rank (1 = best, ties averaged), for the metrics that the vendor was measured on."""
    ranked: dict[Name, dict[str, float]] = {vendor: {} for vendor in metrics}
    for metric in dict.fromkeys(name for values in metrics.values() for name in values):
        direction = (directions or {}).get(metric)
        higher = is_higher_better(metric) if direction is None else direction == "higher"
        known = {vendor: values.get(metric) for vendor, values in metrics.items()}
        measured = {vendor: value for vendor, value in known.items() if value is not None and not math.isnan(value)}
        for vendor, value in measured.items():
            better = sum(other > value if higher else other < value for other in measured.values())
            equal = sum(other == value for other in measured.values())
            ranked[vendor][metric] = better + (equal + 1) / 2
    return ranked
