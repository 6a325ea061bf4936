"""success = 1 if every turn of the record ended in a success, after retries; 0 otherwise. It looks at no content."""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric
from vendor_verifier.values.record import Record


def success(record: Record) -> float:
    """1.0 when a complete answer came back for every turn, whatever it says."""
    return 1.0 if record.succeeded else 0.0


METRIC = Metric("success", "higher", "share", success)
