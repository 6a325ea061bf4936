"""How many requests of each vendor were in flight, and how many answers came a second; from records, and no judgement.

Both are taken from a vendor's first request until its last sample had been sent once: what ends after that says how
slow the slowest answers were, not whether the places asked for were used. A run so small that nothing ended before is
taken whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from vendor_verifier.values.record import Attempt, Record
from vendor_verifier.values.score import Pace, Report, VendorScore

EntryKey = tuple[str, str]


@dataclass(slots=True)
class _Spans:
    """When one entry's attempts began and ended, in seconds since the epoch, and which of them were answered."""

    begins: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    answered: bytearray = field(default_factory=bytearray)
    last_sample: float = float("-inf")


class UnderWay:
    """Notes when requests began and ended while records pass."""

    def __init__(self) -> None:
        self._seen: dict[EntryKey, _Spans] = {}

    def take(self, record: Record) -> None:
        """Note every attempt of a record."""
        is_first = True
        for turn in record.turns:
            for attempt in turn.attempts:
                begin = sent_s(attempt)
                if begin is None or attempt.timing is None:
                    continue
                spans = self._seen.setdefault((record.model, record.label), _Spans())
                spans.begins.append(begin)
                spans.ends.append(begin + attempt.timing.end_ns / 1e9)
                spans.answered.append(attempt.succeeded)
                if is_first:
                    spans.last_sample = max(spans.last_sample, begin)
                is_first = False

    def pace(self, key: EntryKey, places: int | None, *, waited_for_turns: bool) -> Pace | None:
        """One entry's pace; None when nothing was sent, or no time passed.

        ``waited_for_turns``: time in which nothing of it was in flight was not its own, as where vendors take turns or
        the run was gone on with later.
        """
        spans = self._seen.get(key)
        if spans is None:
            return None
        end = spans.last_sample
        if not any(ended <= end for ended in spans.ends):
            end = max(spans.ends)
        cut = [(begin, min(ended, end)) for begin, ended in zip(spans.begins, spans.ends, strict=True) if begin < end]
        seconds = _covered_s(cut) if waited_for_turns else end - min(spans.begins)
        if seconds <= 0:
            return None
        answers = sum(done and ended <= end for done, ended in zip(spans.answered, spans.ends, strict=True))
        return Pace(
            places=places,
            in_flight=sum(ended - begin for begin, ended in cut) / seconds,
            answers_per_s=answers / seconds,
            seconds=seconds,
        )


def with_pace(
    report: Report, under_way: UnderWay, places: Mapping[EntryKey, int | None], *, waited_for_turns: bool
) -> Report:
    """The report with every vendor's pace; ``places`` are the requests in flight that were asked for."""

    def of(model: str, vendor: VendorScore) -> VendorScore:
        key = (model, vendor.label)
        return replace(vendor, pace=under_way.pace(key, places.get(key), waited_for_turns=waited_for_turns))

    models = (replace(each, vendors=tuple(of(each.model, one) for one in each.vendors)) for each in report.models)
    return replace(report, models=tuple(models))


def sent_s(attempt: Attempt) -> float | None:
    """When an attempt was sent, in seconds since the epoch; None when it never was, or nobody knows."""
    if attempt.timing is None:
        return None
    try:
        return datetime.fromisoformat(attempt.timing.sent_at).timestamp()
    except ValueError:
        return None


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """The time that any of ``spans`` covers."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered
