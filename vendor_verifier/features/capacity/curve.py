"""One vendor's load curve: its limits, the choice of the next level, and the capacity found.

Nothing is sent here; the same code serves a search under way and one that is judged again.

From the unloaded level on every level is twice the one before, until one does not hold or the highest is reached. Then
the middle between the highest that holds and the lowest that does not is tried, until both are one step apart. A level
that stays undecided is asked more; if that does not settle it, it does not hold. What is known is all the state there
is, so a search can be gone on with from what was stored. A sweep visits the levels it was given instead, all of them.

``ceiling`` is what the vendor's own unloaded answers give against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from vendor_verifier.features.capacity.falls import Loaded, falls
from vendor_verifier.features.capacity.level import LevelEvidence, judge_level
from vendor_verifier.features.capacity.values import (
    Ended,
    EndReason,
    Fall,
    Point,
    SearchBounds,
    Session,
    Stage,
    Step,
    Tried,
    VendorCapacity,
)
from vendor_verifier.scoring.observation import Observation
from vendor_verifier.values.judgement import Threshold
from vendor_verifier.values.record import Record

if TYPE_CHECKING:
    import numpy as np


def next_step(seen: Sequence[Tried], bounds: SearchBounds) -> Step | Ended:
    """The next step of a search, given ``seen``: the unloaded level, then every level tried, in that order, each once.

    Raises:
        ValueError: ``seen`` is empty; without the unloaded level there is nothing to compare with.
    """
    if not seen:
        raise ValueError("a search begins with the unloaded level")
    first, last = seen[0], seen[-1]
    level = _next_swept(seen, bounds)
    # A rate of 0, because nothing was answered, has no double; whatever the limits say.
    if level is None and (first.outcome == "broken" or not first.level):
        return Ended("unloaded", None)
    left = bounds.max_requests - sum(tried.requests for tried in seen)
    if len(seen) > 1 and last.outcome == "undecided" and _may_ask_more(last, bounds, left):
        return Step(last.level, repetitions_at(last.level, bounds))
    if not bounds.sweep:
        level = _next_level(seen, bounds)
    capacity = capacity_of(seen)
    if level is None:
        failed = first_failed(seen)
        if failed is None:
            return Ended("highest", capacity)
        return Ended("client" if failed.outcome == "client" else "edge", capacity)
    repetitions = repetitions_at(level, bounds)
    if requests_at(level, bounds) > left:
        return Ended("requests", capacity)
    return Step(level, repetitions)


def repetitions_at(level: float, bounds: SearchBounds) -> int:
    """The repetitions of every sample at ``level``: enough that each place is filled ``per_place`` times.

    For a rate ``per_place`` is the seconds that it is kept up.
    """
    return max(1, math.ceil(bounds.per_place * level / bounds.samples))


def aside_at(level: float) -> int:
    """Requests that keep the load up before the first counted one, and as many after the last: one for each place, or
    a second's worth."""
    return math.ceil(level)


def requests_at(level: float, bounds: SearchBounds) -> int:
    """The requests of one session at ``level``: the repetitions, and those sent before and after them."""
    return repetitions_at(level, bounds) * bounds.samples + 2 * aside_at(level)


def resolution(level: float, bounds: SearchBounds) -> float:
    """The greatest distance from ``level`` to the next one above it at which a search ends."""
    return max(1.0, bounds.step * level) if bounds.kind == "concurrency" else bounds.step * level


def _may_ask_more(last: Tried, bounds: SearchBounds, left: int) -> bool:
    once = requests_at(last.level, bounds)
    return last.requests + once <= bounds.more * once and once <= left


def first_failed(seen: Sequence[Tried]) -> Tried | None:
    """The lowest level that does not hold, the unloaded one aside."""
    return min((tried for tried in seen[1:] if tried.outcome != "holds"), key=lambda tried: tried.level, default=None)


