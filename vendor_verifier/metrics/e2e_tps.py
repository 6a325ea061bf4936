"""e2e_tps = output tokens ÷ (last token − request sent): what a waiting user gets, thinking and queueing included.

A vendor's figure is the ratio of sums over the requests that measured.
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, answers
from vendor_verifier.metrics.decoding import Decoding
from vendor_verifier.metrics.usage import reported_usage
from vendor_verifier.values.record import Attempt, Record


def record_delivery(record: Record) -> Decoding | None:
    """Output tokens and the seconds from sending to the last token, summed over the turns that measured."""
    parts = [part for part in map(delivery, answers(record)) if part is not None]
    return Decoding(sum(part.tokens for part in parts), sum(part.seconds for part in parts)) if parts else None


def e2e_tps(record: Record) -> float | None:
    """Tokens per second; ``None`` without usage or a last token."""
    measured = record_delivery(record)
    return None if measured is None else measured.tokens / measured.seconds


def delivery(attempt: Attempt) -> Decoding | None:
    """Output tokens and the seconds from sending to the last token of one attempt."""
    timing, output = attempt.timing, reported_usage(attempt).output
    if timing is None or not timing.last_token_ns or not output:
        return None
    return Decoding(output, timing.last_token_ns / 1e9)


METRIC = Metric("e2e_tps", "higher", "tokens/s", e2e_tps)
