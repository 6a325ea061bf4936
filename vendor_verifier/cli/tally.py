"""Counts what comes back, vendor by vendor, for live progress; it reads no clock, prices nothing and prints nothing.

It is told of records by the thread that sends and asked for rows by the one that draws. What both touch are numbers
and bounded deques, which CPython copies in one step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from vendor_verifier.compare.money import billed_attempts
from vendor_verifier.metrics.ttft_ms import ttft_ms
from vendor_verifier.pipeline.outlook import Name, Outlook
from vendor_verifier.pipeline.running import is_answered
from vendor_verifier.run.spending import CostOf
from vendor_verifier.values.record import Record

# Speeds are of the latest answers: what they are now, at a cost that does not grow with the run.
_LATEST = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One vendor, or all. ``rate`` is records a second and ``ttft_p50_ms`` ms, both over the latest 200 records;
    ``left_s`` seconds at that rate. ``None`` is what is not known: yet, or ever."""

    name: str
    done: int
    due: int | None
    failed: int
    in_flight: int | None
    rate: float | None
    ttft_p50_ms: float | None
    cost_usd: float | None
    left_s: float | None


@dataclass(slots=True)
class _Vendor:
    due: int | None
    done: int
    cost_of: CostOf | None
    failed: int = 0
    cost_usd: float | None = None
    ended_s: deque[float] = field(default_factory=lambda: deque(maxlen=_LATEST))
    ttfts_ms: deque[float] = field(default_factory=lambda: deque(maxlen=_LATEST))

    def heard(self, record: Record, now_s: float) -> None:
        self.done += 1
        self.failed += not is_answered(record)
        self.ended_s.append(now_s)
        ttft = ttft_ms(record) if record.succeeded else None
        if ttft is not None:
            self.ttfts_ms.append(ttft)
        for attempt in billed_attempts(record):
            cost = attempt.usage.cost_usd
            if cost is None and self.cost_of is not None:
                cost = self.cost_of(attempt.usage)
            if cost is not None:
                self.cost_usd = (self.cost_usd or 0.0) + cost

    def row(self, name: str, in_flight: int | None, began_s: float, now_s: float) -> Row:
        ended = list(self.ended_s)
        since_s = now_s - (ended[0] if len(ended) == _LATEST else began_s)
        rate = len(ended) / since_s if ended and since_s > 0 else None
        left = None if self.due is None else max(0, self.due - self.done)
        ttfts = list(self.ttfts_ms)
        return Row(
            name=name,
            done=self.done,
            due=self.due,
            failed=self.failed,
            in_flight=in_flight,
            rate=rate,
            ttft_p50_ms=median(ttfts) if ttfts else None,
            cost_usd=self.cost_usd,
            left_s=0.0 if left == 0 else None if left is None or rate is None else left / rate,
        )


class Tally:
    """All vendors of one sitting, begun at ``now_s``; every ``now_s`` is seconds on one monotonic clock."""

    def __init__(self, outlook: Outlook, now_s: float) -> None:
        self._began_s = now_s
        self._in_flight = outlook.in_flight
        self._vendors = {
            name: _Vendor(
                None if due is None else due + outlook.done[name], outlook.done[name], outlook.costs.get(name)
            )
            for name, due in outlook.due.items()
        }

    def heard(self, record: Record, now_s: float) -> None:
        """One more record, ended at ``now_s``."""
        self._vendors[record.model, record.label].heard(record, now_s)

    @property
    def is_complete(self) -> bool:
        """Nothing is left to wait for."""
        return all(one.due is not None and one.done >= one.due for one in self._vendors.values())

    def rows(self, now_s: float) -> list[Row]:
        """Every vendor, in the plan's order."""
        titles = _titles(self._vendors)
        return [one.row(titles[name], self._flying(name), self._began_s, now_s) for name, one in self._vendors.items()]

    def _flying(self, name: Name) -> int | None:
        return None if self._in_flight is None else self._in_flight.get(name, 0)


def whole(rows: Sequence[Row]) -> Row:
    """All vendors together: sums, and the time that the slowest of them needs."""
    rates = [row.rate for row in rows if row.rate is not None]
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    lefts = [row.left_s for row in rows]
    return Row(
        name="all",
        done=sum(row.done for row in rows),
        due=None if any(row.due is None for row in rows) else sum(row.due or 0 for row in rows),
        failed=sum(row.failed for row in rows),
        in_flight=None if any(row.in_flight is None for row in rows) else sum(row.in_flight or 0 for row in rows),
        rate=sum(rates) if rates else None,
        ttft_p50_ms=None,
        cost_usd=sum(costs) if costs else None,
        left_s=None if None in lefts else max((left for left in lefts if left is not None), default=None),
    )


def _titles(names: Mapping[Name, object]) -> dict[Name, str]:
    """Labels; with the model before them where there are several."""
    several = len({model for model, _ in names}) > 1
    return {(model, label): f"{model} / {label}" if several else label for model, label in names}
