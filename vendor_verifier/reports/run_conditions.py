"""The load of a run, its goodput, and the lateness of its clock, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vendor_verifier.records.score import ModelScore, Report, VendorScore
from vendor_verifier.reports import number_format
from vendor_verifier.words import Texts

Escape = Callable[[str], str]
_ASIDE = ("warmup",)


def clock_lines(report: Report, t: Texts) -> list[str]:
    """The event loop's lag; nothing for an imported run."""
    loop = report.manifest.raw.get("event_loop")
    return list(_loop(loop, t)) if isinstance(loop, Mapping) else []


def _loop(loop: Mapping[str, Any], t: Texts) -> Iterator[str]:
    share = loop.get("core_share")
    if loop.get("p99_ms") is not None and share is not None:
        yield t("clock_loop", p50=_ms(loop, "p50_ms"), p99=_ms(loop, "p99_ms"), share=f"{share:.0%}")


def _ms(numbers: Mapping[str, Any], name: str) -> str:
    value = number_format.finite(numbers.get(name))
    return number_format.MISSING if value is None else f"{value:.2f}"


def shape_of(report: Report) -> Mapping[str, Any]:
    """The load shape stored in the manifest; empty without one."""
    return report.manifest.raw.get("settings", {}).get("load") or {}


def load_words(load: Mapping[str, Any], t: Texts) -> str:
    """A stored load shape in words, such as ``50 requests a second (poisson) to each vendor for 60 s``."""
    words = t("shape_fixed")
    if load.get("schedule"):
        words = t("shape_schedule", count=load["schedule"]["count"], seconds=f"{load['schedule']['last_s']:g}")
    elif load.get("request_rate"):
        words = t("shape_rate", rate=f"{load['request_rate']:g}", arrival=t(f"arrival_{load['arrival']}"))
    if load.get("duration_s") is not None:
        words += t("shape_duration", seconds=f"{load['duration_s']:g}")
    if load.get("ramp_up_s"):
        words += t("shape_ramp_up", seconds=f"{load['ramp_up_s']:g}")
    aside = [t("shape_aside", count=load[name], what=t(f"aside_{name}")) for name in _ASIDE if load.get(name)]
    return words + (t("shape_thrown_away", aside=t.listed(aside)) if aside else "")


def load_lines(model: ModelScore, report: Report, t: Texts, escape: Escape) -> Iterator[str]:
    """The offered load, one line for all vendors and one for each with stored figures; nothing without a shape."""
    shape = shape_of(report)
    if not shape:
        return
    yield t("load_line", load=load_words(shape, t))
    for vendor in model.vendors:
        load = (report.manifest.raw.get("load") or {}).get(f"{model.model}: {vendor.label}")
        if load:
            yield t("of_vendor", label=escape(vendor.label), words=_offered(load, t))


def _offered(load: Mapping[str, Any], t: Texts) -> str:
    words = [t("load_begun", n=load["begun"], most=load["most_under_way"]), *_late(load, t)]
    aside = [
        t("aside_told", what=t(f"aside_{name}"), count=load[name])
        + (t("in_brackets", text=t("aside_failed", count=load[f"{name}_failed"])) if load[f"{name}_failed"] else "")
        for name in _ASIDE
        if load.get(name)
    ]
    return t.joined([t.joined(words), *aside], "semicolon")


def _late(load: Mapping[str, Any], t: Texts) -> Iterator[str]:
    if load.get("lag_p50_ms") is not None:
        yield t("load_late", **{name: number_format.quantity(load[f"lag_{name}_ms"]) for name in ("p50", "p99")})
    if load.get("held_back"):
        yield t("load_held_back", held=load["held_back"], cap=load["cap"])


def asked(report: Report, t: Texts) -> str:
    """The size of the run in words: samples, vendors, and repetitions or load."""
    vendors = sum(len(model.vendors) for model in report.models)
    shape = shape_of(report)
    if not shape:
        return t("asked", samples=report.samples, repeat=report.repeat, vendors=vendors)
    by_doing = shape.get("duration_s") is not None or bool(shape.get("schedule"))
    repeat = t("again_and_again") if by_doing else report.repeat
    parts = [t("asked", samples=report.samples, repeat=repeat, vendors=vendors)]
    if shape.get("schedule"):
        parts.append(t("load_schedule", n=shape["schedule"]["count"], seconds=f"{shape['schedule']['last_s']:g}"))
    if shape.get("request_rate"):
        parts.append(t("load_rate", rate=f"{shape['request_rate']:g}", arrival=t(f"load_{shape['arrival']}")))
    timed = ("duration_s", "ramp_up_s", "warmup")
    return t.joined([*parts, *(t(f"load_{name}", n=f"{shape[name]:g}") for name in timed if shape.get(name))])


