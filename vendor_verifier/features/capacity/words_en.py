"""What a search for capacity found, in sentences; it computes nothing and knows no output format.

What strangers wrote (labels, failures) is not escaped here: every output has its own way of being taken over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vendor_verifier.features.capacity.values import (
    Aspect,
    CapacityReport,
    LimitVerdict,
    LoadKind,
    Point,
    VendorCapacity,
)
from vendor_verifier.reports import number_format

_ASPECTS: Mapping[Aspect, str] = {
    "rate_limit": "the vendor's rate limit (429)",
    "success": "success",
    "latency": "latency",
    "speed": "decoding speed",
    "quality": "tool-call quality",
    "other": "another limit",
}
_RAN_OUT = {
    "requests": "--max-requests was reached",
    "cost": "--max-cost was reached",
    "time": "--max-seconds was reached",
    "stopped": "the vendor was stopped",
    "interrupted": "it was interrupted",
}
LEGEND = (
    "✓ the whole 95 % interval keeps every limit; (✓) the figures do, an interval reaches over; ? a figure misses a "
    "limit, its interval reaches back; ✗ a whole interval misses one. Quality is compared with the vendor's own "
    "unloaded answers, asked for twice; F1 is over what was answered."
)


def unit(kind: LoadKind) -> str:
    return "in flight" if kind == "concurrency" else "requests/s"


def at(level: float, kind: LoadKind) -> str:
    return f"{level:g} {unit(kind)}"


def verdict(vendor: VendorCapacity, kind: LoadKind) -> str:
    """What the vendor bears and what gave way first, in one sentence."""
    bears = "bears no load" if vendor.capacity is None else f"bears {at(vendor.capacity, kind)}"
    top = max((point.level for point in vendor.points), default=0.0)
    match vendor.reason:
        case "edge":
            return f"{bears}; {_gave_way(vendor, kind)}"
        case "highest":
            return f"{bears}, the highest level tried; nothing gave way"
        case "client":
            client = f"not measurable beyond: at {at(vendor.broke_at or top, kind)} the client is the limit"
            return f"{bears}; {client} ({_client(vendor)})"
        case "unloaded":
            missed = limits(vendor.gave_way)
            return f"misses a limit without any load: {missed}" if missed else "answers nothing, even without load"
        case "drifted":
            return (
                f"{bears}; {_gave_way(vendor, kind)}; but asked without load afterwards it misses the same, so it got "
                "worse meanwhile and load is not the cause, or not alone"
            )
        case reason:
            if vendor.capacity is None:
                return f"not measured: {_RAN_OUT[reason]}"
            least = f"bears at least {at(vendor.capacity, kind)}; {_RAN_OUT[reason]}"
            return (
                f"{least} before the edge was found"
                if vendor.broke_at is None
                else f"{least}; " + _gave_way(vendor, kind)
            )


def _gave_way(vendor: VendorCapacity, kind: LoadKind) -> str:
    first = vendor.gave_way[0] if vendor.gave_way else None
    if vendor.broke_at is None or first is None:
        return "nothing gave way"
    same = [limit for limit in vendor.gave_way if limit.aspect == first.aspect]
    others = [limit for limit in vendor.gave_way if limit.aspect != first.aspect]
    sure = "gives way" if any(limit.outcome == "broken" for limit in same) else "may give way (undecided)"
    words = f"at {at(vendor.broke_at, kind)} {_ASPECTS[first.aspect]} {sure}: {limits(same)}"
    return words + (f"; also {limits(others)}" if others else "")


def limits(missed: tuple[LimitVerdict, ...] | list[LimitVerdict]) -> str:
    """``f1 is 0.31 below its unloaded answers (0.22 … 0.40), limit f1 >= ceiling - 0.05``."""
    return "; ".join(map(_limit, missed))


def _limit(limit: LimitVerdict) -> str:
    found, threshold = limit.estimate, limit.threshold
    low = "−∞" if found.low is None else figure_of(threshold.metric, found.low)
    high = "∞" if found.high is None else figure_of(threshold.metric, found.high)
    interval = f"({low} … {high})"
    value = figure_of(threshold.metric, found.value)
    what = f"{threshold.subject} − unloaded {value}" if threshold.ceiling else f"{threshold.subject} {value}"
    return f"{what} {interval}, limit {threshold}"


def figure_of(metric: str, value: float | None) -> str:
    """Two digits after the point are enough for shares in a sentence."""
    if value is None:
        return number_format.MISSING
    return number_format.quantity(value) if metric.endswith(("_ms", "tps", "_tokens")) else f"{value:.3g}"


def _client(vendor: VendorCapacity) -> str:
    point = next((one for one in vendor.points if one.level == vendor.broke_at), None)
    told = []
    if point is not None and point.lag_p99_ms is not None:
        told.append(f"event loop late by {point.lag_p99_ms:.0f} ms at p99")
    if point is not None and point.core_share is not None:
        told.append(f"{point.core_share:.0%} of a core used")
    return ", ".join(told) or "its clock was not to be trusted"


def mark(point: Point) -> str:
    """The outcome as one sign."""
    if point.outcome == "holds":
        unsure = any(limit.outcome in ("met", "unmeasured") for limit in point.limits)
        return "(✓)" if unsure else "✓"
    return {"undecided": "?", "broken": "✗", "client": "client", "cut": "cut"}[point.outcome]


def stage(point: Point) -> str:
    """Which of the rows is no level of load."""
    return {"unloaded": "unloaded", "afterwards": "unloaded, afterwards", "level": ""}[point.stage]


def why(point: Point) -> str:
    """The limits a level misses, or why it was cut, short enough for a table."""
    if point.cut is not None:
        return _RAN_OUT.get(point.cut, point.cut)
    names = ", ".join(str(limit.threshold) for limit in point.missed)
    return " ".join(word for word in (stage(point), names and f"misses {names}") if word)


def shown_needs(report: CapacityReport) -> Iterator[str]:
    """How many requests a level would need for its success limit to be more than a figure."""
    for threshold in report.thresholds:
        if threshold.metric == "success_rate" and not threshold.ceiling and 0 < threshold.number < 1:
            needed = needed_answers(threshold.number)
            yield f"{needed} answers without a failure would show {threshold}; fewer only fail to contradict it"


def needed_answers(rate: float) -> int:
    """The least n with rateⁿ ≤ 2.5 %: Clopper–Pearson's lower end for n of n."""
    from math import ceil, log

    return ceil(log(0.025) / log(rate))


TEXTS: Mapping[str, str] = {
    "title": "Capacity under load", "run": "run", "warnings": "Warnings", "samples": "{n} samples",
    "nobody": "No vendor was measured", "bears": "What each vendor bears", "vendor": "Vendor",
    "bears_in": "Bears ({unit})", "gave_way_at": "Gave way at", "found": "What was found", "sent": "Requests sent",
    "levels": "{label}: levels of load", "figures": "{label}: figures by level of load",
    "quality": "Success and quality", "success": "success", "f1": "F1 against unloaded", "schema": "schema",
    "ttft": "Time to first token, ms", "answers": "Answers a second", "answers_key": "answers/s",
    "tokens": "Output tokens a second, one answer", "axis": "{unit} (hollow: does not hold; dashed: the limit)",
    "limits": "Limits: {limits} (ceiling: the vendor's own unloaded answers).", "how": "How this was measured",
    "order": "Vendors were asked one after the other, without retries and without giving way to refusals. Levels "
    "double until one does not hold; then the middle is tried.",
    "c_requests": "Requests", "c_success": "Success", "c_answers": "Answers/s", "c_tokens": "Tokens/s",
    "c_at_once": "At once", "c_schema": "Schema", "c_misses": "Misses",
}  # fmt: skip
