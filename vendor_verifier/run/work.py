"""One session's work, as every executor gets it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.run.cluster.job import Job
from vendor_verifier.run.engine import Emit
from vendor_verifier.run.work_queue import WorkQueue
from vendor_verifier.values.plan import Plan
from vendor_verifier.values.record import Record


@dataclass(frozen=True, slots=True)
class Work:
    """One sitting of a run. ``emit`` keeps records, ``emit_duplicate`` those that came a second time.

    ``in_flight`` is where requests under way are counted, by (model, label), by an executor that gives permits here.
    """

    plan: Plan
    queue: WorkQueue
    job: Job
    emit: Emit
    emit_duplicate: Callable[[Record], None]
    scrubber: Scrubber
    costs: Mapping[tuple[str, str], CostOf] = field(default_factory=dict)
    use_uvloop: bool = False
    in_flight: Counter[tuple[str, str]] | None = None
