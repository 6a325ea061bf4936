"""capacity.html: the curves of a search for capacity, one file that loads and runs nothing; it computes nothing.

Everything a stranger wrote passes ``visible`` and then the template's or the drawing's escaping, as in report.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from vendor_verifier.features.capacity import words_en, words_zh
from vendor_verifier.features.capacity.charts import Panel, Trace, curves
from vendor_verifier.features.capacity.values import CapacityReport, Point, VendorCapacity
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import charts, tables
from vendor_verifier.reports.html.page import part, policy
from vendor_verifier.reports.html.tables import Cell, Row, Table, label, plain_table
from vendor_verifier.reports.words import HTML_LANG, Language

_SENTENCE = 600
_FEW = 3


def render(report: CapacityReport, language: Language = "en") -> str:
    """The whole page, UTF-8-encodable."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    words: ModuleType = words_zh if language == "zh" else words_en
    style = part("page.css")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(part("table.html.j2") + part("capacity.html.j2"))
    text: str = template.render(
        policy=policy(style, ""),
        # Ours, constant, and held by the policy to exactly these bytes.
        style=Markup(style),  # noqa: S704
        icon=charts.icon,
        t=words.TEXTS.__getitem__,
        lang=HTML_LANG[language],
        run=label(report.run),
        verdicts=_verdicts(report, words),
        meta=[
            report.created_at,
            f"agent-vendor-verifier {report.version}",
            words.TEXTS["samples"].format(n=report.bounds.samples),
        ],
        warnings=[visible(warning) for warning in report.warnings],
        overview=_overview(report, words),
        vendors=[_vendor(vendor, report, words) for vendor in report.vendors],
        method=list(_method(report, words)),
    )
    return text


def _verdicts(report: CapacityReport, words: ModuleType) -> list[str]:
    """What each vendor bears: a line each where they are few, else one sentence, the most first."""
    if not report.vendors:
        return [words.TEXTS["nobody"]]
    if len(report.vendors) <= _FEW:
        return [f"{label(one.label)}: {_borne(one, report, words)}" for one in report.vendors]
    most_first = sorted(report.vendors, key=lambda one: -(one.capacity or 0.0))
    named = [f"{label(one.label)} {number_format.quantity(one.capacity)}" for one in most_first]
    return [words.TEXTS["bears_in"].format(unit=words.unit(report.kind)) + ": " + ", ".join(named)]


def _borne(vendor: VendorCapacity, report: CapacityReport, words: ModuleType) -> str:
    level: str = number_format.MISSING if vendor.capacity is None else words.at(vendor.capacity, report.kind)
    return level


def _overview(report: CapacityReport, words: ModuleType) -> Table:
    rows = [
        Row(
            label(f"{vendor.model} / {vendor.label}"),
            (
                tables.number(vendor.capacity),
                tables.number(vendor.broke_at),
                Cell(visible(words.verdict(vendor, report.kind), _SENTENCE)),
                tables.count(vendor.requests),
            ),
        )
        for vendor in report.vendors
    ]
    t = words.TEXTS
    titles = (t["bears_in"].format(unit=words.unit(report.kind)), t["gave_way_at"], t["found"], t["sent"])
    return plain_table(t["bears"], t["vendor"], titles, rows, prose=titles[2:3])


def _vendor(vendor: VendorCapacity, report: CapacityReport, words: ModuleType) -> dict[str, Any]:
    return {
        "name": label(f"{vendor.model} / {vendor.label}"),
        "verdict": visible(words.verdict(vendor, report.kind), _SENTENCE),
        "picture": _picture(vendor, report, words),
        "table": _table(vendor, report, words),
        "notes": [visible(note) for note in vendor.notes],
    }


def _picture(vendor: VendorCapacity, report: CapacityReport, words: ModuleType) -> Any:
    points = [point for point in vendor.points if point.level > 0]
    if not points:
        return None
    t = words.TEXTS
    ttft = next((one.number for one in report.thresholds if "ttft" in one.metric and one.percentile), None)
    panels = (
        Panel(
            t["quality"],
            (
                Trace(t["success"], [_share(point) for point in points]),
                Trace(t["f1"], [point.f1 for point in points]),
                Trace(t["schema"], [point.schema_accuracy for point in points]),
            ),
            top=1.0,
        ),
        Panel(
            t["ttft"],
            (
                Trace("p50", [point.ttft_p50_ms for point in points]),
                Trace("p95", [point.ttft_p95_ms for point in points]),
            ),
            limit=ttft,
            log=True,
        ),
        Panel(t["answers"], (Trace(t["answers_key"], [point.requests_per_s for point in points]),)),
        Panel(t["tokens"], (Trace("TPS", [point.tps for point in points]),)),
    )
    return curves(
        panels,
        [point.level for point in points],
        [point.outcome == "holds" for point in points],
        x_title=t["axis"].format(unit=words.unit(report.kind)),
        label=t["figures"].format(label=label(vendor.label)),
    )


def _share(point: Point) -> float | None:
    return point.succeeded / point.requests if point.requests else None


def _table(vendor: VendorCapacity, report: CapacityReport, words: ModuleType) -> Table:
    points = [*vendor.points, *([vendor.afterwards] if vendor.afterwards is not None else [])]
    rows = [
        Row(
            number_format.quantity(point.level),
            (
                Cell(words.mark(point)),
                tables.count(point.requests),
                tables.share(_share(point)),
                tables.count(point.rate_limited),
                tables.number(point.ttft_p50_ms),
                tables.number(point.ttft_p95_ms),
                tables.number(point.tps),
                tables.number(point.requests_per_s),
                tables.number(point.tokens_per_s),
                tables.number(point.in_flight),
                tables.share(point.f1),
                tables.share(point.schema_accuracy),
                Cell(visible(words.why(point))),
            ),
        )
        for point in points
    ]
    t = words.TEXTS
    titles = (
        "", t["c_requests"], t["c_success"], "429", "TTFT p50", "TTFT p95", "TPS", t["c_answers"], t["c_tokens"],
        t["c_at_once"], "F1", t["c_schema"], t["c_misses"],
    )  # fmt: skip
    caption = t["levels"].format(label=label(vendor.label))
    return plain_table(caption, words.unit(report.kind), titles, rows, prose=titles[-1:])


def _method(report: CapacityReport, words: ModuleType) -> Iterator[str]:
    yield words.TEXTS["limits"].format(limits="; ".join(map(str, report.thresholds)))
    yield words.LEGEND
    yield from words.shown_needs(report)
    yield words.TEXTS["order"]
