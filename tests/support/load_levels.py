"""Records of one vendor under load, made up level by level, and the curve they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from changing import replace
from observed import observed

from vendor_verifier.features.capacity.curve import Curve
from vendor_verifier.features.capacity.limits import read_limits
from vendor_verifier.features.capacity.values import Point, SearchBounds, Session, Stage
from vendor_verifier.scoring.observation import Observation
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite
from vendor_verifier.values.event import ToolCall, Usage
from vendor_verifier.values.record import Attempt, Failure, FailureKind, Record, Response, Timing, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

MS = 1_000_000
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
_TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
}
SAMPLES = tuple(
    Sample(f"s{number}", Turn(({"role": "user", "content": f"{number}"},), (_TOOL,))) for number in range(40)
)
BOUNDS = SearchBounds("concurrency", highest=64, samples=len(SAMPLES), max_requests=2000)
_SUITE = TriggerSuite(checkers=KeptCheckers())


@dataclass(frozen=True)
class Conduct:
    """How a vendor behaves at a level: shares of calls missed or spoilt, of requests failed, and its first token.

    With a ``seed`` the calls that are missed are drawn anew for each request.
    """

    misses: float = 0.0
    spoils: float = 0.0
    fails: float = 0.0
    failure: FailureKind = "http_5xx"
    status: int | None = 500
    ttft_ms: float = 300.0
    seed: int | None = None


def curve(limits: Sequence[str] = (), bounds: SearchBounds = BOUNDS) -> Curve:
    """An empty curve over ``SAMPLES``."""
    thresholds = read_limits(limits, bounds.kind)
    ids = [sample.id for sample in SAMPLES]
    return Curve("m", "reseller", "v", thresholds, ids, bounds, partial(np.random.default_rng, 0))


def visit(
    known: Curve,
    conduct: Conduct = Conduct(),
    stage: Stage = "level",
    level: float = 8,
    *,
    repetitions: int = 1,
    session: Session | None = None,
) -> Point:
    """Add one level of a vendor who behaves like ``conduct``; the first two thirds of the samples want a call."""
    first = known.repetitions_at(stage, level)
    own = session or Session(
        f"run:{stage}:{level:g}:{first}", stage, level, first, repetitions, repetitions * len(SAMPLES)
    )
    own = replace(own, stage=stage, level=level, first_repetition=first, repetitions=repetitions)
    return known.add(own, list(told(conduct, own)))


def told(conduct: Conduct, session: Session) -> Iterator[tuple[Record, Observation]]:
    """The records of one session of a vendor who behaves like ``conduct``."""
    number = 0
    rng = None if conduct.seed is None else np.random.default_rng(conduct.seed)
    for repetition in range(session.first_repetition, session.first_repetition + session.repetitions):
        for place, sample in enumerate(SAMPLES):
            # Places filled one after the other; every answer takes two seconds.
            sent = START + timedelta(seconds=2 * (number // max(1, int(session.level))))
            number += 1
            drawn = None if rng is None else float(rng.random())
            turns = (TurnRecord((_attempt(conduct, place, sent, drawn),)),)
            record = Record(session.name, "m", "reseller", "v", "trigger", sample.id, repetition, turns)
            yield record, observed(record, sample, _SUITE)


def _attempt(conduct: Conduct, place: int, sent: datetime, drawn: float | None) -> Attempt:
    # Spread over the samples by a step that shares no factor with their number.
    at = (place * 27 % len(SAMPLES)) / len(SAMPLES) if drawn is None else drawn
    if at < conduct.fails:
        return Attempt(1, failure=Failure(conduct.failure, "headers", "no", conduct.status))
    wants = place < len(SAMPLES) * 2 // 3
    called = wants and at >= conduct.misses
    arguments = '{"id": "x"}' if 1 - at <= conduct.spoils else '{"id": 1}'
    first = int(conduct.ttft_ms * MS)
    timing = Timing(
        sent.isoformat(timespec="milliseconds"), 2000 * MS, first_token_ns=first, first_answer_ns=first,
        last_token_ns=1900 * MS, first_chunk_share=0.0,
    )  # fmt: skip
    calls = (ToolCall("look_up", arguments),) if called else ()
    response = Response(
        text="" if called else "Yes. " * 20,
        tool_calls=calls,
        finish_reason="tool_calls" if called else "stop",
        usage=Usage(9, 80),
    )
    return Attempt(1, timing, response)
