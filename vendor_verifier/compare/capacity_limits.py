"""Which limits a level of load is held to, from the one grammar of thresholds, and whether a vendor bears enough.

``ceiling`` is what the vendor's own unloaded answers give against each other. A limit that is given replaces the usual
one on the same thing (any time to first token replaces that to first token); the others stay. Where requests come by
the clock, time runs from the moment they were due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from vendor_verifier.compare.thresholds import COST_METRICS, ThresholdError, parse_threshold
from vendor_verifier.values.capacity import EndReason, LoadKind, VendorCapacity
from vendor_verifier.values.judgement import Threshold

# enough: it bears what was asked for; too_little: it is known not to; unknown: the search ended before it could tell.
Standing = Literal["enough", "too_little", "unknown"]
# Ends that no other judgement of the same records changes.
RAN_OUT: frozenset[EndReason] = frozenset({"requests", "cost", "time", "stopped", "interrupted"})

_ANY = ("success_rate >= 0.99", "f1 >= ceiling - 0.05", "schema_accuracy >= ceiling - 0.05")
USUAL_LIMITS: Mapping[LoadKind, tuple[str, ...]] = {
    "concurrency": ("avg_ttft_ms.p95 <= 2000", *_ANY),
    "rate": ("ttft_from_schedule_ms.p95 <= 2000", *_ANY),
}


def read_limits(texts: Sequence[str], kind: LoadKind) -> tuple[Threshold, ...]:
    """``texts`` and those of ``USUAL_LIMITS`` on things they do not name.

    Raises:
        ThresholdError: the first that does not follow the grammar, or that load has nothing to do with.
    """
    given = [_limit(text) for text in texts]
    named = {_thing(one) for one in given}
    return (*given, *(one for one in map(parse_threshold, USUAL_LIMITS[kind]) if _thing(one) not in named))


def _thing(limit: Threshold) -> str:
    """What several metrics measure in their own ways."""
    return next((thing for thing in ("ttft", "success_rate") if thing in limit.metric), limit.metric)


def _limit(text: str) -> Threshold:
    found = parse_threshold(text)
    if found.metric in COST_METRICS:
        raise ThresholdError(f"threshold {text!r}: what answers cost does not depend on load; use run --gate")
    return found


def standing(vendor: VendorCapacity, at_least: float | None) -> Standing:
    """Whether a vendor bears ``at_least``; without a wish, whether it was found what it bears, be it ever so little."""
    if at_least is None:
        return "too_little" if vendor.reason == "unloaded" else "unknown" if vendor.reason in RAN_OUT else "enough"
    if vendor.capacity is not None and vendor.capacity >= at_least:
        return "enough"
    is_its_own = vendor.reason not in ("client", "drifted")
    gave_way = vendor.reason == "unloaded" or (vendor.broke_at is not None and vendor.broke_at <= at_least)
    return "too_little" if is_its_own and (gave_way or vendor.reason == "edge") else "unknown"