def offered(vendor: VendorScore, model: ModelScore, report: Report, t: Texts) -> str | None:
    """One vendor's offered load and our own lateness in words; None without a shape."""
    found: Mapping[str, Any] | None = (report.manifest.raw.get("load") or {}).get(f"{model.model}: {vendor.label}")
    if found is None:
        return None
    return t.joined([t("load_begun", n=found["begun"], most=found["most_under_way"]), *_late(found, t)])


def pace_lines(model: ModelScore, t: Texts, escape: Escape) -> Iterator[str]:
    """One line on the requests in flight, vendor by vendor, against those asked for; nothing without timed requests."""
    parts = [f"{escape(vendor.label)} {words}" for vendor in model.vendors if (words := pace(vendor, t, "pace_short"))]
    if parts:
        yield t("pace_line", words=t.joined(parts, "semicolon"))


def pace(vendor: VendorScore, t: Texts, name: str = "pace") -> str | None:
    """A vendor's requests in flight and answers per second in words; None without timed requests."""
    found = vendor.pace
    if found is None:
        return None
    figures = {"mean": number_format.quantity(found.in_flight), "rate": number_format.quantity(found.answers_per_s)}
    words = t(f"{name}_alone", **figures) if found.places is None else t(f"{name}_of", places=found.places, **figures)
    begun, tokens = (number_format.quantity(each) for each in (found.requests_per_s, found.tokens_per_s))
    more = (
        None if found.requests_per_s is None else t(f"{name}_begun", begun=begun),
        None if found.tokens_per_s is None else t(f"{name}_tokens", tokens=tokens),
        None if found.peak_in_flight is None else t(f"{name}_peak", peak=found.peak_in_flight),
    )
    return t.joined((words, *more))


def slos_of(model: ModelScore) -> tuple[str, ...]:
    """The SLOs that requests of this model were held to."""
    return tuple(next((vendor.goodput.kept for vendor in model.vendors if vendor.goodput is not None), ()))


def goodput_lines(model: ModelScore, t: Texts, escape: Escape) -> Iterator[str]:
    """Goodput, best first as the model's vendors stand; nothing without SLOs."""
    slos = slos_of(model)
    if not slos:
        return
    yield t("goodput_line", slos=t("and").join(map(escape, slos)))
    for vendor in model.vendors:
        found = vendor.goodput
        if found is not None:
            rate = None if found.per_s is None else t("goodput_per_s", rate=number_format.quantity(found.per_s))
            words = t.joined([rate, _good(vendor, t), *_not_good(vendor, t, with_failed=True)], "semicolon")
            yield t("of_vendor", label=escape(vendor.label), words=words)


def _good(vendor: VendorScore, t: Texts) -> str:
    found = vendor.goodput
    assert found is not None
    return t("goodput_of", good=found.good, asked=found.asked, share=number_format.rate(found.share))


def _not_good(vendor: VendorScore, t: Texts, *, with_failed: bool) -> Iterator[str]:
    found = vendor.goodput
    assert found is not None
    if with_failed and found.failed:
        yield t("goodput_failed", count=found.failed)
    if found.unmeasured:
        yield t("goodput_unmeasured", n=found.unmeasured)
    if found.stalled:
        yield t("goodput_stalled", n=found.stalled)


def goodput(vendor: VendorScore, t: Texts, escape: Escape) -> str | None:
    """A vendor's goodput in words, as a share and per second; None without SLOs."""
    found = vendor.goodput
    if found is None:
        return None
    rate = None if found.per_s is None else t("goodput_rate", rate=number_format.quantity(found.per_s))
    words = t.joined([_good(vendor, t), rate, *_not_good(vendor, t, with_failed=False)])
    return t("of_vendor", label=t.joined(map(escape, found.kept)), words=words)
