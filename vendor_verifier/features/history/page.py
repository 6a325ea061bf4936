"""Trends as an HTML page, and runs side by side as HTML and Markdown; intervals and verdicts are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from vendor_verifier.features.history.text import CHANGE_ORDER, TREND_ORDER, change_words, effect_words, summary
from vendor_verifier.metrics import is_share
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import markdown, visible
from vendor_verifier.reports.html import charts, tables
from vendor_verifier.reports.html.charts import short
from vendor_verifier.reports.html.judgement import estimate_of, metric_title
from vendor_verifier.reports.html.page import plain_page
from vendor_verifier.reports.html.tables import Cell, Row, Section, Table, interval, label, plain_table, words
from vendor_verifier.reports.words import Language, Texts
from vendor_verifier.values.history import LevelChange, MetricChange, RunComparison, Trend
from vendor_verifier.values.score import Report, VendorScore

_CSS = {"worse": "gate-fail", "improved": "gate-pass", "undecided": "gate-undecided"}
_MOST_CHANGES = 500


def render_runs(reports: Sequence[Report], comparisons: Sequence[RunComparison], language: Language = "en") -> str:
    """The page of ``reports`` in the order given; ``comparisons`` are of each with the one before it."""
    t = Texts(language)
    sections = [Section("runs", t("runs_which"), tables=(_runs(reports, t),))]
    sections += [_model(index, model, reports, t) for index, model in enumerate(models_of(reports))]
    sections += [_changes(index, found, t) for index, found in enumerate(comparisons)]
    verdicts = [_said(found, t) for found in comparisons]
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
    return [*(name for _, name in number_format.PAGE_COLUMNS), *dict.fromkeys(suites)]


def vendor_of(report: Report, model: str, name: str) -> VendorScore | None:
    return next((vendor for vendor in _vendors(report, model) if vendor.label == name), None)


def _vendors(report: Report, model: str) -> Iterator[VendorScore]:
    for each in report.models:
        if each.model == model:
            yield from each.vendors


def _said(found: RunComparison, t: Texts) -> str:
    verdicts = [change.verdict for change in found.changes]
    counted = [t(f"runs_{word}", n=verdicts.count(word)) for word in CHANGE_ORDER if word in verdicts]
    told = t("comma").join(counted) or t("runs_nothing")
    return t("runs_says", after=label(found.after), before=label(found.before), counted=told)


def _runs(reports: Sequence[Report], t: Texts) -> Table:
    rows = [
        Row(
            label(report.run),
            (
                words(_began(report)),
                tables.count(report.samples),
                tables.count(report.repeat),
                words(t("comma").join(label(model.model) for model in report.models)),
                words("" if report.complete else t("incomplete")),
            ),
        )
        for report in reports
    ]
    titles = (t("trend_when"), t("samples"), t("repeat"), t("models"), t("warnings"))
    return plain_table(t("runs_which"), t("run"), titles, rows, prose=(titles[0], titles[3], titles[4]))


def _began(report: Report) -> str:
    began = None if report.details is None else report.details.started_at
    return number_format.MISSING if began is None else f"{began[:10]} {began[11:16]} UTC"


def _model(index: int, model: str, reports: Sequence[Report], t: Texts) -> Section:
    names = labels_of(reports, model)
    found = []
    for metric in metrics_of(reports, model):
        rows = [Row(label(name), tuple(_figure(report, model, name, metric) for report in reports)) for name in names]
        title = metric_title(metric, t)
        found.append(plain_table(title, title, [label(report.run) for report in reports], rows))
    return Section(f"m{index}", label(model), t("runs_note", level="95 %"), tables=tuple(found))


def _figure(report: Report, model: str, name: str, metric: str) -> Cell:
    vendor = vendor_of(report, model, name)
    if vendor is None:
        return Cell(number_format.MISSING)
    given = metric == "f1" and vendor.is_baseline
    estimate = None if given else estimate_of(report.verdicts.get(model), name, metric)
    small = tables.interval(estimate, rate=is_share(metric))
    return Cell(number_format.metric(vendor, metric), number_format.finite(vendor.metrics.get(metric)), small)


def _changes(index: int, found: RunComparison, t: Texts) -> Section:
    ordered = sorted(found.changes, key=lambda change: CHANGE_ORDER.index(change.verdict))[:_MOST_CHANGES]
    titles = (t("metric"), t("outcome"), t("runs_before"), t("runs_after"), t("runs_effect"), t("n"))
    rows = [_change(change, t) for change in ordered]
    caption = f"{t('runs_changes')}: {label(found.before)} → {label(found.after)}"
    table = plain_table(caption, t("vendor"), titles, rows)
    return Section(f"c{index}", caption, lines=tuple(label(note) for note in found.notes), tables=(table,))


def _change(change: MetricChange, t: Texts) -> Row:
    write = number_format.quantity if change.scale == "ratio" else number_format.rate
    low, high = (effect_words(end, change) for end in (change.effect.low, change.effect.high))
    verdict = t(f"runs_verdict_{change.verdict}")
    return Row(
        label(f"{change.model} / {change.label}"),
        (
            words(metric_title(change.metric, t)),
            words(verdict, _CSS.get(change.verdict)),
            words(write(change.before)),
            words(write(change.after)),
            Cell(effect_words(change.effect.value, change), small=f"{low} … {high}"),
            tables.count(change.effect.n),
        ),
    )


_TREND_CSS = {"regression": "gate-fail", "warning": "gate-undecided", "improvement": "gate-pass"}
_WIDTH, _HEIGHT = 960.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 940.0, 34.0, 204.0
# More would not be told apart, and the page has to stay small enough to be mailed.
_MOST_NIGHTS = 180
_MOST_PLOTS = 30


def render_trend(trends: Sequence[Trend], language: Language = "en") -> str:
    """The whole page: the alarming trends first, each with its plot and the same as a table."""
    t = Texts(language)
    ordered = sorted(trends, key=lambda trend: TREND_ORDER.index(trend.verdict))
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
                words(t(f"trend_{trend.verdict}"), _TREND_CSS.get(trend.verdict)),
                tables.count(len(trend.nights)),
                words(_night_figure(trend, trend.nights[-1].value) if trend.nights else number_format.MISSING),
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
        f"t{index}", _name(trend), _reason(trend, t), lines, folded=(_nights(trend, first, t),), picture=plot
    )


def _nights(trend: Trend, first: int, t: Texts) -> Table:
    changed = {change.position: change for change in trend.changes}
    rows = [
        Row(
            visible(night.at[:16].replace("T", " ")),
            (
                words(label(night.run)),
                words(_night_figure(trend, night.value)),
                words(_night_figure(trend, night.relative)),
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


_TITLES = {name: title for title, name in number_format.PAGE_COLUMNS}


def render_runs_text(reports: Sequence[Report], comparisons: Sequence[RunComparison]) -> str:
    """The page of ``reports`` in the order given; ``comparisons`` are of each with the one before it."""
    lines = ["# Runs side by side", ""]
    lines += [f"- {markdown(summary(found))}" for found in comparisons]
    for model in models_of(reports):
        lines += ["", f"## {markdown(model)}"]
        for metric in metrics_of(reports, model):
            lines += ["", *_table(model, metric, reports)]
    for found in comparisons:
        told = [f"- {change.verdict}: {markdown(change_words(change))}" for change in found.changes]
        lines += ["", f"## {markdown(f'{found.before} → {found.after}')}", "", *told]
        lines += [f"- note: {markdown(note)}" for note in found.notes]
    return "\n".join(lines) + "\n"


def _table(model: str, metric: str, reports: Sequence[Report]) -> Iterator[str]:
    heads = [_TITLES.get(metric, metric), *(report.run for report in reports)]
    yield "| " + " | ".join(map(markdown, heads)) + " |"
    yield "|---" + "|---:" * len(reports) + "|"
    for name in labels_of(reports, model):
        figures = [_markdown_figure(report, model, name, metric) for report in reports]
        yield "| " + " | ".join([markdown(name), *figures]) + " |"


def _markdown_figure(report: Report, model: str, name: str, metric: str) -> str:
    vendor = vendor_of(report, model, name)
    if vendor is None:
        return number_format.MISSING
    estimate = None if metric == "f1" and vendor.is_baseline else estimate_of(report.verdicts.get(model), name, metric)
    around = interval(estimate, rate=is_share(metric))
    return number_format.metric(vendor, metric) + (f" ({around})" if around else "")
