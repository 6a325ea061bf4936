"""capacity.html: the curves of a search for capacity, one file that loads and runs nothing; it computes nothing.

Everything a stranger wrote passes ``visible`` and then the template's or the drawing's escaping, as in report.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vendor_verifier.reports import capacity_words as words
from vendor_verifier.reports import cells
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import svg, tables
from vendor_verifier.reports.html.charts_load import Panel, Trace, curves
from vendor_verifier.reports.html.render import part, policy
from vendor_verifier.reports.html.tables import Cell, Row, Table, label, plain_table
from vendor_verifier.values.capacity import CapacityReport, Point, VendorCapacity

_SENTENCE = 600
_TITLES = (
    "", "Requests", "Success", "429", "TTFT p50", "TTFT p95", "TPS", "Answers/s", "Tokens/s", "At once", "F1", "Schema",
    "Misses",
)  # fmt: skip


def render(report: CapacityReport) -> str:
    """The whole page, UTF-8-encodable."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    style = part("page.css")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(part("table.html.j2") + part("capacity.html.j2"))
    text: str = template.render(
        policy=policy(style, ""),
        # Ours, constant, and held by the policy to exactly these bytes.
        style=Markup(style),  # noqa: S704
        icon=svg.icon,
        t=str,
        run=label(report.run),
        verdicts=[_sentence(vendor, report) for vendor in report.vendors] or ["No vendor was measured"],
        meta=[report.created_at, f"agent-vendor-verifier {report.version}", f"{report.bounds.samples} samples"],
        warnings=[visible(warning) for warning in report.warnings],
        overview=_overview(report),
        vendors=[_vendor(vendor, report) for vendor in report.vendors],
        method=list(_method(report)),
    )
    return text


def _sentence(vendor: VendorCapacity, report: CapacityReport) -> str:
    bears = "–" if vendor.capacity is None else words.at(vendor.capacity, report.kind)
    return f"{label(vendor.label)}: {bears}"


def _overview(report: CapacityReport) -> Table:
    rows = [
        Row(
            label(f"{vendor.model} / {vendor.label}"),
            (
                tables.number(vendor.capacity),
                tables.number(vendor.broke_at),
                Cell(visible(words.verdict(vendor, report.kind), _SENTENCE)),
                tables.count(vendor.requests),
            ),
        )
        for vendor in report.vendors
    ]
    unit = words.unit(report.kind)
    titles = (f"Bears ({unit})", "Gave way at", "What was found", "Requests sent")
    return plain_table("What each vendor bears", "Vendor", titles, rows, prose=titles[2:3])


def _vendor(vendor: VendorCapacity, report: CapacityReport) -> dict[str, Any]:
    return {
        "name": label(f"{vendor.model} / {vendor.label}"),
        "verdict": visible(words.verdict(vendor, report.kind), _SENTENCE),
        "picture": _picture(vendor, report),
        "table": _table(vendor, report),
        "notes": [visible(note) for note in vendor.notes],
    }


def _picture(vendor: VendorCapacity, report: CapacityReport) -> Any:
    points = [point for point in vendor.points if point.level > 0]
    if not points:
        return None
    ttft = next((one.number for one in report.thresholds if "ttft" in one.metric and one.percentile), None)
    panels = (
        Panel(
            "Success and quality",
            (
                Trace("success", [_share(point) for point in points]),
                Trace("F1 against unloaded", [point.f1 for point in points]),
                Trace("schema", [point.schema_accuracy for point in points]),
            ),
            top=1.0,
        ),
        Panel(
            "Time to first token, ms",
            (
                Trace("p50", [point.ttft_p50_ms for point in points]),
                Trace("p95", [point.ttft_p95_ms for point in points]),
            ),
            limit=ttft,
            log=True,
        ),
        Panel("Answers a second", (Trace("answers/s", [point.requests_per_s for point in points]),)),
        Panel("Output tokens a second, one answer", (Trace("TPS", [point.tps for point in points]),)),
    )
    return curves(
        panels,
        [point.level for point in points],
        [point.outcome == "holds" for point in points],
        x_title=f"{words.unit(report.kind)} (hollow: does not hold; dashed: the limit)",
        label=f"{label(vendor.label)}: figures by level of load",
    )


def _share(point: Point) -> float | None:
    return point.succeeded / point.requests if point.requests else None


def _table(vendor: VendorCapacity, report: CapacityReport) -> Table:
    points = [*vendor.points, *([vendor.afterwards] if vendor.afterwards is not None else [])]
    rows = [
        Row(
            cells.quantity(point.level),
            (
                Cell(words.mark(point)),
                tables.count(point.requests),
                tables.share(_share(point)),
                tables.count(point.rate_limited),
                tables.number(point.ttft_p50_ms),
                tables.number(point.ttft_p95_ms),
                tables.number(point.tps),
                tables.number(point.requests_per_s),
                tables.number(point.tokens_per_s),
                tables.number(point.in_flight),
                tables.share(point.f1),
                tables.share(point.schema_accuracy),
                Cell(visible(words.why(point))),
            ),
        )
        for point in points
    ]
    unit = words.unit(report.kind)
    return plain_table(f"{label(vendor.label)}: levels of load", unit, _TITLES, rows, prose=_TITLES[-1:])


def _method(report: CapacityReport) -> Iterator[str]:
    yield "Limits: " + "; ".join(map(str, report.thresholds)) + " (ceiling: the vendor's own unloaded answers)."
    yield words.LEGEND
    yield from words.shown_needs(report)
    yield (
        "Vendors were asked one after the other, without retries and without giving way to refusals. Levels double "
        "until one does not hold; then the middle is tried."
    )
