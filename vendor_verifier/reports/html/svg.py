"""The two charts of report.html as inline SVG: the distribution of TTFT, and price × quality.

Colours are classes, because the page's policy allows no inline style and because they differ in the dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from markupsafe import Markup

from vendor_verifier.records.results import Status

WIDTH, HEIGHT, LEFT = 500.0, 310.0, 48.0
PANEL_WIDTH, PANEL_HEIGHT = 190.0, 96.0
SHARES = np.linspace(0, 1, 41)
LETTER = 6.9
# Strokes in a box of 18 × 18; their shapes differ, so that colour is never the only difference.
ICONS: dict[Status, str] = {
    "matches": "M3 9.5l4 4L15 4",
    "check": "M9 2.5L16.5 15.5H1.5zM9 7v4M9 13.2v.1",
    "differs": "M4 4l10 10M14 4L4 14",
    "down": "M9 2a7 7 0 1 0 .01 0zM5.5 9h7",
    "not_tested": "M6 6.5a3 3 0 1 1 4.4 2.6c-.9.5-1.4 1-1.4 2.2M9 14.6v.1",
    "reference": "M9 2.5L15.5 9L9 15.5L2.5 9z",
}


class Point(msgspec.Struct, frozen=True):
    """A vendor of the price × quality chart; ``title`` gives its figures in words."""

    label: str
    status: Status
    price: float
    quality: float
    title: str


def symbols() -> Markup:
    """The icons by status that the page refers to, once a page."""
    drawn = Markup("").join(
        Markup('<symbol id="{}" viewBox="0 0 18 18"><path d="{}"/></symbol>').format(status, path)
        for status, path in ICONS.items()
    )
    return Markup('<svg width="0" height="0" aria-hidden="true" class="symbols"><defs>{}</defs></svg>').format(drawn)


def time_span(times: Sequence[np.ndarray]) -> tuple[float, float]:
    """The common axis of all panels, ms: all times but the outermost 1 % of each vendor."""
    low = min(float(np.quantile(each, 0.01)) for each in times) / 1.1
    high = max(float(np.quantile(each, 0.99)) for each in times) * 1.1
    return low, max(high, 2 * low)


def ttft_panel(
    times: np.ndarray, baseline: np.ndarray | None, span: tuple[float, float], name: str, *, is_exception: bool
) -> Markup:
    """Share of requests over TTFT in ms, logarithmic; the baseline dashed behind it."""
    bottom, right = PANEL_HEIGHT - 18, PANEL_WIDTH - 12

    def across(value: float) -> float:
        share = math.log(min(max(value, span[0]), span[1]) / span[0]) / math.log(span[1] / span[0])
        return 26 + share * (right - 26)

    def curve(values: np.ndarray, kind: str) -> Markup:
        ends = zip(np.quantile(values, SHARES), SHARES, strict=True)
        places = " ".join(f"{across(float(ms)):.1f},{bottom - share * (bottom - 6):.1f}" for ms, share in ends)
        return Markup('<polyline class="curve{}" points="{}"/>').format(kind, places)

    parts = []
    for y, share in ((bottom, "0"), ((bottom + 6) / 2, "50"), (6.0, "100")):
        parts += [line(f"M26 {y:.0f}H{right:.0f}"), text(22, y + 4, share, "end")]
    for tick in log_ticks(*span):
        parts += [line(f"M{across(tick):.1f} 6V{bottom:.0f}"), text(across(tick), bottom + 14, f"{tick:g}")]
    if baseline is not None:
        parts.append(curve(baseline, " base"))
    parts.append(curve(times, " exception" if is_exception else ""))
    return picture(PANEL_WIDTH, PANEL_HEIGHT, parts, name)


def price_quality(points: Sequence[Point], x_title: str, y_title: str) -> Markup:
    """Quality over price: every vendor with its status as mark and its name next to it."""
    top, bottom, right = 44.0, HEIGHT - 48, WIDTH - 14
    x_low, x_high = _range([point.price for point in points])
    y_low, y_high = _range([point.quality for point in points])
    y_high = max(min(y_high, 1.0), max(point.quality for point in points))

    def across(value: float) -> float:
        return LEFT + (value - x_low) / (x_high - x_low) * (right - LEFT)

    def up(value: float) -> float:
        return bottom - (value - y_low) / (y_high - y_low) * (bottom - top)

    parts = []
    for tick in ticks(y_low, y_high):
        parts += [line(f"M{LEFT} {up(tick):.1f}H{right:.0f}"), text(LEFT - 7, up(tick) + 4, f"{tick:g}", "end")]
    for tick in ticks(x_low, x_high):
        parts += [line(f"M{across(tick):.1f} {bottom:.0f}v5", "axis"), text(across(tick), bottom + 19, f"{tick:g}")]
    parts.append(line(f"M{LEFT} {bottom:.0f}H{right:.0f}", "axis"))
    parts.append(text((LEFT + right) / 2, HEIGHT - 6, x_title))
    parts.append(
        Markup('<text text-anchor="middle" transform="translate(13 {:.0f}) rotate(-90)">{}</text>').format(
            (top + bottom) / 2, y_title
        )
    )
    taken = [(across(point.price) - 9, across(point.price) + 9, up(point.quality)) for point in points]
    for point in sorted(points, key=lambda each: (-each.quality, each.price)):
        x, y = across(point.price), up(point.quality)
        begin, end, height = _label_place(x, y, LETTER * len(point.label), right, taken)
        taken.append((begin, end, height))
        if abs(height - y) > 13:
            parts.append(line(f"M{x:.1f} {y:.1f}L{begin if begin > x else end:.1f} {height:.1f}"))
        parts.append(
            Markup(
                '<g><title>{0.title}</title><use href="#{0.status}" x="{1:.1f}" y="{2:.1f}" width="16" height="16" '
                'class="point {0.status}"/><text class="name" x="{3:.1f}" y="{4:.1f}">{0.label}</text></g>'
            ).format(point, x - 8, y - 8, begin, height + 4)
        )
    return picture(WIDTH, HEIGHT, parts, f"{y_title} over {x_title}")


def line(path: str, kind: str = "grid") -> Markup:
    """A path of that class."""
    return Markup('<path class="{}" d="{}"/>').format(kind, path)


def text(x: float, y: float, words: str, anchor: str = "middle") -> Markup:
    """Words at a place."""
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, words)


def picture(width: float, height: float, parts: Sequence[Markup], name: str) -> Markup:
    """An SVG of that size that screen readers call ``name``."""
    return Markup('<svg class="chart" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        width, height, name, Markup("").join(parts)
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from ``low`` to ``high``."""
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 12) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """At most four round numbers from ``low`` to ``high`` for a logarithmic axis."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
        if len(found) <= 4:
            break
    return found


def _range(values: Sequence[float]) -> tuple[float, float]:
    """The axis around these values, with a margin."""
    low, high = min(values), max(values)
    margin = 0.12 * (high - low) or 0.1 * abs(high) or 1.0
    return max(0.0, low - margin), high + margin


def _label_place(
    x: float, y: float, width: float, right: float, taken: Sequence[tuple[float, float, float]]
) -> tuple[float, float, float]:
    """Begin, end and height of the first free place for a label next to a point; right of it where none is free."""
    sides = [(x + 11, x + 11 + width), (x - 11 - width, x - 11)]
    if sides[0][1] > right:
        sides.reverse()
    for shift in (0, 13, -13, 26, -26, 39, -39):
        for begin, end in sides:
            clear = all(end < left or begin > other or abs(y + shift - at) > 12 for left, other, at in taken)
            if clear and begin > LEFT and end < right + 12 and 8 < y + shift < HEIGHT - 50:
                return begin, end, y + shift
    return sides[0][0], sides[0][1], y
