"""Curves over the levels of load: small panels on one axis of levels, with the limits and where they are missed.

Each panel draws its traces as lines through marks; marks are hollow where the level does not hold. It computes nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports.html import svg
from vendor_verifier.reports.html.svg import figure, short

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
        across = svg.logarithmic(levels, left + 52, left + wide - 10)
        parts += _panel(panel, levels, holds, across, top)
    height = _HEIGHT * ((len(panels) + 1) // 2) + 20
    parts.append(svg.text(WIDTH / 2, height - 4, x_title, "title", "middle"))
    return svg.picture(WIDTH, height, *parts, label=label)


def _panel(panel: Panel, levels: Sequence[float], holds: Sequence[bool], across: svg.Scale, top: float) -> list[Markup]:
    up = _upwards(panel, top)
    parts = [svg.text(across.start - 44, top + 16, panel.title, "name"), *_key(panel, across.end, top + 16)]
    for tick in up.ticks():
        parts.append(svg.line(across.start, up(tick), across.end, up(tick), "grid"))
        parts.append(svg.text(across.start - 6, up(tick) + 4, figure(tick), "small", "end"))
    shown_to = -_LABEL_PX
    for level in levels:
        x = across(level)
        parts.append(svg.line(x, up.start, x, up.start + 4, "axis"))
        if x - shown_to >= _LABEL_PX:
            parts.append(svg.text(x, up.start + 16, figure(level), "small", "middle"))
            shown_to = x
    parts.append(svg.line(across.start, up.start, across.end, up.start, "axis"))
    if panel.limit is not None and up.low <= panel.limit <= up.high:
        parts.append(svg.line(across.start, up(panel.limit), across.end, up(panel.limit), "ceiling"))
    for index, trace in enumerate(panel.traces):
        parts.append(_trace(index, trace, levels, holds, across, up))
    return parts


def _upwards(panel: Panel, top: float) -> svg.Scale:
    known = [value for trace in panel.traces for value in trace.values if value is not None]
    known += [panel.limit] if panel.limit is not None else []
    start, end = top + _HEIGHT - 30, top + 30
    return svg.logarithmic(known, start, end) if panel.log else svg.linear(known, start, end, top=panel.top)


def _key(panel: Panel, right: float, y: float) -> list[Markup]:
    """The traces' names with their marks, from the right edge leftwards."""
    parts, x = [], right
    for index, trace in reversed(list(enumerate(panel.traces))):
        parts.append(svg.text(x, y, trace.name, "small", "end"))
        x -= _width(trace.name) + 10
        parts.append(svg.mark(index, x, y - 4, scale=0.7))
        x -= 14
    return parts


def _width(name: str) -> float:
    """About how many pixels a name takes in small print; a Chinese character takes two letters' room."""
    return sum(11.5 if unicodedata.east_asian_width(letter) in "WF" else 6.2 for letter in name)


def _trace(
    index: int, trace: Trace, levels: Sequence[float], holds: Sequence[bool], across: svg.Scale, up: svg.Scale
) -> Markup:
    path, marks, is_joined = "", [], False
    for level, holding, value in zip(levels, holds, trace.values, strict=True):
        if value is None:
            is_joined = False
            continue
        x, y = across(level), up(value)
        path += f"{'L' if is_joined else 'M'}{short(x)} {short(y)}"
        is_joined = True
        marks.append(svg.mark(index, x, y, scale=0.8, hollow=not holding))
    line = svg.tag("path", d=path or "M0 0", class_=f"trend {svg.series(index)}")
    return svg.group(line, *marks, title=trace.name)
