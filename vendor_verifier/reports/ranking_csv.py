"""ranking.csv: one row per (model, vendor), numbers as numbers, empty where nothing was measured; never a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from vendor_verifier.metrics import RANKED
from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import csv_text
from vendor_verifier.values.score import ModelScore, Report, VendorScore

_TRIGGER_FIELDS = (
    *("tp", "fp", "fn", "tn", "failed_as_missed"),
    *("dropped_baseline", "dropped_vendor", "not_sent", "precision", "recall"),
)
# One of them has stood here by its name for longer.
_SPREADS = tuple(
    (name, percentile)
    for name in number_format.SPEED_METRICS
    for percentile in ("p50", "p90", "p95", "p99")
    if (name, percentile) != ("tps", "p50")
)
# Rank metrics that our own lateness takes rows from.
_TIMED = tuple(name for name, metric in RANKED.items() if metric.is_timed)
# Columns that a report held to SLOs has at its end, and the fields they come from.
_GOODPUT = {"goodput_per_s": "per_s", "goodput_share": "share", "good_requests": "good"}
Cell = str | int | float | bool | None


def render(report: Report) -> str:
    """UTF-8-encodable CSV (RFC 4180 quoting, LF line ends) with a header row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows = [_row(vendor, model, report) for model in report.models for vendor in model.vendors]
    writer.writerow([csv_text(name) for name in _header(report)])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: Cell) -> str:
    if value is None or (isinstance(value, float) and number_format.finite(value) is None):
        return ""
    if isinstance(value, str):
        return csv_text(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _other_metrics(report: Report) -> list[str]:
    """Metrics that are shown but do not rank, over all vendors, so that every row has the same columns."""
    names: set[str] = set()
    for model in report.models:
        names.update(*(vendor.metrics for vendor in model.vendors))
    return sorted(names - set(report.rank_metrics))


def _header(report: Report) -> list[str]:
    return [
        *("model", "place", "label", "vendor", "provider", "model_id", "is_baseline"),
        *("irf", "irf_metrics", "irf_global"),
        *report.rank_metrics,
        *_other_metrics(report),
        *_prefixed("rank", report.rank_metrics),
        *_prefixed("measured", report.rank_metrics),
        *_prefixed("stalled", _TIMED),
        *("planned", "recorded", "succeeded", "succeeded_first_try", "attempts"),
        *_TRIGGER_FIELDS,
        *("calls", "valid_calls", "schema_accuracy_lenient", "schema_accuracy_strict"),
        *("tps_mean", "tps_p50", "e2e_tps"),
        *(f"{name}_{percentile}" for name, percentile in _SPREADS),
        *(f"{name}_stalled" for name in number_format.SPEED_METRICS),
        *(_GOODPUT if _has_slos(report) else ()),
    ]


def _has_slos(report: Report) -> bool:
    return any(vendor.goodput is not None for model in report.models for vendor in model.vendors)


def _prefixed(prefix: str, names: Iterable[str]) -> list[str]:
    return [f"{prefix}_{name}" for name in names]


def _row(vendor: VendorScore, model: ModelScore, report: Report) -> list[Cell]:
    schema = vendor.schema
    return [
        model.model,
        sentences.place(vendor, model),
        *(vendor.label, vendor.vendor, vendor.provider, vendor.model_id, vendor.is_baseline),
        *(vendor.irf, vendor.irf_metrics, vendor.irf_global),
        *(vendor.metrics.get(name) for name in report.rank_metrics),
        *(vendor.metrics.get(name) for name in _other_metrics(report)),
        *(vendor.ranks.get(name) for name in report.rank_metrics),
        *(vendor.measured.get(name) for name in report.rank_metrics),
        *(vendor.stalled.get(name) for name in _TIMED),
        *(vendor.planned, vendor.recorded, vendor.succeeded, vendor.succeeded_first_try, vendor.attempts),
        *_trigger(vendor),
        *(schema.calls, sentences.valid_calls(vendor), schema.accuracy_lenient, schema.accuracy_strict),
        *(vendor.tps_mean, vendor.tps_p50, vendor.e2e_tps),
        *(getattr(vendor.distributions.get(name), percentile, None) for name, percentile in _SPREADS),
        *(getattr(vendor.distributions.get(name), "stalled", None) for name in number_format.SPEED_METRICS),
        *((getattr(vendor.goodput, name, None) for name in _GOODPUT.values()) if _has_slos(report) else ()),
    ]


def _trigger(vendor: VendorScore) -> list[Cell]:
    return [getattr(vendor.trigger, name) if vendor.trigger else None for name in _TRIGGER_FIELDS]
