"""Drawing primitives of the inline charts, and the chart of price × speed × quality.

Every attribute and every text is escaped here. Colours are classes, because the page's policy allows no inline style
and because they change between light and dark.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence

import msgspec
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
    """The ``index``-th vendor's shape in its colour; the page holds :func:`shapes`."""
    place = f"translate({short(x)} {short(y)})" + (f" scale({scale:.2g})" if scale != 1 else "")
    return tag("use", href=_shape(index), transform=place, class_=f"{series(index)} {'hollow' if hollow else 'solid'}")


def icon(index: int) -> Markup:
    """The vendor's mark as a small picture for tables and headings; the page holds :func:`shapes`."""
    shape = tag("use", href=_shape(index))
    return tag("svg", shape, class_=f"icon {series(index)}", viewBox="-7 -7 14 14", aria_hidden="true")


def _shape(index: int) -> str:
    return f"#i{index % len(_SHAPES)}"


def shapes() -> Markup:
    """The shapes that marks and icons refer to, once a page."""
    drawn = (tag("path", d=shape, id=f"i{place}") for place, shape in enumerate(_SHAPES))
    return tag("svg", tag("defs", *drawn), class_="definitions", width=0, height=0, aria_hidden="true")


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


class Scale(msgspec.Struct, frozen=True):
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


# Two pictures stand beside each other on a screen; on a telephone one is drawn at about half its size.
WIDTH = 600.0
LABEL_WIDTH = 150.0
LABEL_CELLS = 19


class Seen(msgspec.Struct, frozen=True):
    """A vendor as charts show it: ``index`` gives colour and shape, ``label`` is already made visible."""

    index: int
    label: str

    @property
    def short(self) -> str:
        """The label cut to the width charts have; wide (Chinese) characters count twice."""
        if _cells(self.label) <= LABEL_CELLS:
            return self.label
        kept = self.label
        while _cells(kept) >= LABEL_CELLS:
            kept = kept[:-1]
        return kept + "…"


def text_width(words: str) -> float:
    """About how wide a chart's text is drawn."""
    return 7.2 * _cells(words)


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


class Bubble(msgspec.Struct, frozen=True):
    """One vendor of the scatter; ``size`` in 0..1, None when its speed is not known."""

    vendor: Seen
    x: float
    y: float
    size: float | None
    title: str


def scatter(bubbles: Sequence[Bubble], *, x_title: str, y_title: str, y_top: float | None, label: str) -> Markup:
    """Quality over price; the mark's size is the speed, hollow where that was not measured."""
    height, left, bottom = 340.0, 56.0, 292.0
    across = linear([bubble.x for bubble in bubbles], left, WIDTH - 12)
    up = linear([bubble.y for bubble in bubbles], bottom, 18.0, top=y_top)
    parts: list[Markup] = []
    for tick in up.ticks():
        parts += [
            line(left, up(tick), WIDTH - 12, up(tick), "grid"),
            text(left - 8, up(tick) + 4, figure(tick), anchor="end"),
        ]
    for tick in across.ticks():
        parts += [
            line(across(tick), bottom, across(tick), bottom + 5, "axis"),
            text(across(tick), bottom + 19, figure(tick), anchor="middle"),
        ]
    parts.append(line(left, bottom, WIDTH - 12, bottom, "axis"))
    parts.append(text((left + WIDTH) / 2, height - 8, x_title, "title", "middle"))
    parts.append(tag("text", y_title, class_="title", text_anchor="middle", transform="translate(13 155) rotate(-90)"))
    parts += _bubbles(bubbles, across, up)
    return picture(WIDTH, height, *parts, label=label)


def _bubbles(bubbles: Sequence[Bubble], across: Scale, up: Scale) -> list[Markup]:
    """Marks, then names beside them, moved apart where they would lie on each other."""
    drawn, taken = [], [(across(b.x) - 10, across(b.x) + 10, up(b.y)) for b in bubbles]
    for bubble in sorted(bubbles, key=lambda one: (-one.y, one.x)):
        x, y = across(bubble.x), up(bubble.y)
        radius = 0.9 + 1.0 * (bubble.size or 0.0)
        width, reach = text_width(bubble.vendor.short), 6 * radius + 5
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


def vertical_grid(across: Scale, top: float, bottom: float, written: Callable[[float], str] = figure) -> list[Markup]:
    """A line from ``top`` to ``bottom`` at every tick of a scale, with the tick's number below."""
    parts = []
    for tick in across.ticks():
        parts.append(line(across(tick), top, across(tick), bottom, "grid"))
        parts.append(text(across(tick), bottom + 17, written(tick), anchor="middle"))
    return parts


def named_row(vendor: Seen, y: float) -> Markup:
    """The vendor's mark and name at the left of its row."""
    return tag("g", mark(vendor.index, 8.0, y, scale=0.9), text(20.0, y + 4, vendor.short, "name"), class_="who")
