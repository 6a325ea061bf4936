"""What a record metric is, and how the turns of one record become one number; it defines no metric.

Every metric is taken over successes only: a record of which any turn failed measures nothing but ``success``, and how
late we were ourselves (``schedule_lag_ms``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vendor_verifier.values.record import Attempt, Record

Direction = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A number per record. ``direction`` says which end is better; ``measure`` gives ``None`` for "not measured"."""

    name: str
    direction: Direction
    unit: str
    measure: Callable[[Record], float | None]


def answers(record: Record) -> tuple[Attempt, ...]:
    """The successful attempt of each turn; nothing unless every turn ended in one."""
    return tuple(turn.attempts[-1] for turn in record.turns) if record.succeeded else ()


def total_over_turns(record: Record, measure: Callable[[Attempt], float | None]) -> float | None:
    """The sum over turns, or ``None`` when any turn did not measure: a partial sum would flatter."""
    values = [measure(attempt) for attempt in answers(record)]
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None


def mean_over_turns(record: Record, measure: Callable[[Attempt], float | None]) -> float | None:
    """The mean over the turns that measured."""
    known = [value for value in map(measure, answers(record)) if value is not None]
    return sum(known) / len(known) if known else None
