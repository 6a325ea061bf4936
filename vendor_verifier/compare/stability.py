"""How much the lead hangs on one metric or one vendor, and who is beaten by nobody; from figures, without chance.

A vendor's IRF depends on who else takes part, so a newcomer can swap two others: this says where it would.
"""

from __future__ import annotations

from collections.abc import Mapping

from vendor_verifier.compare.ranking import DIRECTIONS, K, irf
from vendor_verifier.metrics.base import Direction
from vendor_verifier.values.judgement import LeaderChange

Figures = Mapping[str, Mapping[str, float | None]]


def leaders(figures: Figures, k: int = K, directions: Mapping[str, Direction] | None = None) -> tuple[str, ...]:
    """The vendors with the highest IRF, in the order given; nobody when nothing was measured."""
    scores = irf(figures, k, directions)
    best = max(scores.values(), default=0.0)
    return tuple(label for label, score in scores.items() if best > 0 and score >= best - 1e-12)


def leader_changes(
    figures: Figures, k: int = K, directions: Mapping[str, Direction] | None = None
) -> tuple[LeaderChange, ...]:
    """Who leads when one metric, or one vendor that does not lead, is dropped; only the drops that change the lead."""
    lead = leaders(figures, k, directions)
    changes = []
    for metric in dict.fromkeys(name for values in figures.values() for name in values):
        rest = {label: {n: v for n, v in values.items() if n != metric} for label, values in figures.items()}
        changes.append(LeaderChange("metric", metric, leaders(rest, k, directions)))
    for dropped in figures:
        if dropped not in lead:
            others = {label: values for label, values in figures.items() if label != dropped}
            changes.append(LeaderChange("vendor", dropped, leaders(others, k, directions)))
    return tuple(change for change in changes if change.leaders and set(change.leaders) != set(lead))


def pareto_front(figures: Figures, directions: Mapping[str, Direction] | None = None) -> tuple[str, ...]:
    """Vendors that no other is at least as good as everywhere and better than somewhere, in the order given.

    Only a vendor that was measured on everything the other was can dominate it; a vendor without any figure is left
    out.
    """
    known = {**DIRECTIONS, **(directions or {})}
    signed = {
        label: {
            name: value if known.get(name, "higher") == "higher" else -value
            for name, value in values.items()
            if value is not None
        }
        for label, values in figures.items()
    }
    return tuple(
        label
        for label, own in signed.items()
        if own and not any(_dominates(other, own) for name, other in signed.items() if name != label)
    )


def _dominates(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return (
        one.keys() >= other.keys()
        and all(one[name] >= other[name] for name in other)
        and any(one[name] > other[name] for name in other)
    )
