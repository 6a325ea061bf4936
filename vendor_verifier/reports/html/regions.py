"""The section of latency by region: every vendor from everywhere it was asked; it computes nothing."""

from __future__ import annotations

from vendor_verifier.reports import cells
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.tables import Row, label, plain_table
from vendor_verifier.reports.html.texts import Texts
from vendor_verifier.values.score import ModelScore

_PERCENTILES = ("p50", "p95")


def regions_section(model: ModelScore, t: Texts) -> list[Section]:
    """A row for each vendor and region; nothing where no worker named a region."""
    rows = [
        Row(
            label(vendor.label),
            (
                tables.words(cells.MISSING if seen.region is None else label(seen.region)),
                tables.words(t("of", part=seen.succeeded, whole=seen.asked)),
                tables.share(seen.success_rate),
                tables.measured(seen.ttft_ms, t),
                *(tables.number(getattr(seen.ttft_ms, name)) for name in _PERCENTILES),
                tables.measured(seen.e2e_ms, t),
                *(tables.number(getattr(seen.e2e_ms, name)) for name in _PERCENTILES),
            ),
            index,
        )
        for index, vendor in enumerate(model.vendors)
        for seen in vendor.regions
    ]
    if not rows:
        return []
    titles = (
        *(t("region"), t("succeeded"), t("success_rate")),
        *(f"{name}, {part}" for name in (t("speed_ttft_ms"), t("speed_e2e_ms")) for part in (t("n"), *_PERCENTILES)),
    )
    table = plain_table(t("regions"), t("vendor"), titles, rows, prose=(t("region"),))
    return [Section("regions", t("regions"), t("regions_note"), tables=(table,))]
