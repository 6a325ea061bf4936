"""The text of a capacity report: sentences, and lines with a table of levels for each vendor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, log

from vendor_verifier.features.capacity.curve import LEAST_LEVELS
from vendor_verifier.features.capacity.values import CapacityReport, LimitVerdict, LoadKind, Point, VendorCapacity
from vendor_verifier.reports import number_format, tables
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.tables import Cell, Column, Item, Table
from vendor_verifier.words import Texts

_MAX_LABEL = 60
_SENTENCE = 600
_MARKS = {"undecided": "?", "broken": "✗"}
_TERMINAL, _PAGE = frozenset({"terminal"}), frozenset({"html"})
_OF_CSV = (
    "requests", "succeeded", "rate_limited", "ttft_p50_ms", "ttft_p95_ms", "e2e_p50_ms", "tps", "requests_per_s",
    "tokens_per_s", "in_flight", "f1", "schema_accuracy", "power",
)  # fmt: skip


def at(level: float, kind: LoadKind, t: Texts) -> str:
    """A level in words, such as ``8 in flight``."""
    return t(f"at_{kind}", level=f"{level:g}")


def verdict(vendor: VendorCapacity, kind: LoadKind, t: Texts) -> str:
    """One sentence with the vendor's capacity and the limits it missed first."""
    bears = t("bears_none") if vendor.capacity is None else t("bears", at=at(vendor.capacity, kind, t))
    gave_way = _gave_way(vendor, kind, t)
    match vendor.reason:
        case "edge" | "highest" | "drifted":
            return t(f"bears_{vendor.reason}", bears=bears, gave_way=gave_way)
        case "client":
            top = max((point.level for point in vendor.points), default=0.0)
            where = at(vendor.broke_at or top, kind, t)
            name = "bears_client_alone" if vendor.capacity is None else "bears_client"
            return t(name, bears=bears, at=where, client=_client(vendor, t))
        case "unloaded":
            missed = _limits(vendor.gave_way, t)
            return t("bears_unloaded", missed=missed) if missed else t("bears_silent")
        case reason:
            ran_out = t(f"ran_out_{reason}")
            if vendor.capacity is None:
                return t("bears_unmeasured", ran_out=ran_out)
            name = "bears_least" if vendor.broke_at is None else "bears_least_broke"
            return t(name, at=at(vendor.capacity, kind, t), ran_out=ran_out, gave_way=gave_way)


def _gave_way(vendor: VendorCapacity, kind: LoadKind, t: Texts) -> str:
    first = vendor.gave_way[0] if vendor.gave_way else None
    if vendor.broke_at is None or first is None:
        return t("gave_way_none")
    same = [limit for limit in vendor.gave_way if limit.aspect == first.aspect]
    others = [limit for limit in vendor.gave_way if limit.aspect != first.aspect]
    name = "gave_way" if any(limit.outcome == "broken" for limit in same) else "gave_way_maybe"
    also = t("gave_way_others", limits=_limits(others, t)) if others else ""
    aspect = t(f"aspect_{first.aspect}")
    return t(name, at=at(vendor.broke_at, kind, t), aspect=aspect, limits=_limits(same, t), others=also)


def _limits(missed: Sequence[LimitVerdict], t: Texts) -> str:
    """``f1 − unloaded −0.31 (−0.40 … −0.22), limit f1 >= ceiling - 0.05``, each of them."""
    return t.joined((_limit(limit, t) for limit in missed), "semicolon")


def _limit(limit: LimitVerdict, t: Texts) -> str:
    found, threshold = limit.estimate, limit.threshold
    metric = "times" if threshold.times else threshold.metric
    value, low, high = (_figure(metric, end) for end in (found.value, found.low, found.high))
    ends = {"low": "−∞" if found.low is None else low, "high": "∞" if found.high is None else high}
    name = "limit_told_times" if threshold.times else "limit_told_ceiling" if threshold.ceiling else "limit_told"
    return t(name, subject=threshold.subject, value=value, limit=str(threshold), **ends)


