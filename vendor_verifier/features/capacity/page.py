"""capacity.html: the curves of a search for capacity, one file that loads and runs nothing; it computes nothing.

Everything a stranger wrote passes ``visible`` and then the template's or the drawing's escaping, as in report.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vendor_verifier.features.capacity.charts import Panel, Trace, curves
from vendor_verifier.features.capacity.text import at, levels, shown_needs, succeeded_share, verdict
from vendor_verifier.features.capacity.values import CapacityReport, Point, VendorCapacity
from vendor_verifier.reports import number_format, tables
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html.page import drawn
from vendor_verifier.reports.tables import Cell, Column, Item, Table, page_label
from vendor_verifier.words import Language, Texts

_SENTENCE = 600
_FEW = 3


def render(report: CapacityReport, language: Language = "en") -> str:
    """The whole page, UTF-8-encodable."""
    t = Texts(language)
    return drawn(
        "capacity.html.j2",
        t,
        run=page_label(report.run),
        verdicts=_verdicts(report, t),
        meta=[
            report.created_at,
            f"agent-vendor-verifier {report.version}",
            t("capacity_samples", n=report.bounds.samples),
        ],
        warnings=[visible(t.said(warning)) for warning in report.warnings],
        overview=_overview(report, t),
        vendors=[_vendor(vendor, report, t) for vendor in report.vendors],
        method=list(_method(report, t)),
    )


def _verdicts(report: CapacityReport, t: Texts) -> list[str]:
    """The capacity of each vendor: a line each where they are few, else one sentence, the greatest first."""
    if not report.vendors:
        return [t("capacity_nobody")]
    if len(report.vendors) <= _FEW:
        return [f"{page_label(one.label)}: {_borne(one, report, t)}" for one in report.vendors]
    most_first = sorted(report.vendors, key=lambda one: -(one.capacity or 0.0))
    named = [f"{page_label(one.label)} {number_format.quantity(one.capacity)}" for one in most_first]
    return [t("capacity_bears_in", unit=t(f"unit_{report.kind}")) + ": " + ", ".join(named)]


def _borne(vendor: VendorCapacity, report: CapacityReport, t: Texts) -> str:
    return number_format.MISSING if vendor.capacity is None else at(vendor.capacity, report.kind, t)


def _overview(report: CapacityReport, t: Texts) -> Table:
    bears = t("capacity_bears_in", unit=t(f"unit_{report.kind}"))
    columns = (
        Column("capacity", lambda vendor: tables.number(vendor.capacity), bears),
        Column("capacity_gave_way_at", lambda vendor: tables.number(vendor.broke_at)),
        Column("capacity_found", lambda vendor: _found(vendor, report, t), prose=True),
        Column("capacity_sent", lambda vendor: tables.count(vendor.requests)),
    )
    items = (Item(f"{vendor.model} / {vendor.label}", vendor) for vendor in report.vendors)
    return tables.table(t("capacity_bears"), t("vendor"), columns, items, t)


def _found(vendor: VendorCapacity, report: CapacityReport, t: Texts) -> Cell:
    return tables.words(verdict(vendor, report.kind, t), _SENTENCE)


def _vendor(vendor: VendorCapacity, report: CapacityReport, t: Texts) -> dict[str, Any]:
    return {
        "name": page_label(f"{vendor.model} / {vendor.label}"),
        "verdict": _found(vendor, report, t).text,
        "picture": _picture(vendor, report, t),
        "table": levels(vendor, report, t),
        "notes": [visible(t.said(note)) for note in vendor.notes],
    }


def _picture(vendor: VendorCapacity, report: CapacityReport, t: Texts) -> Any:
    points = [point for point in vendor.points if point.level > 0]
    if not points:
        return None

    def trace(title: str, key: str) -> Trace:
        return Trace(title, [getattr(point, key) for point in points])

    success = Trace(t("capacity_success"), [succeeded_share(point) for point in points])
    quality = (success, trace(t("capacity_f1"), "f1"), trace(t("capacity_schema"), "schema_accuracy"))
    times = (trace("p50", "ttft_p50_ms"), trace("p95", "ttft_p95_ms"))
    ttft = next((one.number for one in report.thresholds if "ttft" in one.metric and one.percentile), None)
    panels = (
        Panel(t("capacity_quality"), quality, top=1.0),
        Panel(t("capacity_ttft"), times, limit=ttft, log=True),
        Panel(t("capacity_answers"), (trace(t("capacity_answers_key"), "requests_per_s"),)),
        Panel(t("capacity_tokens"), (trace("TPS", "tps"),)),
    )
    return curves(
        panels,
        [point.level for point in points],
        [_holds(point) for point in points],
        x_title=t("capacity_axis", unit=t(f"unit_{report.kind}")),
        label=t("capacity_figures", label=page_label(vendor.label)),
    )


def _holds(point: Point) -> bool:
    return point.outcome == "holds"


def _method(report: CapacityReport, t: Texts) -> Iterator[str]:
    yield t("capacity_limits", limits="; ".join(map(str, report.thresholds)))
    yield t("capacity_legend")
    yield from shown_needs(report, t)
    yield t("capacity_order")
