"""Warnings of a run that ended early, was slowed down or was not timed truthfully, and the costs for its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

from vendor_verifier.audit.cost import cost_usd
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.manifest import Manifest, Offered, StoredLoad, StoredLoop
from vendor_verifier.pipeline.prices import price_of
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.run.event_loop_lag import MAX_CORE_SHARE, STALL_NS
from vendor_verifier.values.plan import Plan
from vendor_verifier.words import english


def costs_of(plan: Plan) -> dict[tuple[str, str], CostOf]:
    """The cost function of each entry, from usage to US dollars; empty when the plan limits no cost.

    Raises:
        UsageError: a cost limit is set and the price of an entry is not known.
    """
    if plan.max_cost_usd is None:
        return {}
    costs = known_costs(plan)
    unknown = [
        f"{entry.model}: {entry.label}"
        for entry in plan.entries
        if (entry.model, entry.label) not in costs and not entry.is_simulated
    ]
    if unknown:
        words = f"the price of {', '.join(unknown)} is not known; add `price: {{input: …, output: …}}` to the entry"
        raise ProblemsError([Problem(words, key="--max-cost")])
    return costs


def known_costs(plan: Plan) -> dict[tuple[str, str], CostOf]:
    """By (model, label) the cost function from usage to US dollars, of entries whose price is known."""
    now = datetime.now(UTC)
    prices = {(entry.model, entry.label): price_of(entry, now) for entry in plan.entries}
    return {name: partial(cost_usd, price=price) for name, price in prices.items() if price is not None}


def ending_warnings(manifest: Manifest) -> Iterator[str]:
    """The warnings about the course of a run, from its manifest."""
    if manifest.limit:
        yield english("warn_ended", limit=manifest.limit)
    for label, reason in manifest.stopped.items():
        yield english("warn_stopped", label=label, reason=reason)
    for label, places in manifest.concurrency_lowered.items():
        yield english("warn_slowed", label=label, given=places.given, lowest=places.lowest, last=places.last)
    for loss in (loss for executor in manifest.executors or () for loss in executor.lost_sessions):
        yield english("warn_worker", worker=loss.session, reason=loss.reason)
    yield from _load_warnings(manifest.load or {})
    if manifest.event_loop is not None:
        yield from _loop_warnings(manifest.event_loop, _less_of(manifest.settings.load))
    if manifest.redacted:
        yield english("warn_redacted")
    for executor in manifest.executors or ():
        for run, labels in (executor.beside or {}).items():
            yield english("warn_beside", run=run, labels=", ".join(labels))


def _load_warnings(load: Mapping[str, Offered]) -> Iterator[str]:
    """Warnings where the load differed from the one asked for, or the whole warm-up failed."""
    for label, kept in load.items():
        if kept.held_back:
            yield english("warn_held_back", label=label, held=kept.held_back, cap=kept.cap)
        elif (kept.lag_p99_ms or 0.0) > STALL_NS / 1e6:
            yield english("warn_began_late", label=label, ms=f"{kept.lag_p99_ms:.0f}")
        if kept.warmup and kept.warmup_failed == kept.warmup:
            yield english("warn_warmup", label=label, count=kept.warmup)


def _less_of(load: StoredLoad | None) -> str:
    """Advice for an overloaded process, by load shape, as a shaped load cannot be shared by several processes."""
    if load is None:
        return english("advice_workers")
    if load.schedule:
        return english("advice_schedule")
    return english("advice_rate" if load.request_rate else "advice_concurrency")


def _loop_warnings(loop: StoredLoop, advice: str) -> Iterator[str]:
    """Warnings where the load was more than this process could time truthfully."""
    if loop.p99_ms is not None and loop.p99_ms > STALL_NS / 1e6:
        yield english("warn_loop", ms=f"{loop.p99_ms:.0f}", advice=advice)
    if loop.core_share is not None and loop.core_share > MAX_CORE_SHARE:
        yield english("warn_core", share=f"{loop.core_share:.0%}", most=f"{MAX_CORE_SHARE:.0%}", advice=advice)
