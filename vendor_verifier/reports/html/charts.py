"""Drawing primitives of the inline charts, and the charts of price × speed × quality, F1 and invalid arguments.

Each function draws one picture from plain values and leaves out values that were not measured.

Every attribute and every text is escaped here. Colours are classes, because the page's policy allows no inline style
and because they change between light and dark.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

COLOURS = 8
# Outlines around (0, 0) that differ in form and not only in size, so that colour is never the only difference.
_SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "M-4.5-4.5h9v9h-9z",
    "M0-6L5.6 4.4H-5.6z",
    "M0-6.2L5 0L0 6.2L-5 0z",
    "M0 6L5.6-4.4H-5.6z",
    "M-1.8-5.6h3.6v3.8h3.8v3.6h-3.8v3.8h-3.6v-3.8h-3.8v-3.6h3.8z",
    "M0-6l5.7 4.1l-2.2 6.7h-7l-2.2-6.7z",
    "M-5.6-3.2L-3.2-5.6L0-2.4L3.2-5.6L5.6-3.2L2.4 0L5.6 3.2L3.2 5.6L0 2.4L-3.2 5.6L-5.6 3.2L-2.4 0z",
    "M0-6.5l1.7 4.2l4.5.3l-3.5 2.9l1.1 4.4l-3.8-2.4l-3.8 2.4l1.1-4.4l-3.5-2.9l4.5-.3z",
    "M-5.5 0L-2.8-4.8H2.8L5.5 0L2.8 4.8H-2.8z",
)
_GROUPED_FROM = 1000


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """An element, all of it escaped; ``class_`` is ``class``, ``_`` in names ``-``, ``None`` left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")  # noqa: S704


def _number(value: object) -> str:
    return short(value) if isinstance(value, float) else str(value)


