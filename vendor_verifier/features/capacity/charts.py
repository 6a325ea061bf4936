"""Curves over the levels of load: small panels on one axis of levels, with the limits and where they are missed.

Each panel draws its traces as lines through marks; marks are hollow where the level does not hold. It computes nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import figure, short

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
    """All panels, two in a row; ``levels`` rise and are above 0, ``holds`` says which of them keep every limit."""
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
    for level in levels:
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
