"""Which charts a model gets, each with the table that says the same; a chart without a figure is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports import cells
from vendor_verifier.reports.html import charts, charts_time, svg, tables
from vendor_verifier.reports.html.charts import Bubble, Dot, Seen, Stack
from vendor_verifier.reports.html.charts_time import Spread, Track
from vendor_verifier.reports.html.judged import estimate_of
from vendor_verifier.reports.html.tables import Row, Table, label, plain_table
from vendor_verifier.reports.html.texts import Texts
from vendor_verifier.values.details import MAX_POINTS, VendorDetails
from vendor_verifier.values.score import CallClass, ModelScore, VendorScore
from vendor_verifier.values.verdict import ModelVerdict

_WRONG: tuple[CallClass, ...] = (
    "invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments", "schema_unusable", "valid_in_dialect",
    "not_judged",
)  # fmt: skip
_LONG_RUN_S = 300.0


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture, what to know for reading it, and the same as a table."""

    id: str
    title: str
    note: str
    picture: Markup
    table: Table


@dataclass(frozen=True, slots=True)
class _Case:
    model: ModelScore
    verdict: ModelVerdict | None
    details: Mapping[str, VendorDetails]
    t: Texts

    def seen(self) -> list[tuple[Seen, VendorScore]]:
        return [(Seen(index, label(vendor.label)), vendor) for index, vendor in enumerate(self.model.vendors)]


def model_charts(
    model: ModelScore, verdict: ModelVerdict | None, details: Mapping[str, VendorDetails], t: Texts
) -> list[Chart]:
    """The charts that something was measured for, in the page's order."""
    case = _Case(model, verdict, details, t)
    made = (
        _scatter(case),
        _f1(case),
        _spread(case, "ttft_ms", "ttft_chart", "ttft_note"),
        _spread(case, "tps", "tps_chart", "tps_note"),
        _timeline(case),
        _schema(case),
    )
    return [chart for chart in made if chart is not None]


def _scatter(case: _Case) -> Chart | None:
    t, money = case.t, {} if case.verdict is None else case.verdict.money
    priced = {name: spent.per_1000_requests_usd for name, spent in money.items()}
    use_price = any(value is not None for value in priced.values())
    quality = _quality(case.model)
    fastest = max((cells.finite(vendor.metrics.get("tps")) or 0.0 for vendor in case.model.vendors), default=0.0)
    bubbles, rows = [], []
    for seen, vendor in case.seen():
        x = priced.get(vendor.label) if use_price else cells.finite(vendor.metrics.get("avg_tokens"))
        y, tps = _height(vendor, quality, case.verdict), cells.finite(vendor.metrics.get("tps"))
        rows.append(Row(seen.label, (tables.number(x), tables.share(y), tables.number(tps)), seen.index))
        if x is not None and y is not None:
            size = None if tps is None or not fastest else (tps / fastest) ** 0.5
            title = f"{seen.label}: {cells.quantity(x)}, {cells.rate(y)}, {cells.quantity(tps)} TPS"
            bubbles.append(Bubble(seen, x, y, size, title))
    if len(bubbles) < 2:
        return None
    x_title, y_title = t("scatter_x_price" if use_price else "scatter_x_tokens"), t(f"quality_{quality}")
    drawn = charts.scatter(bubbles, x_title=x_title, y_title=y_title, y_top=1.0, label=t("scatter"))
    table = plain_table(t("scatter"), t("vendor"), (x_title, y_title, t("tps")), rows)
    note = t("scatter_note") + ("" if use_price else " " + t("scatter_tokens"))
    return Chart("scatter", t("scatter"), note, drawn, table)


def _quality(model: ModelScore) -> str:
    """What stands for quality: the first of these that two vendors have, agreement with the baseline before form."""
    for name in ("f1", "schema_accuracy"):
        if sum(cells.finite(vendor.metrics.get(name)) is not None for vendor in model.vendors) > 1:
            return name
    return "success_rate"


def _height(vendor: VendorScore, quality: str, verdict: ModelVerdict | None) -> float | None:
    """The baseline stands at what it gives against itself, once that was measured."""
    if quality == "f1" and vendor.is_baseline and verdict is not None and verdict.noise_floor is not None:
        own = verdict.noise_floor.ceiling.value
        if own is not None:
            return own
    return cells.finite(vendor.metrics.get(quality))


