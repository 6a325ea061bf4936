"""Trends as plain lines and as a plot of characters; it judges nothing and knows no terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from vendor_verifier.reports.cells import quantity, rate
from vendor_verifier.reports.escape import plain
from vendor_verifier.values.trend import Trend

_ORDER = ("regression", "warning", "improvement", "steady", "no_verdict")
_ROWS = 10
_MOST_COLUMNS = 100


def trend_lines(trends: Iterable[Trend]) -> list[str]:
    """One line a trend, the alarming ones first; those without a verdict are counted."""
    ordered = sorted(trends, key=lambda trend: _ORDER.index(trend.verdict))
    lines = [
        plain(f"{trend.verdict}: {trend.model} / {trend.label} / {trend.metric}: {trend.reason}")
        for trend in ordered
        if trend.verdict != "no_verdict"
    ]
    young = Counter(trend.reason for trend in ordered if trend.verdict == "no_verdict")
    return lines + [plain(f"no verdict yet on {count} figures: {reason}") for reason, count in young.items()]


def plot(trend: Trend, columns: int = _MOST_COLUMNS) -> list[str]:
    """The newest nights as a plot: ``o`` the figure, ``x`` the first run of a new level, the axis at the left."""
    first = max(0, len(trend.nights) - max(8, min(columns, _MOST_COLUMNS)))
    nights = trend.nights[first:]
    if not nights:
        return []
    values = [math.log(night.value) if trend.scale == "ratio" else night.value for night in nights]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    marks = {change.position - first for change in trend.changes}
    grid = [[" "] * len(nights) for _ in range(_ROWS)]
    for column, value in enumerate(values):
        row = round((high - value) / span * (_ROWS - 1)) if high > low else _ROWS // 2
        grid[row][column] = "x" if column in marks else "o"
    labels = [_label(trend, low, high, row) for row in range(_ROWS)]
    width = max(map(len, labels))
    head = plain(f"{trend.model} / {trend.label} / {trend.metric}, {len(nights)} of {len(trend.nights)} runs")
    body = [f"{label:>{width}} |{''.join(cells).rstrip()}" for label, cells in zip(labels, grid, strict=True)]
    foot = f"{'':>{width}} +{'-' * len(nights)}"
    dates = f"{'':>{width}}  {plain(nights[0].at[:10])} … {plain(nights[-1].at[:10])}"
    return [head, *body, foot, dates]


def _label(trend: Trend, low: float, high: float, row: int) -> str:
    """The value of the first, middle and last row."""
    if row not in (0, _ROWS // 2, _ROWS - 1) or (high == low and row != _ROWS // 2):
        return ""
    value = high - (high - low) * row / (_ROWS - 1)
    return quantity(math.exp(value)) if trend.scale == "ratio" else rate(value)
