"""What a shaped load should have offered, and what its records say it did."""

from __future__ import annotations

from itertools import islice, takewhile
from typing import Any

from vendor_verifier.records.plan import LoadShape
from vendor_verifier.run.schedule import due_times


def due_of(shape: LoadShape, seed: int) -> list[float]:
    """When the requests that count are due, by the schedule of one process."""
    counted = islice(due_times(shape, seed), shape.warmup, None)
    first = next(counted)
    assert shape.duration_s is not None
    return [first, *(due_s for due_s in takewhile(lambda due_s: due_s < first + (shape.duration_s or 0), counted))]


def offered_in(records: list[dict[str, Any]]) -> list[float]:
    return sorted(record["offered_s"] for record in records)