def _figure(metric: str, value: float | None) -> str:
    """Two digits after the point are enough for shares in a sentence."""
    if value is None:
        return number_format.MISSING
    return number_format.quantity(value) if metric.endswith(("_ms", "tps", "_tokens")) else f"{value:.3g}"


def told_shape(vendor: VendorCapacity, kind: LoadKind, t: Texts) -> Iterator[str]:
    """The findings of the curve beside its limits: a figure that falls within its limit, and the knee."""
    for fall in vendor.falls:
        before, after = (f"{value:.2f}" for value in (fall.unloaded, fall.loaded))
        where = at(fall.level, kind, t)
        yield t("capacity_fall", subject=t(f"capacity_{fall.metric}"), before=before, after=after, at=where)
    if vendor.knee is not None:
        yield t("capacity_knee", at=at(vendor.knee, kind, t))
    elif sum(point.stage == "level" for point in vendor.points) >= LEAST_LEVELS:
        yield t("capacity_no_knee")


def _client(vendor: VendorCapacity, t: Texts) -> str:
    point = next((one for one in vendor.points if one.level == vendor.broke_at), None)
    lag, core = (None, None) if point is None else (point.lag_p99_ms, point.core_share)
    clauses = [
        None if lag is None else t("client_lag", ms=f"{lag:.0f}"),
        None if core is None else t("client_core", share=f"{core:.0%}"),
    ]
    return t.joined(clauses, "clause") or t("client_clock")


def mark(point: Point, t: Texts) -> str:
    """The outcome as one sign."""
    if point.outcome == "holds":
        unsure = any(limit.outcome in ("met", "unmeasured") for limit in point.limits)
        return t("mark_unsure") if unsure else "✓"
    return _MARKS.get(point.outcome) or t(f"mark_{point.outcome}")


def why(point: Point, t: Texts) -> str:
    """The limits a level misses, or why it was cut, short enough for a table."""
    if point.cut is not None:
        return t.known(f"ran_out_{point.cut}", point.cut)
    stage = "" if point.stage == "level" else t(f"stage_{point.stage}")
    names = t.joined(str(limit.threshold) for limit in point.missed)
    return " ".join(word for word in (stage, t("level_missed", names=names) if names else "") if word)


def shown_needs(report: CapacityReport, t: Texts) -> Iterator[str]:
    """A note for each success limit on the number of requests that a level needs to prove it."""
    for threshold in report.thresholds:
        if threshold.metric == "success_rate" and not threshold.ceiling and 0 < threshold.number < 1:
            # The least n with rateⁿ ≤ 2.5 %: Clopper–Pearson's lower end for n of n.
            yield t("capacity_needs", needed=ceil(log(0.025) / log(threshold.number)), threshold=str(threshold))


def succeeded_share(point: Point) -> float | None:
    return point.succeeded / point.requests if point.requests else None


def levels(vendor: VendorCapacity, report: CapacityReport, t: Texts) -> Table:
    """A row for each level; a screen has the outcome before what is missed, a page before the figures."""

    def number(key: str) -> Callable[[Point], Cell]:
        return lambda point: tables.number(getattr(point, key))

    def share(of: Callable[[Point], float | None]) -> Callable[[Point], Cell]:
        return lambda point: Cell(_rate(of(point)) if t.room == "narrow" else number_format.rate(of(point)), of(point))

    columns = (
        Column("mark", lambda point: Cell(mark(point, t)), "", writers=_PAGE),
        Column("level_requests", lambda point: tables.count(point.requests)),
        Column("level_success", share(succeeded_share)),
        Column("429", lambda point: tables.count(point.rate_limited), "429"),
        Column("level_ttft_p50", number("ttft_p50_ms")),
        Column("level_ttft_p95", number("ttft_p95_ms")),
        Column("tps", number("tps"), "TPS"),
        Column("level_answers", number("requests_per_s")),
        Column("level_tokens", number("tokens_per_s")),
        Column("level_at_once", number("in_flight")),
        Column("f1", share(lambda point: point.f1), "F1"),
        Column("level_schema", share(lambda point: point.schema_accuracy)),
        Column("mark", lambda point: Cell(mark(point, t)), "", writers=_TERMINAL),
        Column("level_misses", lambda point: tables.words(why(point, t)), prose=True),
    )
    items = (Item(f"{point.level:g}", point) for point in _all(vendor))
    caption = t("capacity_levels", label=tables.page_label(vendor.label))
    return tables.table(caption, t(f"unit_{report.kind}"), columns, items, t)


