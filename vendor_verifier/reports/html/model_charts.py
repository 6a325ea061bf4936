"""The charts of a model, each with a note for reading it and its data as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports import number_format
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import Bubble, Dot, Seen, Stack, figure
from vendor_verifier.reports.html.time_charts import Slice, Spread, Track, panels, ridges, slices
from vendor_verifier.reports.ranking import estimate_of
from vendor_verifier.reports.tables import (
    Cell,
    Column,
    Item,
    Table,
    count,
    number,
    page_label,
    share,
    table,
    vendor_items,
)
from vendor_verifier.reports.vendor_tables import of, spread_columns
from vendor_verifier.values.details import MAX_POINTS, VendorDetails
from vendor_verifier.values.judgement import ModelVerdict
from vendor_verifier.values.score import CallClass, ModelScore, VendorScore
from vendor_verifier.words import Texts

_WRONG: tuple[CallClass, ...] = (
    "invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments", "schema_unusable", "valid_in_dialect",
    "not_judged",
)  # fmt: skip
_LONG_RUN_S = 300.0
_TRIGGER = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture, a note for reading it, and its data as a table."""

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
        return [(Seen(index, page_label(vendor.label)), vendor) for index, vendor in enumerate(self.model.vendors)]


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
    fastest = max(
        (number_format.finite(vendor.metrics.get("tps")) or 0.0 for vendor in case.model.vendors), default=0.0
    )
    bubbles, items = [], []
    for seen, vendor in case.seen():
        x = priced.get(vendor.label) if use_price else number_format.finite(vendor.metrics.get("avg_tokens"))
        y, tps = _height(vendor, quality, case.verdict), number_format.finite(vendor.metrics.get("tps"))
        items.append(Item(vendor.label, (x, y, tps), seen.index))
        if x is not None and y is not None:
            size = None if tps is None or not fastest else (tps / fastest) ** 0.5
            title = (
                f"{seen.label}: {number_format.quantity(x)}, {number_format.rate(y)}, {number_format.quantity(tps)} TPS"
            )
            bubbles.append(Bubble(seen, x, y, size, title))
    if len(bubbles) < 2:
        return None
    x_title, y_title = t("scatter_x_price" if use_price else "scatter_x_tokens"), t(f"quality_{quality}")
    drawn = charts.scatter(bubbles, x_title=x_title, y_title=y_title, y_top=1.0, label=t("scatter"))
    columns = (
        Column("scatter_x", lambda found: number(found[0]), x_title),
        Column("scatter_y", lambda found: share(found[1]), y_title),
        Column("tps", lambda found: number(found[2]), number_format.figure_title("tps", t)),
    )
    note = t("scatter_note") + ("" if use_price else " " + t("scatter_tokens"))
    return Chart("scatter", t("scatter"), note, drawn, table(t("scatter"), t("vendor"), columns, items, t))


def _quality(model: ModelScore) -> str:
    """The metric used as quality: the first of F1, schema accuracy and success rate that two vendors have."""
    for name in ("f1", "schema_accuracy"):
        if sum(number_format.finite(vendor.metrics.get(name)) is not None for vendor in model.vendors) > 1:
            return name
    return "success_rate"


def _height(vendor: VendorScore, quality: str, verdict: ModelVerdict | None) -> float | None:
    """A vendor's quality on the chart; the baseline's F1 is its self-F1 where that was measured."""
    if quality == "f1" and vendor.is_baseline and verdict is not None and verdict.noise_floor is not None:
        own = verdict.noise_floor.ceiling.value
        if own is not None:
            return own
    return number_format.finite(vendor.metrics.get(quality))


