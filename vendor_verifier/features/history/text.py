"""Comparisons of two runs and trends as plain lines, and a trend as a plot of characters; nothing is judged here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from vendor_verifier.features.history.verdict_changes import change_lines
from vendor_verifier.records.history import ChangeVerdict, MetricChange, RunComparison, Trend
from vendor_verifier.records.judgement import Finding
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.number_format import MISSING, quantity, rate
from vendor_verifier.words import Texts

CHANGE_ORDER: tuple[ChangeVerdict, ...] = ("worse", "improved", "undecided", "same")
TREND_ORDER = ("regression", "warning", "improvement", "steady", "no_verdict")
_MOST_SETTINGS = 40
_MOST_FLIPS = 20
_ROWS = 10
_MOST_COLUMNS = 100


def comparison_lines(comparison: RunComparison) -> list[str]:
    """One line a finding; no line ends inside."""
    t = Texts()
    lines = [summary(comparison, t), *(f"  {line}" for line in change_lines(comparison.verdicts, t))]
    lines += [t("note_line", note=plain(note, MAX_SENTENCE)) for note in comparison.notes]
    lines += _changes(comparison, t)
    lines += [identity_line(model, finding, t) for model, finding in comparison.identity]
    lines += _settings(comparison, t)
    lines += _flips(comparison, t)
    if any(change.metric == "tps" or change.metric.endswith("_ms") for change in comparison.changes):
        lines.append(t("runs_nights"))
    return lines


def identity_line(model: str, finding: Finding, t: Texts) -> str:
    """The line on vendors that answer under other names than before."""
    return plain(t("identity_line", vendor=f"{model} / {finding.label}", words=finding.statement))


def summary(comparison: RunComparison, t: Texts) -> str:
    """``run B against run A over 20 samples: 2 worse, 1 improved, 9 same, 4 undecided``."""
    verdicts = [change.verdict for change in comparison.changes]
    counted = [t("runs_count", count=verdicts.count(word), verdict=t(f"runs_verdict_{word}")) for word in CHANGE_ORDER]
    counts = t.joined(counted) if verdicts else t("runs_nothing")
    over = t("summary_samples", n=comparison.common_samples)
    return plain(t("runs_line", after=comparison.after, before=comparison.before, over=over, counted=counts))


def _changes(comparison: RunComparison, t: Texts) -> Iterator[str]:
    for change in sorted(comparison.changes, key=lambda each: CHANGE_ORDER.index(each.verdict)):
        yield f"  {t(f'runs_verdict_{change.verdict}'):9}  {change_words(change, t)}"


def change_words(change: MetricChange, t: Texts) -> str:
    """``model / vendor / metric: 0.98 → 0.91, -7.0 points (-9.1 … -4.9, n 300)``."""
    write = quantity if change.scale == "ratio" else rate
    effect = change.effect
    ends = " … ".join(effect_words(end, change, t) for end in (effect.low, effect.high))
    shared = t("runs_shared", effect=effect_words(change.shared, change, t)) if change.shared else ""
    return plain(
        f"{change.model} / {change.label} / {change.metric}: {write(change.before)} → {write(change.after)}, "
        f"{effect_words(effect.value, change, t)} ({ends}, n {effect.n}{shared})"
    )


def effect_words(value: float | None, change: MetricChange, t: Texts) -> str:
    """``+15.0%`` of what it was, or ``-7.0 points``."""
    if value is None:
        return MISSING
    return f"{value:+.1%}" if change.scale == "ratio" else t("points", value=f"{100 * value:+.1f}")


def _settings(comparison: RunComparison, t: Texts) -> Iterator[str]:
    if not comparison.settings:
        yield t("settings_same")
        return
    yield t("settings_changed", count=len(comparison.settings))
    for change in comparison.settings[:_MOST_SETTINGS]:
        values = (change.before, change.after)
        before, after = (plain(value, 60) if value is not None else t("settings_none") for value in values)
        yield f"  {plain(change.where)}: {before} → {after}"
    if len(comparison.settings) > _MOST_SETTINGS:
        yield "  " + t("and_more_here", n=len(comparison.settings) - _MOST_SETTINGS)


def _flips(comparison: RunComparison, t: Texts) -> Iterator[str]:
    if not comparison.flip_counts:
        yield t("flips_none", samples=t("summary_samples", n=comparison.common_samples))
        return
    yield t("flips", count=sum(comparison.flip_counts.values()))
    for name, count in comparison.flip_counts.items():
        yield f"  {plain(name)}: {count}"
    for flip in comparison.flips[:_MOST_FLIPS]:
        change = f"{flip.before} → {flip.after}"
        yield "    " + plain(f"{flip.sample} #{flip.repetition} {flip.label} {flip.what}: {change}")
    if sum(comparison.flip_counts.values()) > _MOST_FLIPS:
        yield "    " + t("flips_more")


def trend_lines(trends: Iterable[Trend]) -> list[str]:
    """One line a trend, the alarming ones first; those without a verdict are counted."""
    t = Texts("narrow")
    ordered = sorted(trends, key=lambda trend: TREND_ORDER.index(trend.verdict))
    lines = [
        plain(f"{t(f'trend_{trend.verdict}')}: {trend_name(trend)}: {trend.reason}")
        for trend in ordered
        if trend.verdict != "no_verdict"
    ]
    young = Counter(trend.reason for trend in ordered if trend.verdict == "no_verdict")
    return lines + [plain(t("trend_young", count=count, reason=reason)) for reason, count in young.items()]


def trend_name(trend: Trend) -> str:
    return f"{trend.model} / {trend.label} / {trend.metric}"


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
    head = plain(Texts()("trend_plot", name=trend_name(trend), shown=len(nights), all=len(trend.nights)))
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