def capacity_lines(report: CapacityReport) -> Iterator[str]:
    """Everything, one vendor after the other; no line ends inside."""
    t = Texts("narrow")
    for warning in report.warnings:
        yield t("warning_line", text=plain(warning, MAX_SENTENCE))
    for vendor in report.vendors:
        words = verdict(vendor, report.kind, t)
        yield plain(t("of_vendor", label=f"{vendor.model} / {vendor.label}", words=words), _SENTENCE)
        yield from _table_lines(levels(vendor, report, t).of("terminal"))
        yield from (f"  {plain(line, _SENTENCE)}" for line in told_shape(vendor, report.kind, t))
        for note in vendor.notes:
            yield "  " + t("note_line", note=plain(note, MAX_SENTENCE))
        yield ""
    yield t("capacity_limits_line", limits=t.joined(map(str, report.thresholds), "semicolon"))
    yield from shown_needs(report, t)
    yield t("capacity_legend")


def csv_of(report: CapacityReport) -> str:
    """All levels of all vendors as CSV; numbers as they are, empty where nothing was measured."""

    def figure(key: str) -> Column:
        return Column(key, lambda row: tables.raw(getattr(row[1], key)))

    t = Texts()
    columns = (
        Column("model", lambda row: tables.raw(row[0].model)),
        Column("label", lambda row: tables.raw(row[0].label)),
        *(figure(key) for key in ("stage", "level", "outcome")),
        Column("success", lambda row: tables.raw(succeeded_share(row[1]))),
        *map(figure, _OF_CSV),
        Column("is_knee", lambda row: tables.raw(row[0].knee == row[1].level and row[1].stage == "level")),
        Column("misses", lambda row: tables.raw("; ".join(str(limit.threshold) for limit in row[1].missed))),
    )
    rows = [Item(vendor.label, (vendor, point)) for vendor in report.vendors for point in _all(vendor)]
    return tables.csv_lines(tables.table("", "", columns, rows, t))


def _all(vendor: VendorCapacity) -> list[Point]:
    """Its points, and the one after the load."""
    return [*vendor.points, *([vendor.afterwards] if vendor.afterwards is not None else [])]


def _table_lines(shown: Table) -> Iterator[str]:
    """The lines of the table of levels, the missed limits in the last column."""
    if shown.items:
        rows = [[row.head, *(cell.text for cell in row.cells)] for row in shown.rows]
        for line in tables.aligned([[shown.head, *shown.titles], *rows], prose=1):
            yield f"  {line}".rstrip()


def _rate(value: float | None) -> str:
    """Three digits: a column of the table is narrow, and the interval wider than the fourth."""
    if value is None:
        return number_format.MISSING
    return f"{value:.3f}" if 0 < value < 1 else f"{value:g}"


def level_line(label: str, point: Point, kind: LoadKind, t: Texts) -> str:
    """The line for one level while the search goes on."""
    figures = {
        "success": _rate(succeeded_share(point)),
        "ttft": number_format.quantity(point.ttft_p95_ms),
        "f1": _rate(point.f1),
        "level": f"{point.level:g}",
        "requests": point.requests,
    }
    unit, sign, missed = t(f"unit_{kind}"), mark(point, t), why(point, t)
    return plain(t("level_line", label=label[:_MAX_LABEL], unit=unit, mark=sign, why=missed, **figures).rstrip())
