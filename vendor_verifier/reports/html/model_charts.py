"""The pictures of a model, each with a note for reading it and its data as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import msgspec
from markupsafe import Markup
from msgspec import structs

from vendor_verifier.records.details import Agreement, ComparedAnswer, Point, VendorDetails
from vendor_verifier.records.judgement import ModelVerdict
from vendor_verifier.records.score import ModelScore, VendorScore
from vendor_verifier.reports import number_format
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import Bubble, Seen, figure
from vendor_verifier.reports.html.heat_map import AGREEMENTS, HeatRow, heat_map, tally
from vendor_verifier.reports.html.sample_charts import (
    Course,
    Curve,
    Slice,
    Strip,
    Track,
    courses,
    cumulative,
    panels,
    slices,
    strips,
)
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
from vendor_verifier.words import Texts

_LONG_RUN_S = 300.0


class Chart(msgspec.Struct, frozen=True):
    """One picture or several on the same axes, a note for reading them, and their data as a table."""

    id: str
    title: str
    note: str
    pictures: tuple[Markup, ...]
    table: Table


class _Case(msgspec.Struct, frozen=True):
    model: ModelScore
    verdict: ModelVerdict | None
    details: Mapping[str, VendorDetails]
    t: Texts

    def seen(self) -> list[tuple[Seen, VendorScore]]:
        return [(Seen(index, page_label(vendor.label)), vendor) for index, vendor in enumerate(self.model.vendors)]

    def answers(self) -> list[tuple[Seen, VendorScore, tuple[ComparedAnswer, ...]]]:
        """The vendors with answers that stand beside the baseline's."""
        found = [(seen, vendor, self.details.get(vendor.label)) for seen, vendor in self.seen()]
        return [(seen, vendor, own.answers) for seen, vendor, own in found if own is not None and own.answers]


def model_charts(
    model: ModelScore, verdict: ModelVerdict | None, details: Mapping[str, VendorDetails], t: Texts, most_points: int
) -> list[Chart]:
    """The charts that something was measured for, in the page's order, with so many points a vendor over time."""
    case = _Case(model, verdict, details, t)
    made = (_heat(case), _ratio(case), _scatter(case), _first_token(case), _timeline(case, most_points), _load(case))
    return [chart for chart in made if chart is not None]


def _heat(case: _Case) -> Chart | None:
    t, names = case.t, {each: case.t(f"agreement_{each}") for each in AGREEMENTS}
    found = case.answers()
    if not any(tally(answers).keys() - {"unknown"} for _, _, answers in found):
        return None
    rows = [HeatRow(seen, answers, _told(tally(answers), t)) for seen, _, answers in found]
    seen_at_all = {answer.agreement for _, _, answers in found for answer in answers}
    shown = {each: name for each, name in names.items() if each in seen_at_all}
    drawn = heat_map(rows, shown, label=t("heat"))
    columns = [Column(each, _tallied(each), title) for each, title in shown.items()]
    items = [Item(vendor.label, tally(answers), seen.index) for seen, vendor, answers in found]
    samples = len({(answer.suite, answer.sample) for _, _, answers in found for answer in answers})
    note = t("heat_note", n=samples)
    if any(vendor.is_baseline for _, vendor, _ in found):
        note += t("heat_baseline")
    return Chart("heat", t("heat"), note, (drawn,), table(t("heat"), t("vendor"), columns, items, t))


def _told(counts: Counter[Agreement], t: Texts) -> str:
    """The numbers of answers that do not agree with the baseline's, in words."""
    unlike = [each for each in AGREEMENTS if each != "agrees" and counts[each]]
    return t.joined(f"{counts[each]} {t(f'agreement_{each}')}" for each in unlike) or t("all_agree")


def _tallied(agreement: Agreement) -> Callable[[Counter[Agreement]], Cell]:
    return lambda counts: count(counts[agreement])


def _ratio(case: _Case) -> Chart | None:
    t = case.t
    found = [
        (seen, vendor, tuple(answer.token_ratio for answer in answers if answer.token_ratio))
        for seen, vendor, answers in case.answers()
    ]
    found = [each for each in found if each[2]]
    if not found:
        return None
    drawn = strips([Strip(seen, values) for seen, _, values in found], x_title=t("ratio_x"), label=t("ratio"))
    columns = (
        Column("n", lambda values: count(len(values))),
        Column("p50", lambda values: number(median(values)), "p50"),
        Column("min", lambda values: number(min(values))),
        Column("max", lambda values: number(max(values))),
    )
    items = [Item(vendor.label, values, seen.index) for seen, vendor, values in found]
    return Chart("ratio", t("ratio"), t("ratio_note"), (drawn,), table(t("ratio"), t("vendor"), columns, items, t))


