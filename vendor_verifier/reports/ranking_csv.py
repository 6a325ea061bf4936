"""ranking.csv: a row for each model and vendor, the product page's columns first, with the verdict in the third."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from vendor_verifier.records.results import FACETS, VendorResult
from vendor_verifier.reports.escape import csv_text
from vendor_verifier.reports.formats import finite
from vendor_verifier.reports.tables import PAGE_COLUMNS, ModelTables, suites_of

_TIMES = ("ttft_ms", "e2e_ms")
_SHARES = ("p50", "p90", "p95", "p99")
_COUNTS = ("tp", "fp", "fn", "tn", "precision", "recall")


def render(models: Mapping[str, ModelTables]) -> str:
    """RFC 4180 with LF line ends; numbers in full, empty where nothing was measured, and never a formula."""
    suites = list(dict.fromkeys(suite for tables in models.values() for suite in suites_of(tables.model)))
    rows = [
        _row(name, vendor, suites, tables.times)
        for name, tables in models.items()
        for vendor in tables.model.vendors.values()
    ]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = rows[0] if rows else _row("", VendorResult(label="", vendor="", model_id=""), suites, {})
    writer.writerow([csv_text(name) for name in heads])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return out.getvalue()


def _row(name: str, vendor: VendorResult, suites: list[str], times: Mapping[Any, Any]) -> dict[str, Any]:
    facets = vendor.verdict.facets
    return {
        "model": name,
        "label": vendor.label,
        "verdict": vendor.verdict.status,
        **{column.key: getattr(vendor, column.key) for column in PAGE_COLUMNS},
        "place": vendor.place,
        **{suite: vendor.suites[suite].score if suite in vendor.suites else None for suite in suites},
        **{f"verdict_{facet}": facets[facet].status if facet in facets else None for facet in FACETS},
        "vendor": vendor.vendor,
        "provider": vendor.provider,
        "model_id": vendor.model_id,
        "is_baseline": vendor.is_baseline,
        "planned": vendor.planned,
        "recorded": vendor.recorded,
        "succeeded": vendor.succeeded,
        **{count: None if vendor.counts is None else getattr(vendor.counts, count) for count in _COUNTS},
        **{f"measured_{column.key}": vendor.measured.get(column.key) for column in PAGE_COLUMNS[1:]},
        **{f"{time}_{share}": times.get((vendor.label, time), {}).get(share) for time in _TIMES for share in _SHARES},
    }


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return csv_text(value)
    return "" if finite(value) is None else json.dumps(value)
