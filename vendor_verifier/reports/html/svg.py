"""Drawing primitives of the inline charts: elements, scales, ticks and marks; it knows no vendor and no metric.

Every attribute and every text is escaped here. Colours are classes, because the page's policy allows no inline style
and because they change between light and dark.
"""

from __future__ import annotations

import math
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
    """A scale around ``values`` with some air; ``top`` is a limit the values cannot pass."""
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
