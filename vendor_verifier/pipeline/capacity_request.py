"""What a search for capacity was asked to do, as values; nothing has been read or sent yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.values.capacity import LoadKind
from vendor_verifier.values.plan import Arrival

SUITE = "trigger"
# The unloaded level is asked twice, so that a vendor's own noise is known.
UNLOADED_REPEATS = 2
# How often each place is filled at a level, or for how many seconds a rate is kept up.
FILLED: Mapping[LoadKind, int] = {"concurrency": 4, "rate": 10}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """One call of ``capacity``. ``run`` says what to ask whom; pace and patience are ours.

    ``arrival`` is for a rate, random unless said otherwise. ``highest`` is the highest level tried, ``step`` how near a
    search comes to the edge, as a share of the level. ``max_requests`` and ``max_s`` are for each vendor,
    ``max_cost_usd`` for all together. ``at_least`` is a level that every vendor has to bear.
    """

    run: RunRequest
    kind: LoadKind = "concurrency"
    arrival: Arrival | None = None
    highest: float = 64
    step: float = 0.1
    limits: tuple[str, ...] = ()
    max_requests: int = 2000
    max_s: float = 1800.0
    max_cost_usd: float | None = None
    at_least: float | None = None
