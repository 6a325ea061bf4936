"""Charts of what the vendors are worth: price × speed × quality, F1 with its ceiling, arguments that do not fit.

Each function draws one picture from plain values and says nothing where nothing was measured.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports.html import svg
from vendor_verifier.reports.html.svg import figure

WIDTH = 960.0
LABEL_WIDTH = 200.0
ROW = 30.0
_LABEL_CELLS = 24


@dataclass(frozen=True, slots=True)
class Seen:
    """A vendor as charts name it: ``index`` gives colour and shape, ``label`` is already made visible."""

    index: int
    label: str

    @property
    def short(self) -> str:
        """The label cut to the room charts have; wide (Chinese) characters take two places."""
        if _cells(self.label) <= _LABEL_CELLS:
            return self.label
        kept = self.label
        while _cells(kept) >= _LABEL_CELLS:
            kept = kept[:-1]
        return kept + "…"


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


@dataclass(frozen=True, slots=True)
class Bubble:
    """One vendor of the scatter; ``size`` in 0..1, None when its speed is not known."""

    vendor: Seen
    x: float
    y: float
    size: float | None
    title: str


def scatter(bubbles: Sequence[Bubble], *, x_title: str, y_title: str, y_top: float | None, label: str) -> Markup:
    """Quality over price; the mark's size is the speed, hollow where that was not measured."""
    height, left, bottom = 380.0, 64.0, 330.0
    across = svg.linear([bubble.x for bubble in bubbles], left, WIDTH - 24)
    up = svg.linear([bubble.y for bubble in bubbles], bottom, 18.0, top=y_top)
    parts: list[Markup] = []
    for tick in up.ticks():
        parts += [
            svg.line(left, up(tick), WIDTH - 24, up(tick), "grid"),
            svg.text(left - 8, up(tick) + 4, figure(tick), anchor="end"),
        ]
    for tick in across.ticks():
        parts += [
            svg.line(across(tick), bottom, across(tick), bottom + 5, "axis"),
            svg.text(across(tick), bottom + 19, figure(tick), anchor="middle"),
        ]
    parts.append(svg.line(left, bottom, WIDTH - 24, bottom, "axis"))
    parts.append(svg.text((left + WIDTH) / 2, height - 8, x_title, "title", "middle"))
    parts.append(
        svg.tag("text", y_title, class_="title", text_anchor="middle", transform="translate(16 174) rotate(-90)")
    )
    parts += _bubbles(bubbles, across, up)
    return svg.picture(WIDTH, height, *parts, label=label)


def _bubbles(bubbles: Sequence[Bubble], across: svg.Scale, up: svg.Scale) -> list[Markup]:
    """Marks, then names beside them, moved apart where they would lie on each other."""
    drawn, taken = [], [(across(b.x) - 9, across(b.x) + 9, up(b.y)) for b in bubbles]
    for bubble in sorted(bubbles, key=lambda one: (-one.y, one.x)):
        x, y = across(bubble.x), up(bubble.y)
        radius = 0.9 + 1.5 * (bubble.size or 0.0)
        width, reach = 7.0 * _cells(bubble.vendor.short), 6 * radius + 5
        sides = [(x + reach, "start"), (x - reach, "end")]
        if x + reach + width > WIDTH:
            sides.reverse()
        place = next(
            (
                (at, anchor, y + 4 + shift)
                for shift in (0, 13, -13, 26, -26)
                for at, anchor in sides
                if _free(at, anchor, width, y + shift, taken)
            ),
            (sides[0][0], sides[0][1], y + 4),
        )
        at, anchor, baseline = place
        begin = at if anchor == "start" else at - width
        taken.append((begin, begin + width, baseline - 4))
        drawn.append(
            svg.group(
                svg.mark(bubble.vendor.index, x, y, scale=radius, hollow=bubble.size is None),
                svg.text(at, baseline, bubble.vendor.short, "name", anchor),
                vendor=bubble.vendor.index,
                title=bubble.title,
                class_="bubble",
            )
        )
    return drawn


