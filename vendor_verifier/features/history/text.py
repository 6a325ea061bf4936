"""Comparisons of two runs and trends as plain lines, and a trend as a plot of characters; nothing is judged here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.number_format import quantity, rate, samples_asked
from vendor_verifier.values.history import ChangeVerdict, MetricChange, RunComparison, Trend

CHANGE_ORDER: tuple[ChangeVerdict, ...] = ("worse", "improved", "undecided", "same")
TREND_ORDER = ("regression", "warning", "improvement", "steady", "no_verdict")
_MOST_SETTINGS = 40
_MOST_FLIPS = 20
_ROWS = 10
_MOST_COLUMNS = 100
_NIGHTS = "Latency moves from run to run by itself: only `trend` can tell a lasting change from one night's."


def comparison_lines(comparison: RunComparison) -> list[str]:
    """One line a finding; no line ends inside."""
    lines = [summary(comparison), *(f"note: {plain(note)}" for note in comparison.notes)]
    lines += _changes(comparison)
    lines += [plain(f"identity: {model} / {each.label}: {each.statement}") for model, each in comparison.identity]
    lines += _settings(comparison)
    lines += _flips(comparison)
    if any(change.metric == "tps" or change.metric.endswith("_ms") for change in comparison.changes):
        lines.append(_NIGHTS)
    return lines


def summary(comparison: RunComparison) -> str:
    """``run B against run A over 20 samples: 2 worse, 1 improved, 9 same, 4 undecided``."""
    verdicts = [change.verdict for change in comparison.changes]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in CHANGE_ORDER) if verdicts else "nothing to compare"
    over = samples_asked(comparison.common_samples)
    return plain(f"{comparison.after} against {comparison.before} over {over}: {counted}")


def _changes(comparison: RunComparison) -> Iterator[str]:
    for change in sorted(comparison.changes, key=lambda each: CHANGE_ORDER.index(each.verdict)):
        yield f"  {change.verdict:9}  {change_words(change)}"


def change_words(change: MetricChange) -> str:
    """``model / vendor / metric: 0.98 → 0.91, -7.0 points (-9.1 … -4.9, n 300)``."""
    write = quantity if change.scale == "ratio" else rate
    effect = change.effect
    ends = " … ".join(effect_words(end, change) for end in (effect.low, effect.high))
    shared = f", the others' {effect_words(change.shared, change)} taken out" if change.shared else ""
    return plain(
        f"{change.model} / {change.label} / {change.metric}: {write(change.before)} → {write(change.after)}, "
        f"{effect_words(effect.value, change)} ({ends}, n {effect.n}{shared})"
    )


def effect_words(value: float | None, change: MetricChange) -> str:
    """``+15.0%`` of what it was, or ``-7.0 points``."""
    if value is None:
        return "–"
    return f"{value:+.1%}" if change.scale == "ratio" else f"{100 * value:+.1f} points"


def _settings(comparison: RunComparison) -> Iterator[str]:
    if not comparison.settings:
        yield "nothing of the question changed"
        return
    yield f"changed between the runs ({len(comparison.settings)}):"
    for change in comparison.settings[:_MOST_SETTINGS]:
        before, after = (plain(value, 60) if value is not None else "(none)" for value in (change.before, change.after))
        yield f"  {plain(change.where)}: {before} → {after}"
    if len(comparison.settings) > _MOST_SETTINGS:
        yield f"  and {len(comparison.settings) - _MOST_SETTINGS} more"


def _flips(comparison: RunComparison) -> Iterator[str]:
    if not comparison.flip_counts:
        yield f"of {samples_asked(comparison.common_samples)} in both runs none ended otherwise"
        return
    yield f"samples that ended otherwise ({sum(comparison.flip_counts.values())}):"
    for name, count in comparison.flip_counts.items():
        yield f"  {plain(name)}: {count}"
    for flip in comparison.flips[:_MOST_FLIPS]:
        yield "    " + plain(f"{flip.sample} #{flip.repetition} {flip.label} {flip.what}: {flip.before} → {flip.after}")
    if sum(comparison.flip_counts.values()) > _MOST_FLIPS:
        yield "    … all of them: --json"


def trend_lines(trends: Iterable[Trend]) -> list[str]:
    """One line a trend, the alarming ones first; those without a verdict are counted."""
    ordered = sorted(trends, key=lambda trend: TREND_ORDER.index(trend.verdict))
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
