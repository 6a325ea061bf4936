"""The section of latency and speed: every measured time of every vendor with its percentiles; it computes nothing."""

from __future__ import annotations

from vendor_verifier.reports import cells
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.tables import Row, Table, label, plain_table
from vendor_verifier.reports.html.texts import Texts
from vendor_verifier.values.score import ModelScore

_PERCENTILES = ("p50", "p90", "p95", "p99")
_CHIEF = ("ttft_ms", "tps", "e2e_ms")


def latency_section(model: ModelScore, t: Texts) -> list[Section]:
    """A table for each metric that a vendor measured, the chief ones in sight; nothing when there is none."""
    made = {name: _table(name, model, t) for name in cells.SPEED_METRICS}
    measured = {name: table for name, table in made.items() if table.rows}
    if not measured:
        return []
    chief = tuple(table for name, table in measured.items() if name in _CHIEF)
    others = tuple(table for name, table in measured.items() if name not in _CHIEF)
    return [Section("latency", t("latency"), t("latency_note"), tables=chief, folded=others)]


def _table(name: str, model: ModelScore, t: Texts) -> Table:
    rows = (
        Row(
            label(vendor.label),
            (tables.measured(found, t), *(tables.number(getattr(found, percentile)) for percentile in _PERCENTILES)),
            index,
        )
        for index, vendor in enumerate(model.vendors)
        if (found := vendor.distributions.get(name)) is not None and (found.n or found.stalled)
    )
    title = t(f"speed_{name}")
    return plain_table(title, title, (t("n"), *_PERCENTILES), rows)
