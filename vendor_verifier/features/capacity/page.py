"""capacity.html: the curves of a search for capacity, one file that loads and runs nothing; it computes nothing.

Everything a stranger wrote passes ``visible`` and then the template's or the drawing's escaping, as in report.html.

Its charts are small panels on one axis of levels, with the limits and where they are missed. Each draws its traces as
lines through marks; marks are hollow where the level does not hold.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from vendor_verifier.features.capacity.text import at, levels, shown_needs, succeeded_share, told_shape, verdict
from vendor_verifier.features.capacity.values import CapacityReport, Point, VendorCapacity
from vendor_verifier.reports import number_format, tables
from vendor_verifier.reports.escape import MAX_SENTENCE, visible
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import figure, short
from vendor_verifier.reports.html.page import drawn
from vendor_verifier.reports.tables import Cell, Column, Item, Table, page_label
from vendor_verifier.words import Texts

WIDTH = 960.0
_HEIGHT = 216.0
_GAP = 24.0
_LABEL_PX = 30.0


@dataclass(frozen=True, slots=True)
class Trace:
    """One figure at every level, ``None`` where it was not measured."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Panel:
    """Traces on one scale. ``limit`` is drawn as a dashed line, ``top`` a value that cannot be passed."""

    title: str
    traces: Sequence[Trace]
    limit: float | None = None
    top: float | None = None
    log: bool = False


