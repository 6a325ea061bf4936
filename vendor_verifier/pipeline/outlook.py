"""What a sitting is about to do, vendor by vendor, for whoever watches it; it decides and sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vendor_verifier.pipeline.guarding import known_costs
from vendor_verifier.pipeline.shaping import due_in
from vendor_verifier.run.agenda import Agenda
from vendor_verifier.run.spending import CostOf
from vendor_verifier.values.plan import Plan

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


def outlook_of(plan: Plan, agenda: Agenda, in_flight: Mapping[Name, int] | None) -> Outlook:
    """Of a plan with an ``agenda`` of the same entries."""
    names = [(entry.model, entry.label) for entry in plan.entries]
    each = due_in(plan)
    by_doing = plan.load.plans_by_doing
    return Outlook(
        due={name: each if by_doing else agenda.left_of(line) for line, name in enumerate(names)},
        done={name: agenda.crossed_of(line) for line, name in enumerate(names)},
        costs=known_costs(plan),
        in_flight=in_flight,
    )
