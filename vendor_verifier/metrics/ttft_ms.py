"""ttft_ms = (first non-empty text, reasoning or tool-call delta − request sent) ÷ 10⁶; an opening role does not count.

The successful attempt's own clock: waits and earlier attempts are outside. An answer that came whole has none.
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, mean_over_turns
from vendor_verifier.values.record import Attempt, Record


def ttft_ms(record: Record) -> float | None:
    """Milliseconds, mean over turns; ``None`` when the answer was not streamed or held no token."""
    return mean_over_turns(record, _attempt_ttft_ms)


def _attempt_ttft_ms(attempt: Attempt) -> float | None:
    timing, response = attempt.timing, attempt.response
    if timing is None or response is None or not response.streamed or timing.first_token_ns is None:
        return None
    return timing.first_token_ns / 1e6


METRIC = Metric("ttft_ms", "lower", "ms", ttft_ms)
