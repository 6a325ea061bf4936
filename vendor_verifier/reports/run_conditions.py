"""The load of a run, its goodput, and how far its clock can be trusted, in words; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vendor_verifier.reports import number_format
from vendor_verifier.reports.words import Texts
from vendor_verifier.values.score import ModelScore, Report, VendorScore

_ENGLISH = Texts("en")


def clock_lines(report: Report, t: Texts = _ENGLISH) -> list[str]:
    """The harness floor and the event loop's lag; nothing for a run that knows of neither (an imported one)."""
    floor, loop = (report.manifest.get(name) for name in ("calibration", "event_loop"))
    told = _floor(floor, t) if isinstance(floor, Mapping) else iter(())
    return [*told, *(_loop(loop, t) if isinstance(loop, Mapping) else ())]


def _floor(floor: Mapping[str, Any], t: Texts) -> Iterator[str]:
    ttft, gaps = floor.get("ttft_error_ms"), floor.get("gap_error_ms")
    if isinstance(ttft, Mapping) and isinstance(gaps, Mapping):
        yield t(
            "clock_floor",
            streams=floor.get("in_flight"),
            answers=ttft.get("n"),
            p50=_ms(ttft, "p50"),
            p99=_ms(ttft, "p99"),
            gap_p50=_ms(gaps, "p50"),
            gap_p99=_ms(gaps, "p99"),
        )
    elif floor.get("reason"):
        yield t("clock_no_floor", reason=floor["reason"])


def _loop(loop: Mapping[str, Any], t: Texts) -> Iterator[str]:
    share = loop.get("core_share")
    if loop.get("p99_ms") is not None and share is not None:
        yield t("clock_loop", p50=_ms(loop, "p50_ms"), p99=_ms(loop, "p99_ms"), share=f"{share:.0%}")


def _ms(numbers: Mapping[str, Any], name: str) -> str:
    value = number_format.finite(numbers.get(name))
    return number_format.MISSING if value is None else f"{value:.2f}"


Escape = Callable[[str], str]
_ASIDE = {"warmup": "warm-up", "cooldown": "cool-down"}


def load_words(load: Mapping[str, Any]) -> str:
    """A manifest's shape: ``50 requests a second (poisson) to each vendor for 60 s; thrown away: 20 of warm-up``."""
    words = "a fixed number of requests at a time"
    if load.get("schedule"):
        words = f"a replayed schedule of {load['schedule']['count']} requests in {load['schedule']['last_s']:g} s"
    elif load.get("request_rate"):
        words = f"{load['request_rate']:g} requests a second ({load['arrival']}) to each vendor"
    if load.get("duration_s") is not None:
        words += f" for {load['duration_s']:g} s"
    if load.get("ramp_up_s"):
        words += f", growing over {load['ramp_up_s']:g} s"
    aside = [f"{load[name]} of {title}" for name, title in _ASIDE.items() if load.get(name)]
    return words + (f"; thrown away: {' and '.join(aside)}" if aside else "")


def shape_of(report: Report) -> Mapping[str, Any]:
    """The shape as the manifest tells it; empty without one."""
    return (report.manifest.get("settings") or {}).get("load") or {}


def load_lines(model: ModelScore, report: Report, escape: Escape) -> Iterator[str]:
    """What was offered, a line for all and one for each vendor of which anything is known; nothing without a shape."""
    shape = shape_of(report)
    if not shape:
        return
    yield f"load: {load_words(shape)}"
    for vendor in model.vendors:
        told = (report.manifest.get("load") or {}).get(f"{model.model}: {vendor.label}")
        if told:
            yield f"{escape(vendor.label)}: {offered_words(told)}"


def offered_words(told: Mapping[str, Any]) -> str:
    """What one vendor was offered."""
    plural = "" if told["begun"] == 1 else "s"
    words = f"{told['begun']} request{plural} begun, at most {told['most_under_way']} under way"
    if told.get("lag_p50_ms") is not None:
        p50, p99 = (number_format.quantity(told[f"lag_{share}_ms"]) for share in ("p50", "p99"))
        late = f"{p50} ms (p50), {p99} ms (p99)"
        words += f", late by {late}"
    if told.get("held_back"):
        words += f", {told['held_back']} of them found {told['cap']} under way"
    aside = [
        f"{title} {told[name]}" + (f" ({told[name + '_failed']} failed)" if told[name + "_failed"] else "")
        for name, title in _ASIDE.items()
        if told.get(name)
    ]
    return "; ".join([words, *aside])


def pace_lines(model: ModelScore, escape: Escape) -> Iterator[str]:
    """One line: whether the places asked for were used, vendor by vendor; nothing where nobody was timed."""
    told = [f"{escape(vendor.label)} {words}" for vendor in model.vendors if (words := pace_words(vendor))]
    if told:
        yield f"in flight on average: {'; '.join(told)}"


def pace_words(vendor: VendorScore) -> str | None:
    """``4.96 of 5, 12.3 answers/s``; None where nothing was timed."""
    pace = vendor.pace
    if pace is None:
        return None
    asked = "" if pace.places is None else f" of {pace.places}"
    return f"{number_format.quantity(pace.in_flight)}{asked}, {number_format.quantity(pace.answers_per_s)} answers/s"


def slos_of(model: ModelScore) -> tuple[str, ...]:
    """The SLOs that requests of this model were held to."""
    return tuple(next((vendor.goodput.kept for vendor in model.vendors if vendor.goodput is not None), ()))


def goodput_lines(model: ModelScore, escape: Escape) -> Iterator[str]:
    """Goodput, best first as the model's vendors stand; nothing without SLOs."""
    slos = slos_of(model)
    if not slos:
        return
    yield f"goodput: requests that keep {' and '.join(map(escape, slos))}"
    for vendor in model.vendors:
        if vendor.goodput is not None:
            yield f"{escape(vendor.label)}: {goodput_words(vendor)}"


def goodput_words(vendor: VendorScore) -> str | None:
    """``12.3 good requests/s; 240 of 300 good (0.8)``; None without SLOs."""
    found = vendor.goodput
    if found is None:
        return None
    words = f"{number_format.of(found.good, found.asked)} good ({number_format.rate(found.share)})"
    if found.per_s is not None:
        words = f"{number_format.quantity(found.per_s)} good requests/s; {words}"
    beside = [
        f"{number} {why}"
        for number, why in (
            (found.failed, "failed"),
            (found.unmeasured, "not measurable"),
            (found.stalled, "stalled by our own process and left out"),
        )
        if number
    ]
    return "; ".join([words, *beside])