def _free(at: float, anchor: str, width: float, y: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    begin, end = (at, at + width) if anchor == "start" else (at - width, at)
    if begin < 40 or end > WIDTH:
        return False
    return all(end < left or begin > right or abs(y - other) > 11 for left, right, other in taken)


@dataclass(frozen=True, slots=True)
class Dot:
    """One vendor's figure with its interval, any of which may be unknown; ``note`` marks the written figure."""

    vendor: Seen
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


def dots(rows: Sequence[Dot], *, ceiling: Dot | None, ceiling_label: str, missing: str, label: str) -> Markup:
    """A row a vendor: the figure, its interval as a bar, and the ceiling as a band behind all of them."""
    top = 34.0 if ceiling is not None else 12.0
    bottom = top + ROW * len(rows)
    known = [
        v for row in [*rows, *([ceiling] if ceiling else [])] for v in (row.value, row.low, row.high) if v is not None
    ]
    across = svg.linear(known or [0.0, 1.0], LABEL_WIDTH, WIDTH - 76, top=1.0)
    parts = _vertical_grid(across, top, bottom)
    if ceiling is not None and ceiling.value is not None:
        parts += _band(ceiling, across, top, bottom, ceiling_label)
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        marks = [_name(row.vendor, y)]
        if row.value is None:
            marks.append(svg.text(LABEL_WIDTH + 4, y + 4, missing, "quiet"))
        else:
            if row.low is not None and row.high is not None:
                marks.append(svg.line(across(row.low), y, across(row.high), y, f"range {svg.series(row.vendor.index)}"))
            marks.append(svg.mark(row.vendor.index, across(row.value), y))
            marks.append(svg.text(WIDTH - 4, y + 4, f"{row.value:.4f}{row.note}", "value", "end"))
        parts.append(svg.group(*marks, vendor=row.vendor.index, title=row.vendor.label))
    return svg.picture(WIDTH, bottom + 26, *parts, label=label)


def _band(ceiling: Dot, across: svg.Scale, top: float, bottom: float, label: str) -> list[Markup]:
    value = across(ceiling.value or 0.0)
    parts = []
    if ceiling.low is not None and ceiling.high is not None:
        low, high = across(ceiling.low), across(ceiling.high)
        parts.append(svg.tag("rect", x=low, y=top, width=high - low, height=bottom - top, class_="band"))
    anchor = "end" if value > WIDTH / 2 else "start"
    parts.append(svg.line(value, top - 8, value, bottom, "ceiling"))
    parts.append(svg.text(value, top - 14, f"{label} {ceiling.value or 0.0:.4f}", "name", anchor))
    return parts


def _vertical_grid(across: svg.Scale, top: float, bottom: float, *, percent: bool = False) -> list[Markup]:
    parts = []
    for tick in across.ticks():
        words = f"{tick * 100:.3g} %" if percent else figure(tick)
        parts.append(svg.line(across(tick), top, across(tick), bottom, "grid"))
        parts.append(svg.text(across(tick), bottom + 18, words, anchor="middle"))
    return parts


def _name(vendor: Seen, y: float) -> Markup:
    """The vendor's mark and name at the left of its row."""
    return svg.tag(
        "g", svg.mark(vendor.index, 10.0, y, scale=0.9), svg.text(24.0, y + 4, vendor.short, "name"), class_="who"
    )


@dataclass(frozen=True, slots=True)
class Stack:
    """One vendor's shares of 1 by class, in the classes' order; ``total`` is written beside the bar."""

    vendor: Seen
    shares: tuple[float, ...]
    total: str


def stacks(rows: Sequence[Stack], classes: Sequence[str], *, x_title: str, label: str) -> Markup:
    """A bar a vendor, one piece a class; pieces differ in colour and in pattern, the key stands above."""
    top = 34.0
    bottom = top + ROW * len(rows)
    longest = max((sum(row.shares) for row in rows), default=0.0)
    across = svg.Scale(0.0, min(1.0, longest * 1.1) or 0.01, LABEL_WIDTH, WIDTH - 96)
    parts = [*_key(classes), *_vertical_grid(across, top, bottom, percent=True)]
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        at, pieces = 0.0, [_name(row.vendor, y)]
        for number, share in enumerate(row.shares):
            if share > 0:
                begin, end = across(at), across(at + share)
                box = {"x": begin, "y": y - 9, "width": max(1.0, end - begin), "height": 18.0}
                pieces.append(svg.tag("rect", **box, class_=f"piece p{number}"))
                pieces.append(svg.tag("rect", **box, fill=f"url(#hatch{number})"))
                at += share
        pieces.append(svg.text(WIDTH - 4, y + 4, row.total, "value", "end"))
        parts.append(svg.group(*pieces, vendor=row.vendor.index, title=row.vendor.label))
    parts.append(svg.text((LABEL_WIDTH + WIDTH - 96) / 2, bottom + 38, x_title, "title", "middle"))
    return svg.picture(WIDTH, bottom + 46, *parts, label=label)


def patterns() -> Markup:
    """The hatchings that pieces of bars refer to, once a page."""
    strokes = ("M0 0", "M0 8L8 0", "M0 0L8 8", "M0 4H8", "M4 0V8", "M0 0L8 8M0 8L8 0")
    size = {"width": 8, "height": 8, "patternUnits": "userSpaceOnUse"}
    drawn = (
        svg.tag("pattern", svg.tag("path", d=stroke, class_="hatch"), id=f"hatch{place}", **size)
        for place, stroke in enumerate(strokes)
    )
    return svg.tag("svg", svg.tag("defs", *drawn), class_="definitions", width=0, height=0, aria_hidden="true")


def _key(classes: Sequence[str]) -> list[Markup]:
    parts, x = [], LABEL_WIDTH
    for place, name in enumerate(classes):
        parts.append(svg.tag("rect", x=x, y=6, width=14, height=14, class_=f"piece p{place}"))
        parts.append(svg.tag("rect", x=x, y=6, width=14, height=14, fill=f"url(#hatch{place})"))
        parts.append(svg.text(x + 20, 18, name))
        x += 34 + 7.0 * len(name)
    return parts
