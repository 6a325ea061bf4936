"""The page's sections on load and goodput, latency and regions; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.reports import number_format
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.tables import Row, Section, Table, label, plain_table
from vendor_verifier.reports.run_conditions import shape_of
from vendor_verifier.reports.words import Texts
from vendor_verifier.values.score import ModelScore, Report, VendorScore

_PERCENTILES = ("p50", "p90", "p95", "p99")
_CHIEF = ("ttft_ms", "tps", "e2e_ms")


def latency_section(model: ModelScore, t: Texts) -> list[Section]:
    """A table for each metric that a vendor measured, the chief ones in sight; nothing when there is none."""
    made = {name: _table(name, model, t) for name in number_format.SPEED_METRICS}
    measured = {name: table for name, table in made.items() if table.rows}
    if not measured:
        return []
    chief = tuple(table for name, table in measured.items() if name in _CHIEF)
    others = tuple(table for name, table in measured.items() if name not in _CHIEF)
    return [Section("latency", t("latency"), t("latency_note"), tables=chief, folded=others)]


def _table(name: str, model: ModelScore, t: Texts) -> Table:
    rows = (
        Row(
            label(vendor.label),
            (tables.measured(found, t), *(tables.number(getattr(found, percentile)) for percentile in _PERCENTILES)),
            index,
        )
        for index, vendor in enumerate(model.vendors)
        if (found := vendor.distributions.get(name)) is not None and (found.n or found.stalled)
    )
    title = t(f"speed_{name}")
    return plain_table(title, title, (t("n"), *_PERCENTILES), rows)


def asked(report: Report, t: Texts) -> str:
    """How many samples were put to how many vendors, and how often or under which load."""
    vendors = sum(len(model.vendors) for model in report.models)
    shape = shape_of(report)
    if not shape:
        return t("asked", samples=report.samples, repeat=report.repeat, vendors=vendors)
    by_doing = shape.get("duration_s") is not None or bool(shape.get("schedule"))
    times = t("again_and_again") if by_doing else report.repeat
    told = [t("asked", samples=report.samples, repeat=times, vendors=vendors)]
    if shape.get("schedule"):
        told.append(t("load_schedule", n=shape["schedule"]["count"], seconds=f"{shape['schedule']['last_s']:g}"))
    if shape.get("request_rate"):
        told.append(t("load_rate", rate=f"{shape['request_rate']:g}", arrival=t(f"load_{shape['arrival']}")))
    for name in ("duration_s", "ramp_up_s", "warmup", "cooldown"):
        if shape.get(name):
            told.append(t(f"load_{name}", n=f"{shape[name]:g}"))
    return t("comma").join(told)


def offered(vendor: VendorScore, model: ModelScore, report: Report, t: Texts) -> str | None:
    """What one vendor was offered and how late we were ourselves; None without a shape."""
    found: Mapping[str, Any] | None = (report.manifest.get("load") or {}).get(f"{model.model}: {vendor.label}")
    if found is None:
        return None
    told = [t("load_begun", n=found["begun"], most=found["most_under_way"])]
    if found.get("lag_p50_ms") is not None:
        lags = {name: number_format.quantity(found[f"lag_{name}_ms"]) for name in ("p50", "p99")}
        told.append(t("load_late", **lags))
    if found.get("held_back"):
        told.append(t("load_held_back", n=found["held_back"], cap=found["cap"]))
    return t("comma").join(told)


def pace(vendor: VendorScore, t: Texts) -> str | None:
    """How many requests were in flight and how many answers came a second; None where nothing was timed."""
    found = vendor.pace
    if found is None:
        return None
    mean, rate = number_format.quantity(found.in_flight), number_format.quantity(found.answers_per_s)
    if found.places is None:
        return t("pace_alone", mean=mean, rate=rate)
    return t("pace_of", mean=mean, places=found.places, rate=rate)


def goodput(vendor: VendorScore, t: Texts) -> str | None:
    """How many requests kept every SLO, and how many a second; None without SLOs."""
    found = vendor.goodput
    if found is None:
        return None
    told = [t("goodput_of", good=found.good, asked=found.asked, share=number_format.rate(found.share))]
    told += [t("goodput_rate", rate=number_format.quantity(found.per_s))] if found.per_s is not None else []
    told += [t("goodput_unmeasured", n=found.unmeasured)] if found.unmeasured else []
    told += [t("goodput_stalled", n=found.stalled)] if found.stalled else []
    return f"{t('comma').join(map(label, found.kept))}: {t('comma').join(told)}"


def regions_section(model: ModelScore, t: Texts) -> list[Section]:
    """A row for each vendor and region; nothing where no worker named a region."""
    rows = [
        Row(
            label(vendor.label),
            (
                tables.words(number_format.MISSING if seen.region is None else label(seen.region)),
                tables.words(t("of", part=seen.succeeded, whole=seen.asked)),
                tables.share(seen.success_rate),
                tables.measured(seen.ttft_ms, t),
                *(tables.number(getattr(seen.ttft_ms, name)) for name in number_format.REGION_PERCENTILES),
                tables.measured(seen.e2e_ms, t),
                *(tables.number(getattr(seen.e2e_ms, name)) for name in number_format.REGION_PERCENTILES),
            ),
            index,
        )
        for index, vendor in enumerate(model.vendors)
        for seen in vendor.regions
    ]
    if not rows:
        return []
    titles = (
        *(t("region"), t("succeeded"), t("success_rate")),
        *(
            f"{name}, {part}"
            for name in (t("speed_ttft_ms"), t("speed_e2e_ms"))
            for part in (t("n"), *number_format.REGION_PERCENTILES)
        ),
    )
    table = plain_table(t("regions"), t("vendor"), titles, rows, prose=(t("region"),))
    return [Section("regions", t("regions"), t("regions_note"), tables=(table,))]
