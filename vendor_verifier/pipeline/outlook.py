"""What a sitting is about to do, vendor by vendor, for whoever watches it; it decides and sends nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vendor_verifier.pipeline.guarding import known_costs
from vendor_verifier.pipeline.shaping import due_in
from vendor_verifier.run.engine import WorkItem
from vendor_verifier.run.spending import CostOf
from vendor_verifier.values.plan import Plan
from vendor_verifier.values.record import RecordKey

# (model, label)
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Outlook:
    """By (model, label): records ``due`` now (``None``: the vendor's speed decides), ``done`` in earlier sittings, and
    what an answer ``costs``, where a price is known. ``in_flight`` is kept true while requests are sent; ``None`` where
    they are counted out of our sight."""

    due: Mapping[Name, int | None]
    done: Mapping[Name, int]
    costs: Mapping[Name, CostOf] = field(default_factory=dict)
    in_flight: Mapping[Name, int] | None = None


def outlook_of(
    plan: Plan, items: Sequence[WorkItem], done: Iterable[RecordKey], in_flight: Mapping[Name, int] | None
) -> Outlook:
    """Of a plan with ``items`` left to send."""
    names = [(entry.model, entry.label) for entry in plan.entries]
    planned = Counter((item.line.entry.model, item.line.entry.label) for item in items)
    before = Counter((model, label) for _, model, label, *_ in done)
    each = due_in(plan)
    by_doing = plan.load.plans_by_doing
    return Outlook(
        due={name: each if by_doing else planned[name] for name in names},
        done={name: before[name] for name in names},
        costs=known_costs(plan),
        in_flight=in_flight,
    )
