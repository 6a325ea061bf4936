"""The section of latency and speed: every measured time of every vendor with its percentiles; it computes nothing."""

from __future__ import annotations

from vendor_verifier.reports import cells
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.tables import Row, label, plain_table
from vendor_verifier.reports.html.texts import Texts
from vendor_verifier.values.score import ModelScore

_PERCENTILES = ("p50", "p90", "p95", "p99")


def latency_section(model: ModelScore, t: Texts) -> list[Section]:
    """A row for each metric and vendor that measured it; nothing when none did."""
    rows = [
        Row(
            title,
            (
                tables.words(label(vendor.label)),
                tables.count(found.n),
                *(tables.number(getattr(found, percentile)) for percentile in _PERCENTILES),
            ),
            index,
        )
        for name, title in cells.SPEED_METRICS.items()
        for index, vendor in enumerate(model.vendors)
        if (found := vendor.distributions.get(name)) is not None and found.n
    ]
    if not rows:
        return []
    titles = (t("vendor"), t("n"), *_PERCENTILES)
    table = plain_table(t("latency"), t("metric"), titles, rows, prose=(t("vendor"),))
    return [Section("latency", t("latency"), t("latency_note"), tables=(table,))]
