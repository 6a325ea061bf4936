"""The load of a run and its goodput in the page's languages; it computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.reports import cells
from vendor_verifier.reports.html.tables import label
from vendor_verifier.reports.html.texts import Texts
from vendor_verifier.reports.load_text import shape_of
from vendor_verifier.values.score import ModelScore, Report, VendorScore


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
        lags = {name: cells.quantity(found[f"lag_{name}_ms"]) for name in ("p50", "p99")}
        told.append(t("load_late", **lags))
    if found.get("held_back"):
        told.append(t("load_held_back", n=found["held_back"], cap=found["cap"]))
    return t("comma").join(told)


def pace(vendor: VendorScore, t: Texts) -> str | None:
    """How many requests were in flight and how many answers came a second; None where nothing was timed."""
    found = vendor.pace
    if found is None:
        return None
    mean, rate = cells.quantity(found.in_flight), cells.quantity(found.answers_per_s)
    if found.places is None:
        return t("pace_alone", mean=mean, rate=rate)
    return t("pace_of", mean=mean, places=found.places, rate=rate)


def goodput(vendor: VendorScore, t: Texts) -> str | None:
    """How many requests kept every SLO, and how many a second; None without SLOs."""
    found = vendor.goodput
    if found is None:
        return None
    told = [t("goodput_of", good=found.good, asked=found.asked, share=cells.rate(found.share))]
    told += [t("goodput_rate", rate=cells.quantity(found.per_s))] if found.per_s is not None else []
    told += [t("goodput_unmeasured", n=found.unmeasured)] if found.unmeasured else []
    told += [t("goodput_stalled", n=found.stalled)] if found.stalled else []
    return f"{t('comma').join(map(label, found.kept))}: {t('comma').join(told)}"
