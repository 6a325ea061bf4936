"""Time since a record was due by the schedule of an open loop; a closed loop has no schedule, and measures none of it.

    ttft_from_schedule_ms = (first token of the first turn − due) ÷ 10⁶
    e2e_from_schedule_ms  = (end of the last turn − due) ÷ 10⁶
    schedule_lag_ms       = (first attempt sent − due − time to connect) ÷ 10⁶

The first two are what somebody waited who came at that moment: our own queue, failed attempts and pauses between them
are inside, which they are not in ``ttft_ms`` and ``e2e_ms``. The third is our part of it.
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, answers
from vendor_verifier.values.record import Record


def ttft_from_schedule_ms(record: Record) -> float | None:
    """Milliseconds; ``None`` unless it succeeded, streamed, and was due at a moment."""
    found = answers(record)
    if record.offered_s is None or not found:
        return None
    timing, response = found[0].timing, found[0].response
    if timing is None or timing.scheduled_ns is None or timing.first_token_ns is None:
        return None
    return (timing.first_token_ns - timing.scheduled_ns) / 1e6 if response is not None and response.streamed else None


def e2e_from_schedule_ms(record: Record) -> float | None:
    """Milliseconds; ``None`` unless it succeeded and was due at a moment."""
    found = answers(record)
    timing = found[-1].timing if found else None
    if record.offered_s is None or timing is None or timing.scheduled_ns is None:
        return None
    return (timing.end_ns - timing.scheduled_ns) / 1e6


def schedule_lag_ms(record: Record) -> float | None:
    """Milliseconds, whatever became of the attempt; ``None`` where nothing was sent or due."""
    first = record.turns[0].attempts[0].timing if record.turns and record.turns[0].attempts else None
    if record.offered_s is None or first is None or first.scheduled_ns is None:
        return None
    return (-first.scheduled_ns - (first.connect_ns or 0)) / 1e6


TTFT = Metric("ttft_from_schedule_ms", "lower", "ms", ttft_from_schedule_ms)
E2E = Metric("e2e_from_schedule_ms", "lower", "ms", e2e_from_schedule_ms)
LAG = Metric("schedule_lag_ms", "lower", "ms", schedule_lag_ms)
FROM_SCHEDULE = frozenset({TTFT.name, E2E.name, LAG.name})
_NONE = (None, None, None)


def from_schedule(record: Record) -> tuple[float | None, ...]:
    """All three in the order of ``METRICS``, at once: nearly every record was due at no moment."""
    if record.offered_s is None:
        return _NONE
    return ttft_from_schedule_ms(record), e2e_from_schedule_ms(record), schedule_lag_ms(record)
