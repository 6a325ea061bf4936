"""The limits that levels are held to: those that are given, and the usual ones on things that they do not name.

A limit that is given replaces the usual one on the same thing (any time to first token replaces that to first token);
the others stay. Where requests come by the clock, time runs from the moment they were due.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vendor_verifier.features.capacity.values import LoadKind
from vendor_verifier.gates.thresholds import COST_METRICS, ThresholdError, parse_threshold
from vendor_verifier.values.judgement import Threshold

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
    given = [_limit(text, kind) for text in texts]
    named = {_thing(one) for one in given}
    return (*given, *(one for one in map(parse_threshold, USUAL_LIMITS[kind]) if _thing(one) not in named))


def _thing(limit: Threshold) -> str:
    """The quantity that a limit's metric measures, shared by metrics that measure it in several ways."""
    return next((thing for thing in ("ttft", "success_rate") if thing in limit.metric), limit.metric)


_TTFT = re.compile(r"^\s*ttft(?=[\s.<>])")


def _limit(text: str, kind: LoadKind) -> Threshold:
    """``ttft`` is the time to first token that belongs to this kind of load."""
    usual = "avg_ttft_ms" if kind == "concurrency" else "ttft_from_schedule_ms"
    found = parse_threshold(_TTFT.sub(usual, text), of_load=True)
    if found.metric in COST_METRICS:
        raise ThresholdError(f"threshold {text!r}: what answers cost does not depend on load; use run --gate")
    return found