def short(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def series(index: int) -> str:
    """The class that carries the colour of the ``index``-th vendor."""
    return f"s{index % COLOURS}"


def mark(index: int, x: float, y: float, *, scale: float = 1.0, hollow: bool = False) -> Markup:
    """The ``index``-th vendor's shape in its colour."""
    place = f"translate({short(x)} {short(y)})" + (f" scale({scale:.2f})" if scale != 1 else "")
    return tag(
        "path",
        d=_SHAPES[index % len(_SHAPES)],
        transform=place,
        class_=f"{series(index)} {'hollow' if hollow else 'solid'}",
    )


def icon(index: int) -> Markup:
    """The vendor's mark as a small picture for tables and headings."""
    return tag("svg", mark(index, 7.0, 7.0), class_="icon", viewBox="0 0 14 14", aria_hidden="true")


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("path", d=f"M{short(x1)} {short(y1)}L{short(x2)} {short(y2)}", class_=class_)


def text(x: float, y: float, words: str, class_: str | None = None, anchor: str | None = None) -> Markup:
    return tag("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


def group(*children: str, vendor: int | None = None, title: str | None = None, class_: str | None = None) -> Markup:
    """A group; ``vendor`` lets the page's filter find it, ``title`` is shown under the pointer."""
    named = (tag("title", title),) if title else ()
    return tag("g", *named, *children, data_v=vendor, class_=class_)


def picture(width: float, height: float, *children: str, label: str) -> Markup:
    """A whole chart, announced by ``label``."""
    return tag(
        "svg",
        tag("title", label),
        *children,
        class_="chart",
        role="img",
        aria_label=label,
        viewBox=f"0 0 {short(width)} {short(height)}",
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from ``low``..``high`` onto ``start``..``end`` pixels, logarithmic if ``log`` (then ``low`` > 0)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return self.start + (self.end - self.start) * (at - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round numbers inside the scale."""
        return _log_ticks(self.low, self.high) if self.log else _ticks(self.low, self.high)


def linear(values: Sequence[float], start: float, end: float, *, top: float | None = None) -> Scale:
    """A scale around ``values`` with a margin; ``top`` is a limit the values cannot pass."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    air = (high - low) * 0.12 or abs(high) * 0.1 or 1.0
    low, high = (max(0.0, low - air) if low >= 0 else low - air), high + air
    return Scale(low, high if top is None else min(max(top, low + 1e-9), high) if top > low else high, start, end)


def logarithmic(values: Sequence[float], start: float, end: float) -> Scale:
    """A logarithmic scale over the positive ``values``, at least a factor of two wide."""
    positive = [value for value in values if value > 0] or [1.0, 10.0]
    low, high = min(positive) / 1.1, max(positive) * 1.1
    return Scale(low, max(high, low * 2), start, end, log=True)


def _ticks(low: float, high: float, most: int = 6) -> list[float]:
    raw = (high - low) / most
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(position * step, 12) for position in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
        if len(found) <= 8:
            break
    return found if len(found) >= 2 else _ticks(low, high, 4)


def figure(value: float) -> str:
    """A tick's or a label's number: three significant digits, thousands grouped by a thin space."""
    if abs(value) >= _GROUPED_FROM:
        return f"{value:,.0f}".replace(",", "\u2009")
    return f"{value:.3g}"


WIDTH = 960.0
LABEL_WIDTH = 200.0
ROW = 30.0
_LABEL_CELLS = 24


@dataclass(frozen=True, slots=True)
class Seen:
    """A vendor as charts show it: ``index`` gives colour and shape, ``label`` is already made visible."""

    index: int
    label: str

    @property
    def short(self) -> str:
        """The label cut to the width charts have; wide (Chinese) characters count twice."""
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
    across = linear([bubble.x for bubble in bubbles], left, WIDTH - 24)
    up = linear([bubble.y for bubble in bubbles], bottom, 18.0, top=y_top)
    parts: list[Markup] = []
    for tick in up.ticks():
        parts += [
            line(left, up(tick), WIDTH - 24, up(tick), "grid"),
            text(left - 8, up(tick) + 4, figure(tick), anchor="end"),
        ]
    for tick in across.ticks():
        parts += [
            line(across(tick), bottom, across(tick), bottom + 5, "axis"),
            text(across(tick), bottom + 19, figure(tick), anchor="middle"),
        ]
    parts.append(line(left, bottom, WIDTH - 24, bottom, "axis"))
    parts.append(text((left + WIDTH) / 2, height - 8, x_title, "title", "middle"))
    parts.append(tag("text", y_title, class_="title", text_anchor="middle", transform="translate(16 174) rotate(-90)"))
    parts += _bubbles(bubbles, across, up)
    return picture(WIDTH, height, *parts, label=label)


def _bubbles(bubbles: Sequence[Bubble], across: Scale, up: Scale) -> list[Markup]:
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
            group(
                mark(bubble.vendor.index, x, y, scale=radius, hollow=bubble.size is None),
                text(at, baseline, bubble.vendor.short, "name", anchor),
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
    across = linear(known or [0.0, 1.0], LABEL_WIDTH, WIDTH - 76, top=1.0)
    parts = _vertical_grid(across, top, bottom)
    if ceiling is not None and ceiling.value is not None:
        parts += _band(ceiling, across, top, bottom, ceiling_label)
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        marks = [_name(row.vendor, y)]
        if row.value is None:
            marks.append(text(LABEL_WIDTH + 4, y + 4, missing, "quiet"))
        else:
            if row.low is not None and row.high is not None:
                marks.append(line(across(row.low), y, across(row.high), y, f"range {series(row.vendor.index)}"))
            marks.append(mark(row.vendor.index, across(row.value), y))
            marks.append(text(WIDTH - 4, y + 4, f"{row.value:.4f}{row.note}", "value", "end"))
        parts.append(group(*marks, vendor=row.vendor.index, title=row.vendor.label))
    return picture(WIDTH, bottom + 26, *parts, label=label)


def _band(ceiling: Dot, across: Scale, top: float, bottom: float, label: str) -> list[Markup]:
    value = across(ceiling.value or 0.0)
    parts = []
    if ceiling.low is not None and ceiling.high is not None:
        low, high = across(ceiling.low), across(ceiling.high)
        parts.append(tag("rect", x=low, y=top, width=high - low, height=bottom - top, class_="band"))
    anchor = "end" if value > WIDTH / 2 else "start"
    parts.append(line(value, top - 8, value, bottom, "ceiling"))
    parts.append(text(value, top - 14, f"{label} {ceiling.value or 0.0:.4f}", "name", anchor))
    return parts


def _vertical_grid(across: Scale, top: float, bottom: float, *, percent: bool = False) -> list[Markup]:
    parts = []
    for tick in across.ticks():
        words = f"{tick * 100:.3g} %" if percent else figure(tick)
        parts.append(line(across(tick), top, across(tick), bottom, "grid"))
        parts.append(text(across(tick), bottom + 18, words, anchor="middle"))
    return parts


def _name(vendor: Seen, y: float) -> Markup:
    """The vendor's mark and name at the left of its row."""
    return tag("g", mark(vendor.index, 10.0, y, scale=0.9), text(24.0, y + 4, vendor.short, "name"), class_="who")


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
    across = Scale(0.0, min(1.0, longest * 1.1) or 0.01, LABEL_WIDTH, WIDTH - 96)
    parts = [*_key(classes), *_vertical_grid(across, top, bottom, percent=True)]
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        at, pieces = 0.0, [_name(row.vendor, y)]
        for number, share in enumerate(row.shares):
            if share > 0:
                begin, end = across(at), across(at + share)
                box = {"x": begin, "y": y - 9, "width": max(1.0, end - begin), "height": 18.0}
                pieces.append(tag("rect", **box, class_=f"piece p{number}"))
                pieces.append(tag("rect", **box, fill=f"url(#hatch{number})"))
                at += share
        pieces.append(text(WIDTH - 4, y + 4, row.total, "value", "end"))
        parts.append(group(*pieces, vendor=row.vendor.index, title=row.vendor.label))
    parts.append(text((LABEL_WIDTH + WIDTH - 96) / 2, bottom + 38, x_title, "title", "middle"))
    return picture(WIDTH, bottom + 46, *parts, label=label)


def patterns() -> Markup:
    """The hatchings that pieces of bars refer to, once a page."""
    strokes = ("M0 0", "M0 8L8 0", "M0 0L8 8", "M0 4H8", "M4 0V8", "M0 0L8 8M0 8L8 0")
    size = {"width": 8, "height": 8, "patternUnits": "userSpaceOnUse"}
    drawn = (
        tag("pattern", tag("path", d=stroke, class_="hatch"), id=f"hatch{place}", **size)
        for place, stroke in enumerate(strokes)
    )
    return tag("svg", tag("defs", *drawn), class_="definitions", width=0, height=0, aria_hidden="true")


def _key(classes: Sequence[str]) -> list[Markup]:
    parts, x = [], LABEL_WIDTH
    for place, name in enumerate(classes):
        parts.append(tag("rect", x=x, y=6, width=14, height=14, class_=f"piece p{place}"))
        parts.append(tag("rect", x=x, y=6, width=14, height=14, fill=f"url(#hatch{place})"))
        parts.append(text(x + 20, 18, name))
        x += 34 + 7.0 * len(name)
    return parts
