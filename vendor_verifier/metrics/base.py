"""The types of a metric's definition, from which the measuring of records and every report are derived.

Every metric is taken over successes only: a record of which any turn failed measures nothing but ``success``, and how
late we were ourselves (``schedule_lag_ms``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from vendor_verifier.metrics.answer import Answer, Ratio
from vendor_verifier.records.record import Attempt, Record
from vendor_verifier.records.score import Distribution

Direction = Literal["higher", "lower"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """The number per vendor that ranks it by a metric.

    ``page_title`` heads the product page's column, which stands at ``column``; ``title`` is the short one. ``words``
    and ``over`` are its row in docs/metrics.md. ``family`` is its name in OpenMetrics, which ends in the unit, and
    ``help`` its line there. ``scheduled`` is the metric that it is the mean of where a cap of the user's
    held requests of an open loop back.
    """

    name: str
    title: str
    page_title: str
    words: str
    over: str
    family: str
    help: str
    column: int = 99
    scheduled: str | None = None


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """The definition of a number per record and of its summary over records.

    ``words`` is its row in docs/metrics.md. One of these says how it is measured: ``formula`` of one turn's answer, the
    turns' mean or total (a partial sum would flatter, so that every turn must measure); ``ratio``, numerator and
    denominator of one turn, ``scale`` times the ratio of their sums over turns; ``record`` where no single turn
    suffices. Without any of them it is not measured on single records. Over records it is their mean, or the ratio of
    sums where it is ``pooled``. ``time_part`` says which part of a ratio is the time, in seconds, that was read for it;
    a formula in ms is such a time itself, unless ``is_ours``. ``is_scheduled``: only an open loop has it.
    ``has_spread``: its percentiles stand in the tables of times and speeds.
    """

    name: str
    title: str
    unit: str = "ms"
    direction: Direction = "lower"
    words: str = ""
    formula: Callable[[Answer], float | None] | None = None
    turns: Literal["mean", "total"] = "mean"
    ratio: Callable[[Answer], Ratio | None] | None = None
    scale: float = 1.0
    time_part: int = 1
    record: Callable[[Record], float | None] | None = None
    pooled: bool = False
    is_ours: bool = False
    is_scheduled: bool = False
    has_spread: bool = True
    figure: Figure | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it is measured on single records."""
        return self.formula is not None or self.ratio is not None or self.record is not None

    @property
    def is_timed(self) -> bool:
        """Whether it is a time or a speed, which our own lateness spoils."""
        return self.unit in ("ms", "tokens/s")

    def measure(self, record: Record) -> float | None:
        """The number of one record; ``None`` for "not measured"."""
        return self.record(record) if self.record is not None else self.over_turns(read_answers(record))[0]

    def over_turns(self, answers: Sequence[Answer]) -> tuple[float | None, Ratio | None]:
        """The number over the answers to all turns, and the sums that it is a ratio of."""
        if self.ratio is not None:
            parts = [part for answer in answers if (part := self.ratio(answer)) is not None]
            # Nearly every record has one turn, whose numbers stay as they are.
            sums = parts[0] if len(parts) == 1 else (sum(a for a, _ in parts), sum(b for _, b in parts))
            return (self.scale * sums[0] / sums[1], sums) if parts else (None, None)
        values = [] if self.formula is None else list(map(self.formula, answers))
        known = [value for value in values if value is not None]
        if not known or (self.turns == "total" and len(known) < len(values)):
            return None, None
        return (sum(known) if self.turns == "total" else sum(known) / len(known)), None

    def time_ns(self, value: float, sums: Ratio | None) -> float | None:
        """The time in ns that a value rests on; ``None`` where it rests on no time of the vendor's."""
        if sums is not None:
            return sums[self.time_part] * 1e9
        return value * 1e6 if self.unit == "ms" and not self.is_ours else None


def final_answers(record: Record) -> tuple[Attempt, ...]:
    """The successful attempt of each turn; empty unless every turn ended in one."""
    return tuple([turn.attempts[-1] for turn in record.turns]) if record.succeeded else ()


def read_answers(record: Record) -> list[Answer]:
    """The final answers of a record's turns in the form that formulas take."""
    return list(map(Answer, final_answers(record)))


def distribution(values: Iterable[float | None]) -> Distribution:
    """The summary of the numbers among ``values``; all fields but ``n`` are ``None`` when there are none."""
    measured = sorted([value for value in values if value is not None])
    if not measured:
        return Distribution(0)
    return Distribution(
        n=len(measured),
        mean=math.fsum(measured) / len(measured),
        p50=percentile(measured, 50),
        p90=percentile(measured, 90),
        p95=percentile(measured, 95),
        p99=percentile(measured, 99),
        min=measured[0],
        max=measured[-1],
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The ``percent``-th percentile (0–100) of ascending numbers, linear between closest ranks.

    Hyndman–Fan type 7 (The American Statistician 50(4), 1996), NumPy's default.

    Raises:
        ValueError: ``ordered`` is empty.
    """
    if not ordered:
        raise ValueError("no percentile of nothing")
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
