"""The verdict in one sentence and the ranking table; it ranks nothing itself."""

from __future__ import annotations

from vendor_verifier.metrics import DIRECTIONS, is_share
from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.judgement import estimate_of, metric_title
from vendor_verifier.reports.html.tables import Cell, Column, Row, Table, label
from vendor_verifier.reports.words import Texts
from vendor_verifier.values.judgement import ModelVerdict, RankInterval
from vendor_verifier.values.score import ModelScore, Report, VendorScore


def sentence(model: ModelScore, verdict: ModelVerdict | None, t: Texts) -> str:
    """Who leads and how sure that is; plain text."""
    name = label(model.model)
    if sentences.nobody_answered(model):
        return t("nobody_answered", n=len(model.vendors), model=name)
    if len(model.vendors) == 1:
        return t("only", label=label(model.vendors[0].label), model=name)
    leaders = [vendor for vendor in model.vendors if sentences.place(vendor, model) == 1]
    if not leaders:
        return t("unranked", n=len(model.vendors), model=name)
    said = {
        "label": t.listed([label(vendor.label) for vendor in leaders]),
        "n": len(model.vendors),
        "model": name,
        "irf": number_format.fusion(leaders[0].irf),
        "tie": _tie(leaders, verdict, t),
        "gates": _gates(verdict, t),
    }
    if len(leaders) > 1:
        return t("share", **said)
    return t("leads", figures=_figures(leaders[0], t), **said)


def _figures(leader: VendorScore, t: Texts) -> str:
    told = []
    if (success := number_format.finite(leader.metrics.get("success_rate"))) is not None:
        told.append(t("leads_success", value=f"{success * 100:.4g}\u00a0%"))
    if (first := number_format.finite(leader.metrics.get("avg_ttft_ms"))) is not None:
        told.append(t("leads_ttft", value=number_format.quantity(first)))
    return t("leads_figures", figures=t("comma").join(told)) if told else ""


def _tie(leaders: list[VendorScore], verdict: ModelVerdict | None, t: Texts) -> str:
    """Nothing without statistics: then nobody knows."""
    if verdict is None or verdict.ranking is None:
        return ""
    first = {vendor.label for vendor in leaders}
    tied = sorted({name for pair in verdict.ranking.not_distinguishable if first & set(pair) for name in pair} - first)
    return t("tied_with", others=t.listed([label(name) for name in tied])) if tied else t("clear_lead")


def _gates(verdict: ModelVerdict | None, t: Texts) -> str:
    if verdict is None or not verdict.gates:
        return ""
    outcomes = [gate.outcome for gate in verdict.gates]
    failed, undecided = outcomes.count("FAIL"), outcomes.count("UNDECIDED")
    return t("gates_said", n=len(outcomes), failed=failed, undecided=undecided)


def ranking(model: ModelScore, verdict: ModelVerdict | None, t: Texts) -> Table:
    """The page's table layout, then evaluations, then what the statistics and prices add."""
    metrics = [name for _, name in (*number_format.PAGE_COLUMNS, *number_format.suite_columns(model))]
    columns = [Column(t("place"), "asc"), Column(t("irf"))]
    columns += [Column(metric_title(name, t), "asc" if DIRECTIONS.get(name) == "lower" else "desc") for name in metrics]
    gaps = {} if verdict is None else {gap.label: gap.delta for gap in verdict.gaps}
    money = {} if verdict is None else verdict.money
    joint = () if verdict is None or verdict.ranking is None else verdict.ranking.irf
    places = {one.label: RankInterval(one.label, "irf", int(one.rank.low), int(one.rank.high))
              for one in joint if one.rank.low is not None and one.rank.high is not None}  # fmt: skip
    columns += [Column(t("ranks"), "asc")] if places else []
    columns += [Column(t("gap"))] if gaps else []
    columns += [Column(t("usd_per_1000"), "asc")] if money else []
    rows = []
    for index, vendor in enumerate(model.vendors):
        own = [_place(vendor, model), _irf(vendor, model)]
        own += [_metric(vendor, name, verdict) for name in metrics]
        if places:
            own.append(_ranks(places.get(vendor.label)))
        if gaps:
            own.append(tables.estimate(gaps.get(vendor.label)))
        if money:
            spent = money.get(vendor.label)
            own.append(tables.number(spent.per_1000_requests_usd if spent else None))
        rows.append(Row(label(vendor.label), tuple(own), index, vendor.is_baseline))
    return Table(t("ranking"), t("vendor"), tuple(columns), tuple(rows), sortable=True)


def _place(vendor: VendorScore, model: ModelScore) -> Cell:
    return tables.count(sentences.place(vendor, model))


def _irf(vendor: VendorScore, model: ModelScore) -> Cell:
    text = number_format.irf(vendor, model)
    return Cell(text, None if text == number_format.MISSING else number_format.finite(vendor.irf))


def _ranks(found: RankInterval | None) -> Cell:
    if found is None:
        return Cell(number_format.MISSING)
    return Cell(f"{found.low}–{found.high}" if found.low != found.high else str(found.low), float(found.low))


def _metric(vendor: VendorScore, name: str, verdict: ModelVerdict | None) -> Cell:
    small = None
    if not (name == "f1" and vendor.is_baseline):
        small = tables.interval(estimate_of(verdict, vendor.label, name), rate=is_share(name))
    return Cell(number_format.metric(vendor, name), number_format.finite(vendor.metrics.get(name)), small)


def footnotes(model: ModelScore, report: Report, t: Texts) -> list[str]:
    """What the marks in the table mean, only for the marks it has."""
    notes = []
    if any(number_format.BY_DEFINITION in number_format.metric(vendor, "f1") for vendor in model.vendors):
        notes.append(t("by_definition"))
    if any(number_format.FEWER_METRICS in number_format.irf(vendor, model) for vendor in model.vendors):
        notes.append(t("fewer"))
    if model.baseline is None:
        notes.append(t("no_baseline"))
    verdict = report.verdicts.get(model.model)
    if verdict is not None and (verdict.intervals or verdict.ranking):
        notes.append(t("interval_note", level="95 %"))
    elif len(model.vendors) > 1:
        notes.append(t("no_intervals"))
    return notes