def curves(
    panels: Sequence[Panel], levels: Sequence[float], holds: Sequence[bool], *, x_title: str, label: str
) -> Markup:
    """All panels, two in a row; ``levels`` are above 0, joined as they stand, ``holds`` says which keep every limit."""
    wide = (WIDTH - _GAP) / 2
    parts: list[Markup] = []
    for place, panel in enumerate(panels):
        left, top = (place % 2) * (wide + _GAP), (place // 2) * _HEIGHT
        across = charts.logarithmic(levels, left + 52, left + wide - 10)
        parts += _panel(panel, levels, holds, across, top)
    height = _HEIGHT * ((len(panels) + 1) // 2) + 20
    parts.append(charts.text(WIDTH / 2, height - 4, x_title, "title", "middle"))
    return charts.picture(WIDTH, height, *parts, label=label)


def _panel(
    panel: Panel, levels: Sequence[float], holds: Sequence[bool], across: charts.Scale, top: float
) -> list[Markup]:
    up = _upwards(panel, top)
    parts = [charts.text(across.start - 44, top + 16, panel.title, "name"), *_key(panel, across.end, top + 16)]
    for tick in up.ticks():
        parts.append(charts.line(across.start, up(tick), across.end, up(tick), "grid"))
        parts.append(charts.text(across.start - 6, up(tick) + 4, figure(tick), "small", "end"))
    shown_to = -_LABEL_PX
    for level in sorted(levels):
        x = across(level)
        parts.append(charts.line(x, up.start, x, up.start + 4, "axis"))
        if x - shown_to >= _LABEL_PX:
            parts.append(charts.text(x, up.start + 16, figure(level), "small", "middle"))
            shown_to = x
    parts.append(charts.line(across.start, up.start, across.end, up.start, "axis"))
    if panel.limit is not None and up.low <= panel.limit <= up.high:
        parts.append(charts.line(across.start, up(panel.limit), across.end, up(panel.limit), "ceiling"))
    for index, trace in enumerate(panel.traces):
        parts.append(_trace(index, trace, levels, holds, across, up))
    return parts


def _upwards(panel: Panel, top: float) -> charts.Scale:
    known = [value for trace in panel.traces for value in trace.values if value is not None]
    known += [panel.limit] if panel.limit is not None else []
    start, end = top + _HEIGHT - 30, top + 30
    return charts.logarithmic(known, start, end) if panel.log else charts.linear(known, start, end, top=panel.top)


def _key(panel: Panel, right: float, y: float) -> list[Markup]:
    """The traces' names with their marks, from the right edge leftwards."""
    parts, x = [], right
    for index, trace in reversed(list(enumerate(panel.traces))):
        parts.append(charts.text(x, y, trace.name, "small", "end"))
        x -= _width(trace.name) + 10
        parts.append(charts.mark(index, x, y - 4, scale=0.7))
        x -= 14
    return parts


def _width(name: str) -> float:
    """About how many pixels a name takes in small print; a Chinese character takes two letters' room."""
    return sum(11.5 if unicodedata.east_asian_width(letter) in "WF" else 6.2 for letter in name)


def _trace(
    index: int, trace: Trace, levels: Sequence[float], holds: Sequence[bool], across: charts.Scale, up: charts.Scale
) -> Markup:
    path, marks, is_joined = "", [], False
    for level, holding, value in zip(levels, holds, trace.values, strict=True):
        if value is None:
            is_joined = False
            continue
        x, y = across(level), up(value)
        path += f"{'L' if is_joined else 'M'}{short(x)} {short(y)}"
        is_joined = True
        marks.append(charts.mark(index, x, y, scale=0.8, hollow=not holding))
    line = charts.tag("path", d=path or "M0 0", class_=f"trend {charts.series(index)}")
    return charts.group(line, *marks, title=trace.name)


_SENTENCE = 600
_FEW = 3
# One point is no curve.
_LEAST_CURVE = 2


def render(report: CapacityReport) -> str:
    """The whole page, UTF-8-encodable."""
    t = Texts()
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
        warnings=[visible(warning, MAX_SENTENCE) for warning in report.warnings],
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
        "throughput": _throughput(vendor, report, t),
        "shape": list(told_shape(vendor, report.kind, t)),
        "table": levels(vendor, report, t),
        "notes": [visible(note, MAX_SENTENCE) for note in vendor.notes],
    }


def _trace_of(title: str, key: str, points: Sequence[Point]) -> Trace:
    return Trace(title, [getattr(point, key) for point in points])


def _panels(points: Sequence[Point], report: CapacityReport, t: Texts) -> tuple[Panel, Panel, Panel]:
    """Success and quality, time to first token, and speed."""
    success = Trace(t("capacity_success"), [succeeded_share(point) for point in points])
    figures = ((t("capacity_f1"), "f1"), (t("capacity_schema"), "schema_accuracy"))
    quality = (success, *(_trace_of(title, key, points) for title, key in figures))
    times = tuple(_trace_of(title, key, points) for title, key in (("p50", "ttft_p50_ms"), ("p95", "ttft_p95_ms")))
    limits = (one for one in report.thresholds if "ttft" in one.metric and one.percentile and not one.times)
    ttft = next((one.number for one in limits), None)
    return (
        Panel(t("capacity_quality"), quality, top=1.0),
        Panel(t("capacity_ttft"), times, limit=ttft, log=True),
        Panel(t("capacity_tokens"), (_trace_of("TPS", "tps", points),)),
    )


def _throughput(vendor: VendorCapacity, report: CapacityReport, t: Texts) -> Any:
    """The same figures against the answers a second that came, joined from level to level."""
    points = [point for point in vendor.points if point.requests_per_s]
    if len(points) < _LEAST_CURVE:
        return None
    return curves(
        _panels(points, report, t),
        [point.requests_per_s or 0.0 for point in points],
        [_holds(point) for point in points],
        x_title=t("capacity_by_answers"),
        label=t("capacity_throughput", label=page_label(vendor.label)),
    )


def _picture(vendor: VendorCapacity, report: CapacityReport, t: Texts) -> Any:
    points = [point for point in vendor.points if point.level > 0]
    if not points:
        return None
    quality, times, speed = _panels(points, report, t)
    answers = Panel(t("capacity_answers"), (_trace_of(t("capacity_answers_key"), "requests_per_s", points),))
    panels = (quality, times, answers, speed)
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
    yield t("capacity_order_swept" if report.bounds.sweep else "capacity_order")
    yield t("capacity_knee_rule")
