"""report.md's table of latency by region; it computes nothing."""

from __future__ import annotations

from vendor_verifier.reports import cells
from vendor_verifier.reports.markdown_tables import label, table
from vendor_verifier.values.score import Distribution, ModelScore

_PERCENTILES = ("p50", "p95")


def regions(model: ModelScore) -> list[str]:
    """A row for each vendor and region; empty where no worker named a region."""
    rows = [
        [
            label(vendor.label),
            cells.MISSING if seen.region is None else label(seen.region),
            cells.of(seen.succeeded, seen.asked),
            cells.rate(seen.success_rate),
            *_spread(seen.ttft_ms),
            *_spread(seen.e2e_ms),
        ]
        for vendor in model.vendors
        for seen in vendor.regions
    ]
    titles = [f"{name} {part}" for name in ("TTFT", "End to end") for part in ("n", *_PERCENTILES)]
    return table(["Vendor", "Region", "Succeeded", "Rate", *titles], rows) if rows else []


def _spread(found: Distribution) -> list[str]:
    return [cells.measured(found.n, found.stalled), *(cells.quantity(getattr(found, name)) for name in _PERCENTILES)]
