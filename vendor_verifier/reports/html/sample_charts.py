"""Charts of single answers, drawn from plain values: times, tokens beside the baseline's, and the way over the run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import median

import msgspec
from markupsafe import Markup

from vendor_verifier.records.details import Histogram, Point
from vendor_verifier.records.score import PaceOverTime
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import LABEL_WIDTH, WIDTH, Scale, Seen, figure, short

_KEY_WIDTH, _KEY_ROW = 176.0, 21.0
_LEAST_HEIGHT = 250.0
_ROW = 30.0
_FEW = 12
_SLICES = 16
_PANEL_WIDTH, _PANEL_HEIGHT = 380.0, 150.0


class Curve(msgspec.Struct, frozen=True):
    """One vendor's measurements and their median."""

    vendor: Seen
    histogram: Histogram
    median: float


def cumulative(curves: Sequence[Curve], *, x_title: str, unit: str, label: str) -> Markup:
    """The share of answers at or below each value, a line a vendor on one logarithmic axis; the key has the medians."""
    known = [edge for curve in curves for edge in (curve.histogram.edges[0], curve.histogram.edges[-1])]
    top, left = 12.0, 50.0
    bottom = top + max(_LEAST_HEIGHT, _KEY_ROW * len(curves))
    across = charts.logarithmic(known, left, WIDTH - _KEY_WIDTH - 12)
    up = Scale(0.0, 1.0, bottom, top)
    parts = charts.vertical_grid(across, top, bottom)
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(charts.line(left, up(tick), across.end, up(tick), "grid"))
        parts.append(charts.text(left - 6, up(tick) + 4, f"{tick:.0%}", anchor="end"))
    for place, curve in enumerate(sorted(curves, key=lambda each: each.median)):
        index, y = curve.vendor.index, top + 6 + _KEY_ROW * place
        key = WIDTH - _KEY_WIDTH
        halfway = charts.mark(index, across(curve.median), up(0.5), scale=0.8)
        named = charts.text(key + 14, y + 4, curve.vendor.short, "name")
        told = charts.text(WIDTH - 2, y + 4, f"{figure(curve.median)}{unit}", "value", "end")
        path = charts.tag("path", d=_rising(curve.histogram, across, up), class_=f"trend {charts.series(index)}")
        marks = [path, halfway, charts.mark(index, key, y, scale=0.9), named, told]
        parts.append(charts.group(*marks, vendor=index, title=curve.vendor.label))
    parts.append(charts.text((left + across.end) / 2, bottom + 36, x_title, "title", "middle"))
    return charts.picture(WIDTH, bottom + 44, *parts, label=label)


def _rising(histogram: Histogram, across: Scale, up: Scale) -> str:
    whole = sum(histogram.counts)
    path = f"M{short(across(histogram.edges[0]))} {short(up(0.0))}"
    for right, below in zip(histogram.edges[1:], accumulate(histogram.counts), strict=True):
        path += f"L{across(right):.0f} {up(below / whole):.0f}"
    return path


class Strip(msgspec.Struct, frozen=True):
    """One vendor's values, one a sample."""

    vendor: Seen
    values: tuple[float, ...]


def strips(rows: Sequence[Strip], *, x_title: str, label: str) -> Markup:
    """A dot a sample in a row a vendor, with a bar at the median, which is written too; 1 is marked."""
    top = 10.0
    bottom = top + _ROW * len(rows)
    across = charts.logarithmic([0.7, 1.4, *(v for row in rows for v in row.values)], LABEL_WIDTH, WIDTH - 58)
    parts = charts.vertical_grid(across, top, bottom)
    parts.append(charts.line(across(1.0), top - 6, across(1.0), bottom, "ceiling"))
    for place, row in enumerate(rows):
        y, index, middle = top + _ROW * (place + 0.5), row.vendor.index, median(row.values)
        # Of many vendors every other place will do.
        step = 1 if len(rows) <= _FEW else 2
        dots = _dots(sorted({step * round(across(value) / step) for value in row.values}), y)
        parts.append(
            charts.group(
                charts.named_row(row.vendor, y),
                charts.tag("path", d=dots, class_=f"spots {charts.series(index)}"),
                charts.line(across(middle), y - 10, across(middle), y + 10, f"tick {charts.series(index)}"),
                charts.text(WIDTH - 2, y + 4, f"× {middle:.2f}", "value", "end"),
                vendor=index,
                title=row.vendor.label,
            )
        )
    parts.append(charts.text((LABEL_WIDTH + WIDTH - 58) / 2, bottom + 36, x_title, "title", "middle"))
    return charts.picture(WIDTH, bottom + 44, *parts, label=label)


def _dots(places: Sequence[int], y: float) -> str:
    """A dot at every place of a row, each told by its distance from the one before."""
    steps = (f"m{place - before} 0h0" for before, place in pairwise(places))
    return f"M{places[0]} {short(y)}h0" + "".join(steps)


class Track(msgspec.Struct, frozen=True):
    """One vendor's requests in time order."""

    vendor: Seen
    points: tuple[Point, ...]


class Slice(msgspec.Struct, frozen=True):
    """One stretch of the run: the median of its measurements, and the number of failed requests."""

    begin_s: float
    end_s: float
    median_ms: float | None
    failed: int
    requests: int