def _bracket(seen: Sequence[Tried]) -> tuple[float, Tried | None]:
    """The highest level that holds below all that failed, and the lowest that did; the unloaded one never did."""
    failed = first_failed(seen)
    top = math.inf if failed is None else failed.level
    return max([seen[0].level, *(t.level for t in seen[1:] if t.outcome == "holds" and t.level < top)]), failed


def capacity_of(seen: Sequence[Tried]) -> float | None:
    """The highest level that holds below every one that does not; ``None`` when there is none.

    The unloaded level counts only where no load holds: one request after the other may make more than the highest rate.
    """
    failed = first_failed(seen)
    top = math.inf if failed is None else failed.level
    unloaded, *loaded = [tried.level if tried.outcome == "holds" and tried.level < top else None for tried in seen]
    return max((level for level in loaded if level is not None), default=unloaded)


def _next_swept(seen: Sequence[Tried], bounds: SearchBounds) -> float | None:
    """The lowest level of a sweep that was not visited yet."""
    visited = {tried.level for tried in seen[1:]}
    return next((level for level in bounds.sweep if level not in visited), None)


def _next_level(seen: Sequence[Tried], bounds: SearchBounds) -> float | None:
    holds, failed = _bracket(seen)
    if failed is None:
        doubled = 2 * holds if bounds.kind == "concurrency" else _rounded(2 * holds)
        # Without load nothing came by the clock yet, however many a second it was.
        is_untried = bounds.kind == "rate" and len(seen) == 1
        return min(doubled, bounds.highest) if is_untried or holds < bounds.highest else None
    if failed.level - holds <= resolution(holds, bounds):
        return None
    if bounds.kind == "concurrency":
        return float((holds + failed.level) // 2)
    middle = _rounded(math.sqrt(holds * failed.level))
    return middle if holds < middle < failed.level else None


def _rounded(rate: float) -> float:
    """Three significant digits: rates are typed by people."""
    return float(f"{rate:.3g}")


# A promise of the user's own (requests per minute) can keep a level from being reached.
_REACHED = 0.7
_Key = tuple[Stage, float]


@dataclass(slots=True)
class Curve:
    """The load curve of one entry. ``new_rng`` gives the same generator every time, so that judging twice agrees."""

    model: str
    label: str
    vendor: str
    thresholds: Sequence[Threshold]
    samples: Sequence[str]
    bounds: SearchBounds
    new_rng: Callable[[], np.random.Generator]
    sessions: list[Session] = field(default_factory=list)
    _evidence: dict[_Key, LevelEvidence] = field(default_factory=dict)
    _rows: dict[_Key, list[Observation]] = field(default_factory=dict)
    _points: dict[_Key, Point] = field(default_factory=dict)

    def add(self, session: Session, records: Sequence[tuple[Record, Observation]]) -> Point:
        """Add one session with all its records and return the level's point as it is now."""
        self.sessions.append(session)
        key = (session.stage, session.level)
        evidence = self._evidence.setdefault(key, LevelEvidence())
        for record, row in records:
            evidence.add(record.run, row)
            self._rows.setdefault(key, []).append(row)
        reference = self._evidence["unloaded", self.sessions[0].level]
        own = [one for one in self.sessions if (one.stage, one.level) == key and not one.is_aside]
        point = judge_level(
            session.stage, session.level, evidence, reference, own, self.thresholds, self.samples, self.new_rng()
        )
        # By rate, the level without load is the rate that one request after the other makes.
        if session.stage != "level" and self.bounds.kind == "rate":
            point = replace(point, level=float(f"{point.requests_per_s or 0:.3g}"))
        self._points[key] = point
        return point

    def set_aside(self, session: Session) -> None:
        """Add a session that nothing can be learnt from, because it was spoilt by us; its requests were sent."""
        self.sessions.append(session)

    def next_step(self) -> Step | Ended:
        """The next step of the search; one level at least must have been sent."""
        aside = sum(one.requests for one in self.sessions if one.is_aside)
        return next_step(self.tried(), replace(self.bounds, max_requests=self.bounds.max_requests - aside))

    def has_room_for(self, requests: int) -> bool:
        """Whether so many more may be sent."""
        return self.requests + requests <= self.bounds.max_requests

    def repetitions_at(self, stage: Stage, level: float) -> int:
        """The number of times that every sample has been asked at this level."""
        return sum(one.repetitions for one in self.sessions if (one.stage, one.level) == (stage, level))

    @property
    def unloaded(self) -> Point | None:
        return next((point for point in self._points.values() if point.stage == "unloaded"), None)

    @property
    def afterwards(self) -> Point | None:
        return next((point for point in self._points.values() if point.stage == "afterwards"), None)

    @property
    def requests(self) -> int:
        """The number of requests sent, uncounted ones included."""
        return sum(one.requests for one in self.sessions)

    def tried(self) -> list[Tried]:
        """The levels in the order of trying, the unloaded one first, without those that were cut short."""
        return [
            Tried(point.level, point.outcome, self._requests_at(key))
            for key, point in self._points.items()
            if point.stage != "afterwards" and point.outcome != "cut"
        ]

    def _requests_at(self, key: _Key) -> int:
        return sum(one.requests for one in self.sessions if (one.stage, one.level) == key and not one.is_aside)

    def gave_way(self) -> Point | None:
        """The lowest level that does not hold."""
        tried = self.tried()
        failed = first_failed(tried) if tried else None
        points = (one for one in self._points.values() if one.stage == "level")
        return None if failed is None else next(one for one in points if one.level == failed.level)

    def concluded(self, stopped: EndReason | None = None) -> VendorCapacity:
        """The result. ``stopped`` says why a search ended that was not through, or how a stored one did."""
        tried = self.tried()
        ended = self._ended(tried, stopped)
        # A limit missed without load is reported of the unloaded answers, also when levels are judged again after it.
        failed = None if ended.reason == "unloaded" else self.gave_way()
        if ended.reason in ("edge", "client") and failed is not None and self._has_drifted(failed):
            ended = replace(ended, reason="drifted")
        levels = sorted((one for one in self._points.values() if one.stage == "level"), key=lambda one: one.level)
        first = [self.unloaded] if self.unloaded is not None else []
        missed = failed.missed if failed is not None else first[0].missed if ended.reason == "unloaded" else ()
        return VendorCapacity(
            model=self.model,
            label=self.label,
            vendor=self.vendor,
            capacity=ended.capacity,
            reason=ended.reason,
            points=(*first, *levels),
            broke_at=None if failed is None else failed.level,
            gave_way=missed,
            afterwards=self.afterwards,
            requests=self.requests,
            notes=tuple(self._notes(levels)),
            sittings=tuple(self.sessions),
            knee=knee(levels),
            falls=tuple(self._falls(levels)),
        )

    def _falls(self, levels: Sequence[Point]) -> Iterator[Fall]:
        """The figures that fall under load without missing their limits, over the levels that were sent whole."""
        whole = [Loaded(one, self._rows["level", one.level]) for one in levels if one.cut is None and one.succeeded]
        if whole and self.unloaded is not None:
            reference = self._evidence["unloaded", self.sessions[0].level]
            yield from falls(whole, reference, self.samples, self.new_rng)

    def _ended(self, tried: Sequence[Tried], stopped: EndReason | None) -> Ended:
        if not tried:
            return Ended(stopped or "stopped", None)
        found = self.next_step()
        if isinstance(found, Ended):
            return found
        # Only a search that is judged again, by other limits, is not through and was not stopped either.
        failed = first_failed(tried)
        reason: EndReason = "highest" if failed is None else "client" if failed.outcome == "client" else "edge"
        return Ended(stopped or reason, capacity_of(tried))

    def _has_drifted(self, failed: Point) -> bool:
        """Whether the same limits are clearly missed without load afterwards, so that load was not the only cause."""
        after = self.afterwards
        if after is None:
            return False
        lost = {limit.threshold.subject for limit in after.limits if limit.outcome == "broken"}
        return any(limit.threshold.subject in lost for limit in failed.missed)

    def _gap(self) -> Iterator[str]:
        """A note on the interval between the last level that holds and the first that fails, if it is not measured."""
        tried = self.tried()
        failed, capacity = (first_failed(tried), capacity_of(tried)) if tried else (None, None)
        if failed is not None and capacity is not None and failed.level - capacity > resolution(capacity, self.bounds):
            yield f"nothing was measured between {capacity:g} and {failed.level:g}"

    def _notes(self, levels: Sequence[Point]) -> Iterator[str]:
        unmeasured = [] if self.unloaded is None else _unmeasured(self.unloaded, levels)
        if unmeasured:
            yield f"not measured, so not judged: {', '.join(unmeasured)}"
        yield from (one.words for one in self.sessions if one.words is not None)
        yield from self._gap()
        # Requests that fail at once leave places empty by themselves; the failures are reported instead.
        short = [one for one in levels if _is_short(one)] if self.bounds.kind == "concurrency" else []
        if short:
            worst = min(short, key=lambda one: (one.in_flight or 0.0) / one.level)
            yield (
                f"{worst.level:g} in flight were wanted and {worst.in_flight:.1f} reached on average: the entry's own "
                "requests_per_minute, or answers too short for that many places, kept places empty"
            )


# A level whose power is as near to the greatest is as good: powers of neighbours are never quite equal.
_AS_GOOD = 0.95
LEAST_LEVELS = 3


def knee(levels: Sequence[Point]) -> float | None:
    """The lowest of ``levels``, which rise, whose power is within 5 % of the greatest (Kleinrock, ICC 1979).

    ``None`` where that is the highest level, so that the knee lies beyond, or below three levels that are the vendor's
    own doing.
    """
    known = [(one.level, one.power) for one in levels if one.cut is None and one.outcome != "client" and one.power]
    if len(known) < LEAST_LEVELS:
        return None
    enough = _AS_GOOD * max(power for _, power in known)
    found = next(level for level, power in known if power >= enough)
    return None if found == known[-1][0] else found


def _is_short(point: Point) -> bool:
    is_answered = point.succeeded > _REACHED * point.requests
    return is_answered and point.in_flight is not None and point.in_flight < _REACHED * point.level


def _unmeasured(unloaded: Point, levels: Sequence[Point]) -> list[str]:
    """Limits that no level had a figure for."""
    named = dict.fromkeys(str(limit.threshold) for one in (unloaded, *levels) for limit in one.limits)
    return [
        name
        for name in named
        if all(
            limit.outcome == "unmeasured"
            for one in (unloaded, *levels)
            for limit in one.limits
            if str(limit.threshold) == name
        )
    ]


# enough: it bears what was asked for; too_little: it is known not to; unknown: the search ended before it could tell.
Standing = Literal["enough", "too_little", "unknown"]
# Reasons for an end that judging the same records again cannot change.
RAN_OUT: frozenset[EndReason] = frozenset({"requests", "cost", "time", "stopped", "interrupted", "workers"})


def standing(vendor: VendorCapacity, at_least: float | None) -> Standing:
    """Whether a vendor bears ``at_least``; without that, whether any capacity was found."""
    if at_least is None:
        if vendor.reason == "unloaded":
            return "too_little"
        return "unknown" if vendor.reason in RAN_OUT or vendor.capacity is None else "enough"
    if vendor.capacity is not None and vendor.capacity >= at_least:
        return "enough"
    is_its_own = vendor.reason not in ("client", "drifted")
    gave_way = vendor.reason == "unloaded" or (vendor.broke_at is not None and vendor.broke_at <= at_least)
    return "too_little" if is_its_own and (gave_way or vendor.reason == "edge") else "unknown"
