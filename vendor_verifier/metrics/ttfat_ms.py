"""ttfat_ms = (first text or tool-call delta − request sent) ÷ 10⁶; reasoning does not count."""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, mean_over_turns
from vendor_verifier.values.record import Attempt, Record


def ttfat_ms(record: Record) -> float | None:
    """Milliseconds, mean over turns; ``None`` when the answer was not streamed or held nothing but reasoning."""
    return mean_over_turns(record, _attempt_ttfat_ms)


def _attempt_ttfat_ms(attempt: Attempt) -> float | None:
    timing, response = attempt.timing, attempt.response
    if timing is None or response is None or not response.streamed or timing.first_answer_ns is None:
        return None
    return timing.first_answer_ns / 1e6


METRIC = Metric("ttfat_ms", "lower", "ms", ttfat_ms)
