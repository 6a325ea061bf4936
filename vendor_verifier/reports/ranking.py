"""The ranking as one table for every output; a column added to ``COLUMNS`` appears in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from vendor_verifier.metrics import DIRECTIONS, RANKED, is_share
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import IrfInterval, ModelVerdict
from vendor_verifier.records.score import ModelScore, Report, VendorScore
from vendor_verifier.records.verdict import FACETS, FacetName, VendorVerdict
from vendor_verifier.reports import number_format, tables
from vendor_verifier.reports.number_format import figure_title
from vendor_verifier.reports.sentences import place, valid_calls
from vendor_verifier.reports.tables import Cell, Column, Item, Table
from vendor_verifier.reports.verdicts import status_cell
from vendor_verifier.words import Texts

_CSV, _TERMINAL, _PAGE = frozenset({"csv"}), frozenset({"terminal"}), frozenset({"html"})
_MARKDOWN = frozenset({"markdown"})
_SHOWN = tables.EVERYWHERE - _CSV
# Rank metrics that our own lateness takes rows from.
_TIMED = tuple(name for name, metric in RANKED.items() if metric.is_timed)
_TRIGGER_FIELDS = (
    *("tp", "fp", "fn", "tn", "failed_as_missed"),
    *("dropped_baseline", "dropped_vendor", "not_sent", "precision", "recall"),
)


class Entry(msgspec.Struct, frozen=True):
    """A vendor with everything else that its row of the ranking depends on."""

    vendor: VendorScore
    model: ModelScore
    verdict: ModelVerdict | None
    t: Texts
    advised: VendorVerdict | None = None


class Scope(msgspec.Struct, frozen=True):
    """The models in one table, their verdicts, and their report."""

    report: Report
    models: Sequence[ModelScore]
    verdicts: Sequence[ModelVerdict]
    t: Texts


def _data(key: str, *path: str) -> Column:
    """A column of bare values for programs, found by a path of fields and keys of the vendor."""

    def cell(entry: Entry) -> Cell:
        found: Any = entry.vendor
        for step in path or (key,):
            found = found.get(step) if isinstance(found, Mapping) else getattr(found, step, None)
        return tables.raw(found)

    return Column(key, cell, writers=_CSV)


def _facet(name: FacetName) -> Column:
    """The column of a facet's status, for programs."""

    def cell(entry: Entry) -> Cell:
        return tables.raw(None if entry.advised is None else entry.advised.facet(name).status)

    return Column(f"verdict_{name}", cell, writers=_CSV)


def _shown_metrics(scope: Scope) -> Iterator[Column]:
    """The published columns, then one for each further evaluation."""
    for name in (*number_format.PAGE_METRICS, *number_format.suites_of(*scope.models)):
        title = figure_title(name, scope.t)
        yield Column(
            name, _metric(name, scope.t), title, "asc" if DIRECTIONS.get(name) == "lower" else "desc", writers=_SHOWN
        )


def _metric(name: str, t: Texts) -> Callable[[Entry], Cell]:
    return lambda entry: metric_cell(entry.vendor, name, entry.verdict, t)


def _bare_metrics(scope: Scope) -> Iterator[Column]:
    """Columns of the rank metrics, then of others that any vendor has, so that every row has the same columns."""
    ranked = scope.report.rank_metrics
    others = {name for model in scope.models for vendor in model.vendors for name in vendor.metrics} - set(ranked)
    yield from (_data(name, "metrics", name) for name in (*ranked, *sorted(others)))
    yield from (_data(f"rank_{name}", "ranks", name) for name in ranked)
    yield from (_data(f"measured_{name}", "measured", name) for name in ranked)
    yield from (_data(f"stalled_{name}", "stalled", name) for name in _TIMED)


def _spreads() -> Iterator[Column]:
    for name in number_format.SPEED_METRICS:
        for part in number_format.PERCENTILES:
            # This one has a column among the averages already, under the name that it had first.
            if (name, part) != ("tps", "p50"):
                yield _data(f"{name}_{part}", "distributions", name, part)
    yield from (_data(f"{name}_stalled", "distributions", name, "stalled") for name in number_format.SPEED_METRICS)


def _goodput(scope: Scope) -> Iterable[Column]:
    if all(vendor.goodput is None for model in scope.models for vendor in model.vendors):
        return ()
    keys = {"goodput_per_s": "per_s", "goodput_share": "share", "good_requests": "good"}
    return (_data(key, "goodput", name) for key, name in keys.items())


