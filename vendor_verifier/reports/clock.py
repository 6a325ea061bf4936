"""How far the run's own clock is to be trusted, in sentences for every report; it escapes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vendor_verifier.reports import cells
from vendor_verifier.reports.html.texts import Texts
from vendor_verifier.values.score import Report

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
    value = cells.finite(numbers.get(name))
    return cells.MISSING if value is None else f"{value:.2f}"
