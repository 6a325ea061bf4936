"""Values of a capacity search: what was asked, levels, limits, the curve and how its search ended.

``None`` is "not measured", or "no such level".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.values.judgement import Estimate, Threshold
from vendor_verifier.values.plan import Arrival

# What is raised from level to level: requests in flight, or requests begun a second.
LoadKind = Literal["concurrency", "rate"]
# unloaded: the reference, asked twice; level: under load; afterwards: unloaded again, when something gave way.
Stage = Literal["unloaded", "level", "afterwards"]
# kept: the whole interval keeps the limit; met: the figure does, the interval reaches over; missed: the figure misses
# it, the interval reaches over; broken: the whole interval misses it; unmeasured: there is no figure.
LimitOutcome = Literal["kept", "met", "missed", "broken", "unmeasured"]
# client: something was missed or broken while our own process was the limit; cut: the level was not sent to its end.
LevelOutcome = Literal["holds", "undecided", "broken", "client", "cut"]
# edge: between a level that holds and one that does not; highest: every level up to the highest holds; client: nothing
# can be said above; unloaded: a limit is missed without any load; drifted: a limit is missed without load afterwards;
# the others: what ran out, or who stopped.
EndReason = Literal[
    "edge", "highest", "client", "unloaded", "drifted", "requests", "cost", "time", "stopped", "interrupted"
]
# What a limit is about, in the order in which causes are named: refusals explain failures, failures everything else.
Aspect = Literal["rate_limit", "success", "latency", "speed", "quality", "other"]


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """Where a search may go: not above ``highest``, no finer than ``step`` of a level, within ``max_requests``.

    ``step`` is a share; levels of concurrency are whole numbers and never nearer than 1. ``samples`` is how many
    questions there are, ``per_place`` how many requests a level needs for each one in flight; ``more`` is how many
    times as many may be sent to a level that stays undecided.
    """

    kind: LoadKind
    highest: float
    samples: int
    max_requests: int
    step: float = 0.1
    per_place: int = 4
    more: int = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """One level as the search sees it: how it came out, and how many requests it took in all."""

    level: float
    outcome: LevelOutcome
    requests: int


@dataclass(frozen=True, slots=True)
class Step:
    """Send ``repetitions`` of every sample at ``level``, after those it has had already."""

    level: float
    repetitions: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The search is over. ``capacity`` is the highest level that holds below every one that does not."""

    reason: EndReason
    capacity: float | None


@dataclass(frozen=True, slots=True)
class Sitting:
    """One stretch of sending at one level: what no record tells.

    ``name`` marks its records (``run``); ``repetitions`` are what it sent, from ``first_repetition`` on. ``lag_p99_ms``
    and ``core_share`` are of our own process, ``None`` where it was watched for too short a time; ``client_limited`` is
    what they mean: times are not the vendor's alone. ``cut`` says why it ended early, ``words`` what was said about it.
    """

    name: str
    stage: Stage
    level: float
    first_repetition: int
    repetitions: int
    requests: int
    lag_p99_ms: float | None = None
    core_share: float | None = None
    client_limited: bool = False
    cut: EndReason | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class LimitVerdict:
    """One limit held against one level. ``estimate`` is what was compared: value − ceiling if the limit is relative."""

    threshold: Threshold
    aspect: Aspect
    outcome: LimitOutcome
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Point:
    """One level of the curve.

    ``requests_per_s`` are answered ones ÷ seconds from the first sending to the last end, ``tokens_per_s`` the output
    tokens of all of them, ``tps`` one answer's speed. ``in_flight`` is the mean over those seconds. ``f1`` compares
    with the vendor's own unloaded answers, over what was answered.
    """

    stage: Stage
    level: float
    requests: int
    succeeded: int
    rate_limited: int
    failures: Mapping[str, int]
    outcome: LevelOutcome
    limits: tuple[LimitVerdict, ...] = ()
    ttft_p50_ms: float | None = None
    ttft_p95_ms: float | None = None
    tps: float | None = None
    seconds: float | None = None
    requests_per_s: float | None = None
    tokens_per_s: float | None = None
    in_flight: float | None = None
    f1: float | None = None
    schema_accuracy: float | None = None
    lag_p99_ms: float | None = None
    core_share: float | None = None
    client_limited: bool = False
    cut: EndReason | None = None

    @property
    def missed(self) -> tuple[LimitVerdict, ...]:
        """The limits that the figures miss, the first cause first."""
        return tuple(limit for limit in self.limits if limit.outcome in ("missed", "broken"))


@dataclass(frozen=True, slots=True)
class VendorCapacity:
    """What one vendor bears. ``points``: the unloaded one, then the levels in rising order.

    ``gave_way`` are the limits missed at the lowest level that does not hold, ``broke_at``; ``notes`` say in words what
    else a reader must know. ``sittings`` are what was sent, in that order.
    """

    model: str
    label: str
    vendor: str
    capacity: float | None
    reason: EndReason
    points: tuple[Point, ...] = ()
    broke_at: float | None = None
    gave_way: tuple[LimitVerdict, ...] = ()
    afterwards: Point | None = None
    requests: int = 0
    notes: tuple[str, ...] = ()
    sittings: tuple[Sitting, ...] = ()


@dataclass(frozen=True, slots=True)
class CapacityReport:
    """Every vendor's curve, ready for any renderer. ``arrival`` is how requests of a rate follow each other."""

    run: str
    created_at: str
    version: str
    bounds: SearchBounds
    thresholds: tuple[Threshold, ...]
    seed: int
    vendors: tuple[VendorCapacity, ...]
    arrival: str | None = None
    at_least: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def kind(self) -> LoadKind:
        return self.bounds.kind


SUITE = "trigger"
# The unloaded level is asked twice, so that a vendor's own noise is known.
UNLOADED_REPEATS = 2
# How often each place is filled at a level, or for how many seconds a rate is kept up.
FILLED: Mapping[LoadKind, int] = {"concurrency": 4, "rate": 10}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """One call of ``capacity``. ``run`` says what to ask whom; pace and patience are ours.

    ``arrival`` is for a rate, random unless said otherwise. ``highest`` is the highest level tried, ``step`` how near a
    search comes to the edge, as a share of the level. ``max_requests`` and ``max_s`` are for each vendor,
    ``max_cost_usd`` for all together. ``at_least`` is a level that every vendor has to bear.
    """

    run: RunRequest
    kind: LoadKind = "concurrency"
    arrival: Arrival | None = None
    highest: float = 64
    step: float = 0.1
    limits: tuple[str, ...] = ()
    max_requests: int = 2000
    max_s: float = 1800.0
    max_cost_usd: float | None = None
    at_least: float | None = None
