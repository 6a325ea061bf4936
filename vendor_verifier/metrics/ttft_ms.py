"""ttft_ms = (first non-empty text, reasoning or tool-call delta − request sent) ÷ 10⁶; an opening role does not count.

The successful attempt's own clock: waits and earlier attempts are outside. An answer that came whole has none.

``ttft_cold_ms`` and ``ttft_warm_ms`` are the same over the answers whose connection was new or had been used before,
as the transport recorded it; what a new connection took is in neither (see :mod:`vendor_verifier.metrics.connecting`).
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, mean_over_turns
from vendor_verifier.values.record import Attempt, Record


def ttft_ms(record: Record) -> float | None:
    """Milliseconds, mean over turns; ``None`` when the answer was not streamed or held no token."""
    return mean_over_turns(record, _attempt_ttft_ms)


def ttft_cold_ms(record: Record) -> float | None:
    """The same over turns that were the first on their connection."""
    return mean_over_turns(record, lambda attempt: _attempt_ttft_ms(attempt) if _reused(attempt) is False else None)


def ttft_warm_ms(record: Record) -> float | None:
    """The same over turns whose connection had carried an answer before."""
    return mean_over_turns(record, lambda attempt: _attempt_ttft_ms(attempt) if _reused(attempt) else None)


def _attempt_ttft_ms(attempt: Attempt) -> float | None:
    timing, response = attempt.timing, attempt.response
    if timing is None or response is None or not response.streamed or timing.first_token_ns is None:
        return None
    return timing.first_token_ns / 1e6


def _reused(attempt: Attempt) -> bool | None:
    return None if attempt.timing is None else attempt.timing.connection_reused


METRIC = Metric("ttft_ms", "lower", "ms", ttft_ms)
COLD = Metric("ttft_cold_ms", "lower", "ms", ttft_cold_ms)
WARM = Metric("ttft_warm_ms", "lower", "ms", ttft_warm_ms)