def slices(points: Sequence[Point], end_s: float, number: int = _SLICES) -> list[Slice]:
    """The run cut into equal stretches; stretches without a request are left out."""
    width = end_s / number or 1.0
    found = []
    for place in range(number):
        own = [point for point in points if min(number - 1, int(point.t_s / width)) == place]
        measured = [point.ttft_ms for point in own if point.ttft_ms is not None]
        if own:
            middle = median(measured) if measured else None
            failed = sum(not point.ok for point in own)
            found.append(Slice(place * width, (place + 1) * width, middle, failed, len(own)))
    return found


def panels(tracks: Sequence[Track], *, per_unit_s: float, label: str) -> list[Markup]:
    """A small picture a vendor, all on the same axes, so that colours need not be distinguished."""
    end_s = max((point.t_s for track in tracks for point in track.points), default=1.0) or 1.0
    values = [point.ttft_ms for track in tracks for point in track.points if point.ttft_ms is not None]
    across = Scale(0.0, end_s / per_unit_s, 40.0, _PANEL_WIDTH - 8)
    up = charts.logarithmic(values, _PANEL_HEIGHT - 24, 38.0)
    return [
        charts.picture(
            _PANEL_WIDTH,
            _PANEL_HEIGHT,
            _panel(track, across, up, per_unit_s, end_s),
            label=f"{label}: {track.vendor.label}",
        )
        for track in tracks
    ]


def _panel(track: Track, across: Scale, up: Scale, per_unit_s: float, end_s: float) -> Markup:
    index, colour = track.vendor.index, charts.series(track.vendor.index)
    marks = _axes(track.vendor, across, up)
    spots, crosses = [], []
    for point in track.points:
        x = across(point.t_s / per_unit_s)
        if not point.ok:
            crosses.append(f"M{short(x - 2.5)} {short(up.end - 11)}l5 5m0-5l-5 5")
        elif point.ttft_ms is not None:
            spots.append(f"M{short(x)} {short(up(point.ttft_ms))}h0")
    marks.append(charts.tag("path", d="".join(spots) or "M0 0", class_=f"spots {colour}"))
    if crosses:
        marks.append(charts.tag("path", d="".join(crosses), class_="crosses"))
    trend = _trend(track.points, end_s, across, up, per_unit_s)
    if trend:
        marks.append(charts.tag("path", d=trend, class_=f"trend {colour}"))
    return charts.group(*marks, vendor=index)


class Course(msgspec.Struct, frozen=True):
    """One vendor's load over time."""

    vendor: Seen
    load: PaceOverTime


def courses(loads: Sequence[Course], *, per_unit_s: float, label: str) -> list[Markup]:
    """A small picture a vendor of the requests in flight on average, all on the same axes."""
    end_s = max(each.load.step_s * len(each.load.in_flight) for each in loads)
    across = Scale(0.0, end_s / per_unit_s, 40.0, _PANEL_WIDTH - 8)
    most = max(value for each in loads for value in each.load.in_flight)
    up = Scale(0.0, most * 1.1 or 1.0, _PANEL_HEIGHT - 24, 38.0)
    return [
        charts.picture(
            _PANEL_WIDTH, _PANEL_HEIGHT, _course(each, across, up, per_unit_s), label=f"{label}: {each.vendor.label}"
        )
        for each in loads
    ]


def _course(each: Course, across: Scale, up: Scale, per_unit_s: float) -> Markup:
    path = ""
    for place, value in enumerate(each.load.in_flight):
        x = across((place + 0.5) * each.load.step_s / per_unit_s)
        path += f"{'L' if path else 'M'}{short(x)} {short(up(value))}"
    line = charts.tag("path", d=path or "M0 0", class_=f"trend {charts.series(each.vendor.index)}")
    return charts.group(*_axes(each.vendor, across, up), line, vendor=each.vendor.index)


def _axes(vendor: Seen, across: Scale, up: Scale) -> list[Markup]:
    """The vendor's name, and the grid of a small picture."""
    marks = [charts.mark(vendor.index, 12.0, 14.0, scale=0.9), charts.text(26.0, 18.0, vendor.short, "name")]
    for tick in up.ticks():
        marks.append(charts.line(across.start, up(tick), across.end, up(tick), "grid"))
        marks.append(charts.text(across.start - 5, up(tick) + 4, figure(tick), "small", "end"))
    for tick in across.ticks():
        marks.append(charts.text(across(tick), up.start + 16, figure(tick), "small", "middle"))
    return marks


def _trend(points: Sequence[Point], end_s: float, across: Scale, up: Scale, per_unit_s: float) -> str:
    """A line through the medians of the slices, broken where a slice measured nothing; "" without any."""
    path, before_s = "", -1.0
    for part in slices(points, end_s):
        if part.median_ms is not None:
            joined = abs(part.begin_s - before_s) < 1e-6 * (end_s or 1.0)
            x, y = across((part.begin_s + part.end_s) / 2 / per_unit_s), up(part.median_ms)
            path += f"{'L' if joined else 'M'}{short(x)} {short(y)}" + ("" if joined else "h0")
            before_s = part.end_s
    return path
