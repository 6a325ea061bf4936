"""Several runs side by side as a page: vendors × runs for every figure with its interval, then what changed.

It judges nothing: intervals and verdicts are those of the reports and comparisons it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vendor_verifier.reports import cells
from vendor_verifier.reports.comparison_text import effect_words
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.judged import estimate_of, metric_title
from vendor_verifier.reports.html.plain_page import plain_page
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.tables import Cell, Row, Table, label, plain_table, words
from vendor_verifier.reports.html.texts import Language, Texts
from vendor_verifier.values.comparison import ChangeVerdict, MetricChange, RunComparison
from vendor_verifier.values.score import Report, VendorScore

_ORDER: tuple[ChangeVerdict, ...] = ("worse", "improved", "undecided", "same")
_CSS = {"worse": "gate-fail", "improved": "gate-pass", "undecided": "gate-undecided"}
_MOST_CHANGES = 500


def render(reports: Sequence[Report], comparisons: Sequence[RunComparison], language: Language = "en") -> str:
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
    return [*(name for _, name in cells.PAGE_COLUMNS), *dict.fromkeys(suites)]


def vendor_of(report: Report, model: str, name: str) -> VendorScore | None:
    return next((vendor for vendor in _vendors(report, model) if vendor.label == name), None)


def _vendors(report: Report, model: str) -> Iterator[VendorScore]:
    for each in report.models:
        if each.model == model:
            yield from each.vendors


def _said(found: RunComparison, t: Texts) -> str:
    verdicts = [change.verdict for change in found.changes]
    counted = [t(f"runs_{word}", n=verdicts.count(word)) for word in _ORDER if word in verdicts]
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
    return cells.MISSING if began is None else f"{began[:10]} {began[11:16]} UTC"


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
        return Cell(cells.MISSING)
    given = metric == "f1" and vendor.is_baseline
    estimate = None if given else estimate_of(report.verdicts.get(model), name, metric)
    small = tables.interval(estimate, rate=tables.is_rate(metric))
    return Cell(cells.metric(vendor, metric), cells.finite(vendor.metrics.get(metric)), small)


def _changes(index: int, found: RunComparison, t: Texts) -> Section:
    ordered = sorted(found.changes, key=lambda change: _ORDER.index(change.verdict))[:_MOST_CHANGES]
    titles = (t("metric"), t("outcome"), t("runs_before"), t("runs_after"), t("runs_effect"), t("n"))
    rows = [_change(change, t) for change in ordered]
    caption = f"{t('runs_changes')}: {label(found.before)} → {label(found.after)}"
    table = plain_table(caption, t("vendor"), titles, rows)
    return Section(f"c{index}", caption, lines=tuple(label(note) for note in found.notes), tables=(table,))


def _change(change: MetricChange, t: Texts) -> Row:
    write = cells.quantity if change.scale == "ratio" else cells.rate
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