def _scatter(case: _Case) -> Chart | None:
    t, money = case.t, {} if case.verdict is None else case.verdict.money
    priced = {name: spent.per_1000_requests_usd for name, spent in money.items()}
    use_price = any(value is not None for value in priced.values())
    quality = _quality(case.model)
    speeds = [number_format.finite(vendor.metrics.get("tps")) or 0.0 for vendor in case.model.vendors]
    fastest = max(speeds, default=0.0)
    bubbles, items = [], []
    for seen, vendor in case.seen():
        x = priced.get(vendor.label) if use_price else number_format.finite(vendor.metrics.get("avg_tokens"))
        y, tps = _height(vendor, quality, case.verdict), number_format.finite(vendor.metrics.get("tps"))
        items.append(Item(vendor.label, (x, y, tps), seen.index))
        if x is not None and y is not None:
            size = None if tps is None or not fastest else (tps / fastest) ** 0.5
            told = number_format.money(x) if use_price else number_format.quantity(x)
            title = f"{seen.label}: {told}, {number_format.rate(y)}, {number_format.quantity(tps)} TPS"
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
    return Chart("scatter", t("scatter"), note, (drawn,), table(t("scatter"), t("vendor"), columns, items, t))


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


def _first_token(case: _Case) -> Chart | None:
    t, metric = case.t, "ttft_ms"
    curves = []
    for seen, vendor in case.seen():
        details, spread = case.details.get(vendor.label), vendor.distributions.get(metric)
        histogram = None if details is None else details.histograms.get(metric)
        if histogram is not None and spread is not None and spread.p50 is not None:
            curves.append(Curve(seen, histogram, spread.p50))
    if not curves:
        return None
    drawn = cumulative(curves, x_title=t("ttft_x"), unit=t("ms"), label=t("ttft_chart"))
    columns = [Column("n", lambda vendor: count(getattr(vendor.distributions.get(metric), "n", None)))]
    columns += spread_columns(lambda vendor: vendor.distributions.get(metric))
    shown = table(t("ttft_chart"), t("vendor"), columns, vendor_items(case.model.vendors), t)
    return Chart(metric, t("ttft_chart"), t("ttft_note"), (drawn,), shown)


def _timeline(case: _Case, most: int) -> Chart | None:
    t = case.t
    tracks = [
        Track(seen, case.details[vendor.label].points)
        for seen, vendor in case.seen()
        if vendor.label in case.details and case.details[vendor.label].points
    ]
    end_s = max((point.t_s for track in tracks for point in track.points), default=0.0)
    if end_s <= 0 or not most or all(point.ttft_ms is None for track in tracks for point in track.points):
        return None
    minutes = end_s >= _LONG_RUN_S
    unit_s, x_title = (60.0, t("time_x")) if minutes else (1.0, t("time_x_s"))
    thinned = [structs.replace(track, points=_thinned(track.points, most)) for track in tracks]
    drawn = panels(thinned, per_unit_s=unit_s, label=t("time_chart"))

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
    return Chart("time", t("time_chart"), t("time_note", n=most, x=x_title), tuple(drawn), shown)


def _load(case: _Case) -> Chart | None:
    """The requests in flight over time, where vendors were asked often enough for a course."""
    t = case.t
    paces = [(seen, vendor.pace) for seen, vendor in case.seen() if vendor.pace is not None]
    loads = [Course(seen, pace.over_time) for seen, pace in paces if pace.over_time is not None]
    if not loads:
        return None
    end_s = max(each.load.step_s * len(each.load.in_flight) for each in loads)
    unit_s, x_title = (60.0, t("time_x")) if end_s >= _LONG_RUN_S else (1.0, t("time_x_s"))
    columns = (
        Column("load_mean", lambda pace: number(pace.in_flight)),
        Column("load_peak", lambda pace: count(pace.peak_in_flight)),
        Column("load_requests", lambda pace: number(pace.requests_per_s)),
        Column("load_answers", lambda pace: number(pace.answers_per_s)),
        Column("load_tokens", lambda pace: number(pace.tokens_per_s)),
    )
    items = [Item(seen.label, pace, seen.index) for seen, pace in paces]
    drawn = courses(loads, per_unit_s=unit_s, label=t("load_chart"))
    shown = table(t("load_chart"), t("vendor"), columns, items, t)
    return Chart("load", t("load_chart"), t("load_note", x=x_title), tuple(drawn), shown)


def _thinned(points: Sequence[Point], most: int) -> tuple[Point, ...]:
    """Every so many-th of the points, ``most`` at the most."""
    return tuple(points[:: max(1, -(-len(points) // most))])
