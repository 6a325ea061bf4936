"""Charts of speed over requests and over time, drawn from plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import LABEL_WIDTH, WIDTH, Seen, figure, short
from vendor_verifier.values.details import Histogram, Point
from vendor_verifier.values.score import Distribution

_ROW = 42.0
_SLICES = 16
_PANEL_HEIGHT = 132.0


@dataclass(frozen=True, slots=True)
class Spread:
    """One vendor's measurements: the summary and, if it was drawn, the histogram."""

    vendor: Seen
    summary: Distribution | None
    histogram: Histogram | None


def ridges(rows: Sequence[Spread], *, missing: str, label: str) -> Markup:
    """A histogram a row on one logarithmic axis, with median and 95th percentile; each row has its own height."""
    known = [edge for row in rows for edge in (row.histogram.edges if row.histogram else _extent(row.summary))]
    across = charts.logarithmic(known, LABEL_WIDTH, WIDTH - 120)
    top = 10.0
    bottom = top + _ROW * len(rows)
    parts = []
    for tick in across.ticks():
        parts.append(charts.line(across(tick), top, across(tick), bottom, "grid"))
        parts.append(charts.text(across(tick), bottom + 18, figure(tick), anchor="middle"))
    for place, row in enumerate(rows):
        parts.append(_ridge(row, across, top + _ROW * (place + 1) - 6, missing))
    return charts.picture(WIDTH, bottom + 26, *parts, label=label)


def _extent(summary: Distribution | None) -> tuple[float, ...]:
    found = () if summary is None else (summary.min, summary.p50, summary.p95, summary.max)
    return tuple(value for value in found if value is not None)


def _ridge(row: Spread, across: charts.Scale, base: float, missing: str) -> Markup:
    index, summary = row.vendor.index, row.summary
    colour = charts.series(index)
    marks = [charts.mark(index, 10.0, base - 10, scale=0.9), charts.text(24.0, base - 6, row.vendor.short, "name")]
    if summary is None or summary.p50 is None:
        marks.append(charts.text(LABEL_WIDTH + 4, base - 6, missing, "quiet"))
        return charts.group(*marks, vendor=index, title=row.vendor.label)
    if row.histogram is not None:
        marks.append(charts.tag("path", d=_steps(row.histogram, across, base), class_=f"area {colour}"))
    elif summary.min is not None and summary.max is not None:
        marks.append(charts.line(across(summary.min), base - 8, across(summary.max), base - 8, f"range {colour}"))
    marks.append(charts.line(LABEL_WIDTH, base, WIDTH - 120, base, "axis"))
    marks.append(charts.line(across(summary.p50), base - 30, across(summary.p50), base + 3, f"tick {colour}"))
    p95 = summary.p95
    if p95 is not None:
        marks.append(charts.line(across(p95), base - 18, across(p95), base + 3, f"thin {colour}"))
    marks.append(charts.text(WIDTH - 4, base - 13, f"p50 {figure(summary.p50)}", "value", "end"))
    if p95 is not None:
        marks.append(charts.text(WIDTH - 4, base + 1, f"p95 {figure(p95)}", "quiet", "end"))
    return charts.group(*marks, vendor=index, title=row.vendor.label)


def _steps(histogram: Histogram, across: charts.Scale, base: float) -> str:
    """The histogram's outline, closed along its base."""
    most = max(histogram.counts)
    path = f"M{short(across(histogram.edges[0]))} {short(base)}"
    for right, height in zip(histogram.edges[1:], histogram.counts, strict=True):
        path += f"V{short(base - 28 * height / most)}H{short(across(right))}"
    return path + f"V{short(base)}z"


@dataclass(frozen=True, slots=True)
class Track:
    """One vendor's requests in time order."""

    vendor: Seen
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Slice:
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


def panels(tracks: Sequence[Track], *, x_title: str, per_unit_s: float, label: str) -> Markup:
    """A small picture a vendor, two in a row, all on the same axes, so that colours need not be distinguished."""
    end_s = max((point.t_s for track in tracks for point in track.points), default=1.0) or 1.0
    values = [point.ttft_ms for track in tracks for point in track.points if point.ttft_ms is not None]
    gap = 20.0
    wide = (WIDTH - gap) / 2
    parts = []
    for place, track in enumerate(tracks):
        column, line = place % 2, place // 2
        left, top = column * (wide + gap), line * _PANEL_HEIGHT
        across = charts.Scale(0.0, end_s / per_unit_s, left + 40, left + wide - 6)
        up = charts.logarithmic(values, top + _PANEL_HEIGHT - 26, top + 36)
        parts.append(_panel(track, across, up, per_unit_s, end_s))
    height = _PANEL_HEIGHT * ((len(tracks) + 1) // 2) + 22
    parts.append(charts.text(WIDTH / 2, height - 4, x_title, "title", "middle"))
    return charts.picture(WIDTH, height, *parts, label=label)


def _panel(track: Track, across: charts.Scale, up: charts.Scale, per_unit_s: float, end_s: float) -> Markup:
    index, left, right = track.vendor.index, across.start, across.end
    top = up.end
    marks = [
        charts.mark(index, left - 28, top - 24, scale=0.9),
        charts.text(left - 14, top - 20, track.vendor.short, "name"),
    ]
    for tick in up.ticks():
        marks.append(charts.line(left, up(tick), right, up(tick), "grid"))
        marks.append(charts.text(left - 5, up(tick) + 4, figure(tick), "small", "end"))
    for tick in across.ticks():
        marks.append(charts.text(across(tick), up.start + 15, figure(tick), "small", "middle"))
    spots, crosses = [], []
    for point in track.points:
        x = across(point.t_s / per_unit_s)
        if not point.ok:
            crosses.append(f"M{short(x - 2.5)} {short(top - 11)}l5 5m0-5l-5 5")
        elif point.ttft_ms is not None:
            spots.append(f"M{short(x)} {short(up(point.ttft_ms))}h0")
    marks.append(charts.tag("path", d="".join(spots) or "M0 0", class_=f"spots {charts.series(index)}"))
    if crosses:
        marks.append(charts.tag("path", d="".join(crosses), class_="crosses"))
    trend = _trend(track.points, end_s, across, up, per_unit_s)
    if trend:
        marks.append(charts.tag("path", d=trend, class_=f"trend {charts.series(index)}"))
    return charts.group(*marks, vendor=index, title=track.vendor.label)


def _trend(points: Sequence[Point], end_s: float, across: charts.Scale, up: charts.Scale, per_unit_s: float) -> str:
    """A line through the medians of the slices, broken where a slice measured nothing; "" without any."""
    path, before_s = "", -1.0
    for part in slices(points, end_s):
        if part.median_ms is not None:
            joined = abs(part.begin_s - before_s) < 1e-6 * (end_s or 1.0)
            x, y = across((part.begin_s + part.end_s) / 2 / per_unit_s), up(part.median_ms)
            path += f"{'L' if joined else 'M'}{short(x)} {short(y)}" + ("" if joined else "h0")
            before_s = part.end_s
    return path