def _f1(case: _Case) -> Chart | None:
    t, floor = case.t, None if case.verdict is None else case.verdict.noise_floor
    estimates = {
        vendor.label: None if vendor.is_baseline else estimate_of(case.verdict, vendor.label, "f1")
        for vendor in case.model.vendors
    }
    dots = []
    for seen, vendor in case.seen():
        found = estimates[vendor.label]
        low, high = (None, None) if found is None else (found.low, found.high)
        note = number_format.BY_DEFINITION if vendor.is_baseline else ""
        dots.append(Dot(seen, number_format.finite(vendor.metrics.get("f1")), low, high, note))
    if all(dot.value is None for dot in dots):
        return None
    ceiling = None
    if floor is not None and floor.ceiling.value is not None:
        ceiling = Dot(Seen(0, ""), floor.ceiling.value, floor.ceiling.low, floor.ceiling.high)
    drawn = charts.dots(
        dots, ceiling=ceiling, ceiling_label=t("ceiling"), missing=t("not_measured"), label=t("quality_f1")
    )

    def figure(vendor: VendorScore) -> Cell:
        value = number_format.finite(vendor.metrics.get("f1"))
        return Cell(number_format.metric(vendor, "f1"), value, number_format.interval(estimates[vendor.label]))

    columns = (
        Column("f1", figure, "F1"),
        *(Column(key, _counted(key), key.upper()) for key in _TRIGGER),
        Column("precision", lambda one: share(getattr(one.trigger, "precision", None))),
        Column("recall", lambda one: share(getattr(one.trigger, "recall", None))),
        Column("dropped", lambda one: count(_dropped(one))),
    )
    shown = table(t("quality_f1"), t("vendor"), columns, vendor_items(case.model.vendors), t)
    note = t("f1_note", level="95 %") if any(dot.low is not None for dot in dots) else t("f1_plain")
    return Chart("f1", t("quality_f1"), note, drawn, shown)


def _counted(key: str) -> Callable[[VendorScore], Cell]:
    return lambda vendor: count(getattr(vendor.trigger, key, None))


def _of_class(name: CallClass) -> Callable[[VendorScore], Cell]:
    return lambda vendor: count(vendor.schema.classes.get(name, 0))


def _dropped(vendor: VendorScore) -> int | None:
    counts = vendor.trigger
    return None if counts is None else counts.dropped_baseline + counts.dropped_vendor + counts.not_sent


def _spread(case: _Case, metric: str, title: str, note: str) -> Chart | None:
    t, spreads = case.t, []
    for seen, vendor in case.seen():
        details = case.details.get(vendor.label)
        histogram = details.histograms.get(metric) if details else None
        spreads.append(Spread(seen, vendor.distributions.get(metric), histogram))
    if all(spread.summary is None or spread.summary.p50 is None for spread in spreads):
        return None
    drawn = ridges(spreads, missing=t("not_measured"), label=t(title))
    columns = [Column("n", lambda vendor: count(getattr(vendor.distributions.get(metric), "n", None)))]
    columns += spread_columns(lambda vendor: vendor.distributions.get(metric))
    shown = table(t(title), t("vendor"), columns, vendor_items(case.model.vendors), t)
    return Chart(metric, t(title), t(note), drawn, shown)


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
    drawn = panels(tracks, x_title=x_title, per_unit_s=unit_s, label=t("time_chart"))

    def stretch(part: Slice) -> Cell:
        return Cell(f"{figure(part.begin_s / unit_s)} – {figure(part.end_s / unit_s)}")

    columns = (
        Column("slice", stretch, f"{t('slice')} ({x_title})"),
        Column("median_ttft", lambda part: number(part.median_ms)),
        Column("failed", lambda part: of(part.failed, part.requests, t)),
    )
    items = [
        Item(track.vendor.label, part, track.vendor.index)
        for track in tracks
        for part in slices(track.points, end_s, 4)
    ]
    shown = table(t("time_chart"), t("vendor"), columns, items, t)
    return Chart("time", t("time_chart"), t("time_note", n=MAX_POINTS), drawn, shown)


def _schema(case: _Case) -> Chart | None:
    t, stacks = case.t, []
    for seen, vendor in case.seen():
        schema = vendor.schema
        counts = [schema.classes.get(name, 0) for name in _WRONG]
        if schema.calls:
            total = t("of", part=sum(counts), whole=schema.calls)
            stacks.append(Stack(seen, tuple(wrong / schema.calls for wrong in counts), total))
    if not stacks:
        return None
    classes: tuple[CallClass, ...] = ("valid", *_WRONG)
    words = {name: t(f"class_{name}") for name in classes}
    drawn = charts.stacks(
        stacks, [words[name] for name in _WRONG], x_title=t("share_of_calls"), label=t("schema_chart")
    )
    columns = [Column("calls", lambda vendor: count(vendor.schema.calls))]
    columns += [Column(name, _of_class(name), title) for name, title in words.items()]
    shown = table(t("schema_chart"), t("vendor"), columns, vendor_items(case.model.vendors), t)
    return Chart("schema", t("schema_chart"), t("schema_note"), drawn, shown)
