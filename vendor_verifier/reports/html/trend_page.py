"""Trends as a page: what got worse in a sentence, a table of verdicts, a plot of each series; it judges nothing."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from vendor_verifier.reports import cells
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import svg, tables
from vendor_verifier.reports.html.plain_page import plain_page
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.svg import short
from vendor_verifier.reports.html.tables import Row, Table, label, plain_table, words
from vendor_verifier.reports.html.texts import Language, Texts
from vendor_verifier.values.trend import LevelChange, Trend

_ORDER = ("regression", "warning", "improvement", "steady", "no_verdict")
_CSS = {"regression": "gate-fail", "warning": "gate-undecided", "improvement": "gate-pass"}
_WIDTH, _HEIGHT = 960.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 940.0, 34.0, 204.0
# More would not be told apart, and the page has to stay small enough to be mailed.
_MOST_NIGHTS = 180
_MOST_PLOTS = 30


def render(trends: Sequence[Trend], language: Language = "en") -> str:
    """The whole page: the alarming trends first, each with its plot and the same as a table."""
    t = Texts(language)
    ordered = sorted(trends, key=lambda trend: _ORDER.index(trend.verdict))
    sections = [Section("verdicts", t("trend_verdicts"), tables=(_overview(ordered, t),))] if ordered else []
    plotted = [trend for trend in ordered if trend.nights]
    sections += [_section(index, trend, t) for index, trend in enumerate(plotted[:_MOST_PLOTS])]
    left_out = len(plotted) - _MOST_PLOTS
    method = [t("trend_method"), t("trend_shift"), *([t("trend_left_out", n=left_out)] if left_out > 0 else [])]
    return plain_page(t("trend_title"), [_verdict(ordered, t)], _meta(ordered, t), sections, t, method)


def _name(trend: Trend) -> str:
    return label(f"{trend.model} / {trend.label} / {trend.metric}")


def _verdict(trends: Sequence[Trend], t: Texts) -> str:
    for verdict in ("regression", "warning"):
        found = [_name(trend) for trend in trends if trend.verdict == verdict]
        if found:
            return t(f"trend_says_{verdict}", names=t.listed(found))
    judged = sum(trend.verdict != "no_verdict" for trend in trends)
    return t("trend_says_steady", n=judged) if judged else t("trend_says_nothing")


def _meta(trends: Sequence[Trend], t: Texts) -> list[str]:
    dates = sorted(night.at[:10] for trend in trends for night in trend.nights)
    runs = {night.run for trend in trends for night in trend.nights}
    return [t("trend_runs", n=len(runs)), f"{visible(dates[0])} … {visible(dates[-1])}"] if dates else []


def _overview(trends: Sequence[Trend], t: Texts) -> Table:
    rows = [
        Row(
            label(f"{trend.model} / {trend.label}"),
            (
                words(label(trend.metric)),
                words(t(f"trend_{trend.verdict}"), _CSS.get(trend.verdict)),
                tables.count(len(trend.nights)),
                words(_figure(trend, trend.nights[-1].value) if trend.nights else cells.MISSING),
                words(_reason(trend, t)),
            ),
        )
        for trend in trends
    ]
    titles = (t("metric"), t("outcome"), t("trend_runs_title"), t("trend_newest"), t("reason"))
    return plain_table(t("trend_verdicts"), t("vendor"), titles, rows, prose=titles[4:])


def _reason(trend: Trend, t: Texts) -> str:
    """As it was judged; in another language than English from the same numbers."""
    if t.language == "en":
        return visible(trend.reason)
    if trend.verdict == "no_verdict":
        return t("trend_too_few", n=len(trend.nights))
    if trend.verdict == "warning":
        return t("trend_far_off", z=f"{trend.z or 0.0:.1f}")
    changes = [_effect(trend, change) for change in trend.changes]
    return t("trend_changed", effects=t("comma").join(changes)) if changes else t("trend_unchanged")


def _figure(trend: Trend, value: float) -> str:
    return cells.quantity(value) if trend.scale == "ratio" else cells.rate(value)


def _effect(trend: Trend, change: LevelChange) -> str:
    return f"{change.effect:+.1%}" if trend.scale == "ratio" else f"{100 * change.effect:+.1f} %"


def _section(index: int, trend: Trend, t: Texts) -> Section:
    first = max(0, len(trend.nights) - _MOST_NIGHTS)
    lines = tuple(
        t("trend_change", when=visible(trend.nights[change.position].at[:10]), effect=_effect(trend, change))
        + t("trend_for_worse" if change.worse else "trend_for_better")
        for change in trend.changes
    )
    plot = _picture(trend, first, t)
    return Section(
        f"t{index}", _name(trend), _reason(trend, t), lines, folded=(_nights(trend, first, t),), picture=plot
    )


def _nights(trend: Trend, first: int, t: Texts) -> Table:
    changed = {change.position: change for change in trend.changes}
    rows = [
        Row(
            visible(night.at[:16].replace("T", " ")),
            (
                words(label(night.run)),
                words(_figure(trend, night.value)),
                words(_figure(trend, night.relative)),
                tables.count(night.n),
                words(_effect(trend, changed[place]) if place in changed else ""),
            ),
        )
        for place, night in enumerate(trend.nights)
        if place >= first
    ]
    titles = (t("run"), t("measured_value"), t("trend_relative"), t("n"), t("trend_level"))
    return plain_table(_name(trend), t("trend_when"), titles, rows, prose=(t("run"),))


def _picture(trend: Trend, first: int, t: Texts) -> Markup:
    """The newest nights: a mark each, hollow where it was far off, a dashed line where a new level began."""
    nights = trend.nights[first:]
    values = [night.value for night in nights]
    is_log = trend.scale == "ratio" and min(values) > 0
    up = svg.logarithmic(values, _BOTTOM, _TOP) if is_log else svg.linear(values, _BOTTOM, _TOP, top=1.0)
    across = svg.Scale(0.0, float(max(1, len(nights) - 1)), _LEFT, _RIGHT)
    parts = [svg.line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")]
    for tick in up.ticks():
        parts.append(svg.line(_LEFT, up(tick), _RIGHT, up(tick), "grid"))
        parts.append(svg.text(_LEFT - 8, up(tick) + 4, svg.figure(tick), "small", "end"))
    for change in trend.changes:
        if change.position >= first:
            x = across(change.position - first - 0.5)
            parts.append(svg.line(x, _TOP - 8, x, _BOTTOM, "ceiling"))
            parts.append(svg.text(x + 4, _TOP - 10, _effect(trend, change), "value"))
    path = "".join(
        f"{'L' if place else 'M'}{short(across(place))} {short(up(value))}" for place, value in enumerate(values)
    )
    parts.append(svg.tag("path", d=path, class_="trend s0"))
    for place, (night, value) in enumerate(zip(nights, values, strict=True)):
        is_odd = trend.verdict == "warning" and place == len(nights) - 1
        mark = svg.mark(0, across(place), up(value), scale=1.6 if is_odd else 0.7, hollow=is_odd)
        parts.append(svg.group(mark, title=f"{visible(night.at[:10])}: {_figure(trend, night.value)}"))
    for place, anchor in ((0, "start"), (len(nights) - 1, "end")):
        parts.append(svg.text(across(place), _BOTTOM + 18, visible(nights[place].at[:10]), "small", anchor))
    return svg.picture(_WIDTH, _HEIGHT, *parts, label=f"{_name(trend)}, {t('trend_runs', n=len(nights))}")
