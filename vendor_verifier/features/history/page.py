"""Trends as an HTML page, and runs side by side as HTML and Markdown; intervals and verdicts are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup
from msgspec import structs

from vendor_verifier.features.history.text import (
    CHANGE_ORDER,
    TREND_ORDER,
    change_words,
    effect_words,
    summary,
    trend_name,
)
from vendor_verifier.features.history.verdict_changes import change_lines, verdict_trend_lines
from vendor_verifier.records.history import LevelChange, MetricChange, RunComparison, Trend
from vendor_verifier.records.score import Report, VendorScore
from vendor_verifier.reports import number_format, tables
from vendor_verifier.reports.escape import MAX_SENTENCE, markdown, visible
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import short
from vendor_verifier.reports.html.page import plain_page
from vendor_verifier.reports.ranking import metric_cell, metric_title
from vendor_verifier.reports.tables import Cell, Column, Item, Section, Table, page_label, table, words
from vendor_verifier.reports.verdicts import status_cell
from vendor_verifier.words import Texts

_CSS = {"worse": "gate-fail", "improved": "gate-pass", "undecided": "gate-undecided"}
_MOST_CHANGES = 500


def render_runs(reports: Sequence[Report], comparisons: Sequence[RunComparison]) -> str:
    """The page of ``reports`` in the order given; ``comparisons`` are of each with the one before it."""
    t = Texts()
    sections = [Section("runs", t("runs_which"), tables=(_runs(reports, t),))]
    sections += [_model(index, model, reports, t) for index, model in enumerate(models_of(reports))]
    sections += [_changes(index, found, t) for index, found in enumerate(comparisons)]
    verdicts = [line for found in comparisons for line in (_verdict_line(found, t), *change_lines(found.verdicts, t))]
    method = [t("runs_method"), t("by_definition"), t("method_missing")]
    return plain_page(t("runs_title"), verdicts, [], sections, t, method)


def models_of(reports: Sequence[Report]) -> list[str]:
    """Every model of any run, once."""
    return list(dict.fromkeys(model.model for report in reports for model in report.models))


def labels_of(reports: Sequence[Report], model: str) -> list[str]:
    """Every vendor of a model of any run, once."""
    return list(dict.fromkeys(vendor.label for report in reports for vendor in _vendors(report, model)))


def metrics_of(reports: Sequence[Report], model: str) -> list[str]:
    """The published columns, then the evaluations that took part in any run."""
    suites = [name for report in reports for vendor in _vendors(report, model) for name in vendor.suites]
    return [*number_format.PAGE_METRICS, *dict.fromkeys(suites)]


def vendor_of(report: Report, model: str, name: str) -> VendorScore | None:
    return next((vendor for vendor in _vendors(report, model) if vendor.label == name), None)


def _vendors(report: Report, model: str) -> Iterator[VendorScore]:
    for each in report.models:
        if each.model == model:
            yield from each.vendors


def _verdict_line(found: RunComparison, t: Texts) -> str:
    verdicts = [change.verdict for change in found.changes]
    counted = [t(f"runs_{word}", n=verdicts.count(word)) for word in CHANGE_ORDER if word in verdicts]
    counts = t.joined(counted) or t("runs_nothing")
    return t("runs_says", after=page_label(found.after), before=page_label(found.before), counted=counts)


def _runs(reports: Sequence[Report], t: Texts) -> Table:
    columns = (
        Column("trend_when", lambda report: words(_began(report)), prose=True),
        Column("samples", lambda report: tables.count(report.samples)),
        Column("repeat", lambda report: tables.count(report.repeat)),
        Column("models", lambda report: words(t.joined(page_label(one.model) for one in report.models)), prose=True),
        Column("warnings", lambda report: words("" if report.complete else t("incomplete")), prose=True),
    )
    return table(t("runs_which"), t("run"), columns, (Item(report.run, report) for report in reports), t)


def _began(report: Report) -> str:
    began = None if report.details is None else report.details.started_at
    return number_format.MISSING if began is None else f"{began[:10]} {began[11:16]} UTC"


def _model(index: int, model: str, reports: Sequence[Report], t: Texts) -> Section:
    found = [figures(model, metric, reports, t) for metric in metrics_of(reports, model)]
    judged = [_verdicts(model, reports, t)] if any(model in report.advice for report in reports) else []
    return Section(f"m{index}", page_label(model), t("runs_note", level="95 %"), tables=(*judged, *found))


def _verdicts(model: str, reports: Sequence[Report], t: Texts) -> Table:
    """The verdict on each vendor in each run."""

    def column(report: Report) -> Column:
        known = report.advice[model].vendors if model in report.advice else {}

        def cell(name: str) -> Cell:
            return status_cell(known[name], t) if name in known else Cell(number_format.MISSING)

        return Column(report.run, cell, report.run)

    items = (Item(name, name) for name in labels_of(reports, model))
    return table(t("verdict"), t("verdict"), [column(report) for report in reports], items, t)


def figures(model: str, metric: str, reports: Sequence[Report], t: Texts) -> Table:
    """A row for each vendor and a column for each run."""
    title = metric_title(metric, t)
    columns = [Column(report.run, _figure(report, model, metric, t), report.run) for report in reports]
    return table(title, title, columns, (Item(name, name) for name in labels_of(reports, model)), t)


def _figure(report: Report, model: str, metric: str, t: Texts) -> Callable[[str], Cell]:
    def cell(name: str) -> Cell:
        vendor = vendor_of(report, model, name)
        if vendor is None:
            return Cell(number_format.MISSING)
        found = metric_cell(vendor, metric, report.verdicts.get(model), t)
        return structs.replace(found, wide=f"{found.text} ({found.small})") if found.small else found

    return cell


def _changes(index: int, found: RunComparison, t: Texts) -> Section:
    ordered = sorted(found.changes, key=lambda change: CHANGE_ORDER.index(change.verdict))[:_MOST_CHANGES]
    columns = (
        Column("metric", lambda change: words(metric_title(change.metric, t))),
        Column("outcome", lambda change: _verdict_cell(change, t)),
        Column("runs_before", lambda change: _value_cell(change, change.before)),
        Column("runs_after", lambda change: _value_cell(change, change.after)),
        Column("runs_effect", lambda change: _effect_cell(change, t)),
        Column("n", lambda change: tables.count(change.effect.n)),
    )
    items = (Item(f"{change.model} / {change.label}", change) for change in ordered)
    caption = f"{t('runs_changes')}: {page_label(found.before)} → {page_label(found.after)}"
    made = table(caption, t("vendor"), columns, items, t)
    return Section(
        f"c{index}", caption, lines=tuple(visible(note, MAX_SENTENCE) for note in found.notes), tables=(made,)
    )


def _verdict_cell(change: MetricChange, t: Texts) -> Cell:
    return words(t(f"runs_verdict_{change.verdict}"), css=_CSS.get(change.verdict))


def _value_cell(change: MetricChange, value: float | None) -> Cell:
    return Cell(number_format.quantity(value) if change.scale == "ratio" else number_format.rate(value))


def _effect_cell(change: MetricChange, t: Texts) -> Cell:
    value, low, high = (
        effect_words(end, change, t) for end in (change.effect.value, change.effect.low, change.effect.high)
    )
    return Cell(value, small=f"{low} … {high}")


_TREND_CSS = {"regression": "gate-fail", "warning": "gate-undecided", "improvement": "gate-pass"}
_WIDTH, _HEIGHT = 960.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 940.0, 34.0, 204.0
# More nights could not be distinguished in a plot, and the page has to stay small enough to be mailed.
_MOST_NIGHTS = 180
_MOST_PLOTS = 30


def render_trend(trends: Sequence[Trend]) -> str:
    """The whole page: the alarming trends first, each with its plot and the same as a table."""
    t = Texts()
    ordered = sorted(trends, key=lambda trend: TREND_ORDER.index(trend.verdict))
    lines = tuple(verdict_trend_lines(ordered, t))
    sections = [Section("verdicts", t("trend_verdicts"), None, lines, (_overview(ordered, t),))] if ordered else []
    plotted = [trend for trend in ordered if trend.nights]
    sections += [_section(index, trend, t) for index, trend in enumerate(plotted[:_MOST_PLOTS])]
    left_out = len(plotted) - _MOST_PLOTS
    method = [t("trend_method"), t("trend_shift"), *([t("trend_left_out", n=left_out)] if left_out > 0 else [])]
    return plain_page(t("trend_title"), [_verdict(ordered, t)], _meta(ordered, t), sections, t, method)


def _name(trend: Trend) -> str:
    return page_label(trend_name(trend))


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
    columns = (
        Column("metric", lambda trend: tables.name(trend.metric)),
        Column("outcome", lambda trend: words(t(f"trend_{trend.verdict}"), css=_TREND_CSS.get(trend.verdict))),
        Column("trend_runs_title", lambda trend: tables.count(len(trend.nights))),
        Column("trend_newest", lambda trend: _newest(trend)),
        Column("reason", lambda trend: words(visible(trend.reason, MAX_SENTENCE)), prose=True),
    )
    items = (Item(f"{trend.model} / {trend.label}", trend) for trend in trends)
    return table(t("trend_verdicts"), t("vendor"), columns, items, t)


def _newest(trend: Trend) -> Cell:
    return Cell(_night_figure(trend, trend.nights[-1].value) if trend.nights else number_format.MISSING)


def _night_figure(trend: Trend, value: float) -> str:
    return number_format.quantity(value) if trend.scale == "ratio" else number_format.rate(value)


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
        f"t{index}",
        _name(trend),
        visible(trend.reason, MAX_SENTENCE),
        lines,
        folded=(_nights(trend, first, t),),
        picture=plot,
    )


def _nights(trend: Trend, first: int, t: Texts) -> Table:
    changed = {change.position: change for change in trend.changes}
    columns = (
        Column("run", lambda found: tables.name(found[1].run), prose=True),
        Column("measured_value", lambda found: Cell(_night_figure(trend, found[1].value))),
        Column("trend_relative", lambda found: Cell(_night_figure(trend, found[1].relative))),
        Column("n", lambda found: tables.count(found[1].n)),
        Column("trend_level", lambda found: Cell(_effect(trend, changed[found[0]]) if found[0] in changed else "")),
    )
    items = (
        Item(night.at[:16].replace("T", " "), (place, night))
        for place, night in enumerate(trend.nights)
        if place >= first
    )
    return table(_name(trend), t("trend_when"), columns, items, t)


def _picture(trend: Trend, first: int, t: Texts) -> Markup:
    """The newest nights: a mark each, hollow where it was far off, a dashed line where a new level began."""
    nights = trend.nights[first:]
    values = [night.value for night in nights]
    is_log = trend.scale == "ratio" and min(values) > 0
    up = charts.logarithmic(values, _BOTTOM, _TOP) if is_log else charts.linear(values, _BOTTOM, _TOP, top=1.0)
    across = charts.Scale(0.0, float(max(1, len(nights) - 1)), _LEFT, _RIGHT)
    parts = [charts.line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")]
    for tick in up.ticks():
        parts.append(charts.line(_LEFT, up(tick), _RIGHT, up(tick), "grid"))
        parts.append(charts.text(_LEFT - 8, up(tick) + 4, charts.figure(tick), "small", "end"))
    for change in trend.changes:
        if change.position >= first:
            x = across(change.position - first - 0.5)
            parts.append(charts.line(x, _TOP - 8, x, _BOTTOM, "ceiling"))
            parts.append(charts.text(x + 4, _TOP - 10, _effect(trend, change), "value"))
    path = "".join(
        f"{'L' if place else 'M'}{short(across(place))} {short(up(value))}" for place, value in enumerate(values)
    )
    parts.append(charts.tag("path", d=path, class_="trend s0"))
    for place, (night, value) in enumerate(zip(nights, values, strict=True)):
        is_odd = trend.verdict == "warning" and place == len(nights) - 1
        mark = charts.mark(0, across(place), up(value), scale=1.6 if is_odd else 0.7, hollow=is_odd)
        parts.append(charts.group(mark, title=f"{visible(night.at[:10])}: {_night_figure(trend, night.value)}"))
    for place, anchor in ((0, "start"), (len(nights) - 1, "end")):
        parts.append(charts.text(across(place), _BOTTOM + 18, visible(nights[place].at[:10]), "small", anchor))
    return charts.picture(_WIDTH, _HEIGHT, *parts, label=f"{_name(trend)}, {t('trend_runs', n=len(nights))}")


def render_runs_text(reports: Sequence[Report], comparisons: Sequence[RunComparison]) -> str:
    """The same as Markdown, with every change in a line."""
    t = Texts("wide")
    lines = [f"# {t('runs_title')}", "", *(f"- {markdown(summary(found, t))}" for found in comparisons)]
    for model in models_of(reports):
        lines += ["", f"## {markdown(model)}"]
        if any(model in report.advice for report in reports):
            lines += ["", *tables.markdown_lines(_verdicts(model, reports, t))]
        for metric in metrics_of(reports, model):
            lines += ["", *tables.markdown_lines(figures(model, metric, reports, t))]
    for found in comparisons:
        changes = [
            f"- {t(f'runs_verdict_{change.verdict}')}: {markdown(change_words(change, t))}" for change in found.changes
        ]
        lines += ["", f"## {markdown(f'{found.before} → {found.after}')}", "", *changes]
        lines += [f"- {t('note_line', note=markdown(note, MAX_SENTENCE))}" for note in found.notes]
    return "\n".join(lines) + "\n"
