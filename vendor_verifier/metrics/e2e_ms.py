"""e2e_ms = (end of the answer − request sent) ÷ 10⁶, of the successful attempt alone; retries and waits are outside."""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, total_over_turns
from vendor_verifier.values.record import Attempt, Record


def e2e_ms(record: Record) -> float | None:
    """Milliseconds, summed over turns; ``None`` without timing."""
    return total_over_turns(record, _attempt_e2e_ms)


def _attempt_e2e_ms(attempt: Attempt) -> float | None:
    return None if attempt.timing is None else attempt.timing.end_ns / 1e6


METRIC = Metric("e2e_ms", "lower", "ms", e2e_ms)