def _f1(case: _Case) -> Chart | None:
    t, floor = case.t, None if case.verdict is None else case.verdict.noise_floor
    dots, rows = [], []
    for seen, vendor in case.seen():
        value = cells.finite(vendor.metrics.get("f1"))
        found = None if vendor.is_baseline else estimate_of(case.verdict, vendor.label, "f1")
        low, high = (None, None) if found is None else (found.low, found.high)
        dots.append(Dot(seen, value, low, high, cells.BY_DEFINITION if vendor.is_baseline else ""))
        counts = vendor.trigger
        parts = [None] * 6 if counts is None else [counts.tp, counts.fp, counts.fn, counts.tn, None, None]
        dropped = None if counts is None else counts.dropped_baseline + counts.dropped_vendor + counts.not_sent
        own = [tables.Cell(cells.metric(vendor, "f1"), value, tables.interval(found))]
        own += [tables.count(part) for part in parts[:4]]
        own += [tables.share(counts.precision if counts else None), tables.share(counts.recall if counts else None)]
        rows.append(Row(seen.label, (*own, tables.count(dropped)), seen.index))
    if all(dot.value is None for dot in dots):
        return None
    ceiling = None if floor is None else Dot(Seen(0, ""), floor.ceiling.value, floor.ceiling.low, floor.ceiling.high)
    if ceiling is not None and ceiling.value is None:
        ceiling = None
    drawn = charts.dots(
        dots, ceiling=ceiling, ceiling_label=t("ceiling"), missing=t("not_measured"), label=t("f1_chart")
    )
    titles = ("F1", "TP", "FP", "FN", "TN", t("precision"), t("recall"), t("dropped"))
    table = plain_table(t("f1_chart"), t("vendor"), titles, rows)
    note = t("f1_note", level="95 %") if any(dot.low is not None for dot in dots) else t("f1_plain")
    return Chart("f1", t("f1_chart"), note, drawn, table)


def _spread(case: _Case, metric: str, title: str, note: str) -> Chart | None:
    t, spreads, rows = case.t, [], []
    for seen, vendor in case.seen():
        summary = vendor.distributions.get(metric)
        details = case.details.get(vendor.label)
        spreads.append(Spread(seen, summary, details.histograms.get(metric) if details else None))
        rows.append(Row(seen.label, distribution_cells(summary), seen.index))
    if all(spread.summary is None or spread.summary.p50 is None for spread in spreads):
        return None
    drawn = charts_time.ridges(spreads, missing=t("not_measured"), label=t(title))
    return Chart(metric, t(title), t(note), drawn, plain_table(t(title), t("vendor"), distribution_titles(t), rows))


def distribution_titles(t: Texts) -> tuple[str, ...]:
    return (t("n"), t("mean"), "p50", "p90", "p95", "p99", t("min"), t("max"))


def distribution_cells(summary: object) -> tuple[tables.Cell, ...]:
    """The fields of a distribution in the order of :func:`distribution_titles`."""
    names = ("mean", "p50", "p90", "p95", "p99", "min", "max")
    figures = (tables.number(getattr(summary, name, None)) for name in names)
    return (tables.count(getattr(summary, "n", None)), *figures)


def _timeline(case: _Case) -> Chart | None:
    t = case.t
    tracks = [
        Track(seen, case.details[vendor.label].points)
        for seen, vendor in case.seen()
        if vendor.label in case.details and case.details[vendor.label].points
    ]
    end_s = max((point.t_s for track in tracks for point in track.points), default=0.0)
    if end_s <= 0:
        return None
    minutes = end_s >= _LONG_RUN_S
    unit_s, x_title = (60.0, t("time_x")) if minutes else (1.0, t("time_x_s"))
    rows = [
        Row(
            track.vendor.label,
            (
                tables.words(f"{svg.figure(part.begin_s / unit_s)} – {svg.figure(part.end_s / unit_s)}"),
                tables.number(part.median_ms),
                tables.words(t("of", part=part.failed, whole=part.requests)),
            ),
            track.vendor.index,
        )
        for track in tracks
        for part in charts_time.slices(track.points, end_s, 4)
    ]
    drawn = charts_time.panels(tracks, x_title=x_title, per_unit_s=unit_s, label=t("time_chart"))
    titles = (f"{t('slice')} ({x_title})", t("median_ttft"), t("failed"))
    table = plain_table(t("time_chart"), t("vendor"), titles, rows)
    return Chart("time", t("time_chart"), t("time_note", n=MAX_POINTS), drawn, table)


def _schema(case: _Case) -> Chart | None:
    t, stacks, rows = case.t, [], []
    for seen, vendor in case.seen():
        schema = vendor.schema
        counts = [schema.classes.get(name, 0) for name in _WRONG]
        if schema.calls:
            wrong = sum(counts)
            total = t("of", part=wrong, whole=schema.calls)
            stacks.append(Stack(seen, tuple(number / schema.calls for number in counts), total))
        own = (tables.count(schema.calls), tables.count(schema.classes.get("valid", 0)), *map(tables.count, counts))
        rows.append(Row(seen.label, own, seen.index))
    if not stacks:
        return None
    words = [name.replace("_", " ") for name in _WRONG]
    drawn = charts.stacks(stacks, words, x_title=t("share_of_calls"), label=t("schema_chart"))
    table = plain_table(t("schema_chart"), t("vendor"), (t("calls"), "valid", *words), rows)
    return Chart("schema", t("schema_chart"), t("schema_note"), drawn, table)