# In their order; a function gives those that depend on the run. Each column names the outputs that have it.
COLUMNS: tuple[Column | Callable[[Scope], Iterable[Column]], ...] = (
    Column("model", lambda entry: tables.name(entry.model.model), writers=_CSV),
    Column(
        "place",
        lambda entry: _place(entry),
        direction="asc",
        writers=_PAGE | _CSV | _TERMINAL,
    ),
    _data("label"),
    lambda scope: _verdict_words(scope),
    Column("verdict", lambda entry: tables.raw(None if entry.advised is None else entry.advised.status), writers=_CSV),
    *(_facet(name) for name in FACETS),
    *map(_data, ("vendor", "provider", "model_id", "is_baseline", "irf", "irf_metrics", "irf_global")),
    Column("irf", lambda entry: _irf(entry), writers=_SHOWN),
    Column("done", lambda entry: _done(entry.vendor), writers=_TERMINAL),
    _shown_metrics,
    _bare_metrics,
    *map(_data, ("planned", "recorded", "succeeded", "succeeded_first_try", "attempts")),
    *(_data(name, "trigger", name) for name in _TRIGGER_FIELDS),
    _data("calls", "schema", "calls"),
    Column("valid_calls", lambda entry: tables.raw(valid_calls(entry.vendor)), writers=_CSV),
    _data("schema_accuracy_lenient", "schema", "accuracy_lenient"),
    _data("schema_accuracy_strict", "schema", "accuracy_strict"),
    _data("tool_call_error_rate", "schema", "tool_call_error_rate"),
    *map(_data, ("tps_mean", "tps_p50", "e2e_tps")),
    *_spreads(),
    _goodput,
    Column("few_stretches", lambda entry: tables.raw(_few_stretches(entry)), writers=_CSV),
)


def _few_stretches(entry: Entry) -> str | None:
    """The figures that too few independent stretches say too little of, with blanks between; None without any."""
    found = {} if entry.verdict is None else entry.verdict.few_stretches_of(entry.vendor.label)
    return " ".join(found) or None


def ranking(report: Report, models: Sequence[ModelScore], t: Texts) -> Table:
    """The ranking of these models with all columns, from which every writer takes its own."""
    verdicts = {model.model: report.verdicts.get(model.model) for model in models}
    scope = Scope(report, models, [verdict for verdict in verdicts.values() if verdict is not None], t)
    columns = (each for known in COLUMNS for each in ([known] if isinstance(known, Column) else known(scope)))
    items = (
        Item(
            vendor.label,
            Entry(vendor, model, verdicts[model.model], t, _advised(report, model, vendor)),
            index,
            vendor.is_baseline,
        )
        for model in models
        for index, vendor in enumerate(model.vendors)
    )
    return tables.table(t("ranking"), t("vendor"), columns, items, t, sortable=True)


def _advised(report: Report, model: ModelScore, vendor: VendorScore) -> VendorVerdict | None:
    advice = report.advice.get(model.model)
    return None if advice is None else advice.vendors.get(vendor.label)


def render_csv(report: Report) -> str:
    """ranking.csv: UTF-8-encodable, a row for each model and vendor."""
    return tables.csv_lines(ranking(report, report.models, Texts()))


def metric_cell(vendor: VendorScore, name: str, verdict: ModelVerdict | None, t: Texts) -> Cell:
    """One metric of one vendor with its interval, or the reason for there being none; the baseline's F1 has neither."""
    found = None if name == "f1" and vendor.is_baseline else estimate_of(verdict, vendor.label, name)
    small = number_format.withheld(vendor, name, t) or number_format.interval(found, as_share=is_share(name))
    return Cell(number_format.metric(vendor, name), number_format.finite(vendor.metrics.get(name)), small)


def estimate_of(verdict: ModelVerdict | None, name: str, metric: str) -> Estimate | None:
    """The estimate of one vendor's metric from the verdict's intervals, else from its ranking; None without one."""
    if verdict is None:
        return None
    found = verdict.intervals.get(name, {}).get(metric)
    if found is None and verdict.ranking is not None:
        found = verdict.ranking.estimates.get(name, {}).get(metric)
    return found


def metric_title(metric: str, t: Texts) -> str:
    """A metric's column title; a suite's own name where there is no text for it."""
    return tables.page_label(figure_title(metric, t))


def irf_of(verdict: ModelVerdict | None) -> dict[str, IrfInterval]:
    """Label → IRF interval, for vendors whose rank interval is closed."""
    joint = () if verdict is None or verdict.ranking is None else verdict.ranking.irf
    return {one.label: one for one in joint if one.rank.low is not None and one.rank.high is not None}


def _verdict_words(scope: Scope) -> Iterator[Column]:
    """The column of the verdicts for people; a terminal and a page have the matrix above."""

    def cell(entry: Entry) -> Cell:
        return Cell(number_format.MISSING) if entry.advised is None else status_cell(entry.advised, entry.t)

    if any(model.model in scope.report.advice for model in scope.models):
        yield Column("verdict", cell, writers=_MARKDOWN)


def _place(entry: Entry) -> Cell:
    return tables.count(place(entry.vendor, entry.model))


def _irf(entry: Entry) -> Cell:
    text = number_format.irf(entry.vendor, entry.model)
    return Cell(text, None if text == number_format.MISSING else number_format.finite(entry.vendor.irf))


def _done(vendor: VendorScore) -> Cell:
    return Cell(f"{vendor.succeeded}/{vendor.planned}" if vendor.recorded else number_format.MISSING)
