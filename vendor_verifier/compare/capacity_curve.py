"""One vendor's curve while it is measured, or as it was stored: records by level, and what the levels say together.

It neither sends nor chooses the next level; the same code serves a search under way and one that is judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from vendor_verifier.compare.capacity import capacity_of, first_failed, next_step, resolution
from vendor_verifier.compare.capacity_points import LevelEvidence, judge_level
from vendor_verifier.compare.facts import Facts
from vendor_verifier.values.capacity import (
    Ended,
    EndReason,
    Point,
    SearchBounds,
    Sitting,
    Stage,
    Tried,
    VendorCapacity,
)
from vendor_verifier.values.judgement import Threshold
from vendor_verifier.values.record import Record

if TYPE_CHECKING:
    import numpy as np

# A promise of the user's own (requests per minute) can keep a level from being reached.
_REACHED = 0.7
_Key = tuple[Stage, float]


@dataclass(slots=True)
class Curve:
    """What is known of one entry. ``new_rng`` gives the same generator every time, so that judging twice agrees."""

    model: str
    label: str
    vendor: str
    thresholds: Sequence[Threshold]
    samples: Sequence[str]
    bounds: SearchBounds
    new_rng: Callable[[], np.random.Generator]
    sittings: list[Sitting] = field(default_factory=list)
    _evidence: dict[_Key, LevelEvidence] = field(default_factory=dict)
    _points: dict[_Key, Point] = field(default_factory=dict)

    def add(self, sitting: Sitting, records: Sequence[tuple[Record, Facts]]) -> Point:
        """Take in one sitting with all its records; the level's point as it is now."""
        self.sittings.append(sitting)
        key = (sitting.stage, sitting.level)
        evidence = self._evidence.setdefault(key, LevelEvidence())
        for record, facts in records:
            evidence.add(record, facts)
        reference = self._evidence["unloaded", self.sittings[0].level]
        own = [one for one in self.sittings if (one.stage, one.level) == key]
        point = judge_level(
            sitting.stage, sitting.level, evidence, reference, own, self.thresholds, self.samples, self.new_rng()
        )
        # By rate, the level without load is the rate that one request after the other makes.
        if sitting.stage != "level" and self.bounds.kind == "rate":
            point = replace(point, level=float(f"{point.requests_per_s or 0:.3g}"))
        self._points[key] = point
        return point

    def repetitions_at(self, stage: Stage, level: float) -> int:
        """How often every sample has been asked there."""
        return sum(one.repetitions for one in self.sittings if (one.stage, one.level) == (stage, level))

    @property
    def unloaded(self) -> Point | None:
        return next((point for point in self._points.values() if point.stage == "unloaded"), None)

    @property
    def afterwards(self) -> Point | None:
        return next((point for point in self._points.values() if point.stage == "afterwards"), None)

    @property
    def requests(self) -> int:
        """Everything that was sent, what was thrown away included."""
        return sum(one.requests for one in self.sittings)

    def tried(self) -> list[Tried]:
        """The levels in the order of trying, the unloaded one first, without what was cut short."""
        return [
            Tried(point.level, point.outcome, self._requests_at(key))
            for key, point in self._points.items()
            if point.stage != "afterwards" and point.outcome != "cut"
        ]

    def _requests_at(self, key: _Key) -> int:
        return sum(one.requests for one in self.sittings if (one.stage, one.level) == key)

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
        # What is missed without load is said of the answers without load, also when levels are judged again after it.
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
            sittings=tuple(self.sittings),
        )

    def _ended(self, tried: Sequence[Tried], stopped: EndReason | None) -> Ended:
        if not tried:
            return Ended(stopped or "stopped", None)
        found = next_step(tried, self.bounds)
        if isinstance(found, Ended):
            return found
        # Only a search that is judged again, by other limits, is not through and was not stopped either.
        failed = first_failed(tried)
        reason: EndReason = "highest" if failed is None else "client" if failed.outcome == "client" else "edge"
        return Ended(stopped or reason, capacity_of(tried))

    def _has_drifted(self, failed: Point) -> bool:
        """Whether without load, afterwards, the same is missed for good: then it was not the load, or not alone."""
        after = self.afterwards
        if after is None:
            return False
        lost = {limit.threshold.subject for limit in after.limits if limit.outcome == "broken"}
        return any(limit.threshold.subject in lost for limit in failed.missed)

    def _gap(self) -> Iterator[str]:
        """Where nothing was measured, although the edge lies there."""
        tried = self.tried()
        failed, capacity = (first_failed(tried), capacity_of(tried)) if tried else (None, None)
        if failed is not None and capacity is not None and failed.level - capacity > resolution(capacity, self.bounds):
            yield f"nothing was measured between {capacity:g} and {failed.level:g}"

    def _notes(self, levels: Sequence[Point]) -> Iterator[str]:
        unmeasured = [] if self.unloaded is None else _unmeasured(self.unloaded, levels)
        if unmeasured:
            yield f"not measured, so not judged: {', '.join(unmeasured)}"
        yield from (one.words for one in self.sittings if one.words is not None)
        yield from self._gap()
        # What fails at once keeps places empty by itself, and is told as what it is.
        short = [one for one in levels if _is_short(one)] if self.bounds.kind == "concurrency" else []
        if short:
            worst = min(short, key=lambda one: (one.in_flight or 0.0) / one.level)
            yield (
                f"{worst.level:g} in flight were wanted and {worst.in_flight:.1f} reached on average: the entry's own "
                "requests_per_minute, or answers too short for that many places, kept places empty"
            )


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
