"""total_tokens = input + output tokens as the vendor reports them, summed over turns; never estimated.

A zero that cannot be true counts as not reported (see :mod:`vendor_verifier.metrics.usage`).
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, total_over_turns
from vendor_verifier.metrics.usage import reported_usage
from vendor_verifier.values.record import Record


def total_tokens(record: Record) -> float | None:
    """Tokens; ``None`` unless every turn's answer reported them."""
    return total_over_turns(record, lambda attempt: reported_usage(attempt).total)


METRIC = Metric("total_tokens", "lower", "tokens", total_tokens)
