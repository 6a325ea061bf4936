"""What ends a run early or slows it down, and how a report tells of it; the counting itself is the limiter's."""

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


def costs_of(plan: Plan) -> dict[tuple[str, str], CostOf]:
    """What an answer of each entry costs, given its usage; nothing when the plan limits no cost.

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
    """What an answer of each entry costs, given its usage, by (model, label): of those whose price is known."""
    now = datetime.now(UTC)
    prices = {(entry.model, entry.label): price_of(entry, now) for entry in plan.entries}
    return {name: partial(cost_usd, price=price) for name, price in prices.items() if price is not None}


def ending_warnings(manifest: Manifest) -> Iterator[str]:
    """What a reader of the report has to know of how the run went."""
    if manifest.limit:
        yield f"the run was ended early: {manifest.limit}"
    for label, reason in manifest.stopped.items():
        yield f"{label} was stopped: {reason}"
    for label, places in manifest.concurrency_lowered.items():
        yield (
            f"{label} limited our rate: requests at a time went from {places.given} down to {places.lowest} "
            f"({places.last} at the end)"
        )
    for loss in (loss for executor in manifest.executors or () for loss in executor.lost_sessions):
        yield (
            f"worker {loss.session} was lost ({loss.reason}): what it had not handed in was asked again by "
            "others, as far as any were left"
        )
    yield from _load_warnings(manifest.load or {})
    if manifest.event_loop is not None:
        yield from _loop_warnings(manifest.event_loop, _less_of(manifest.settings.load))
    if manifest.redacted:
        yield "content is left out: prompts, answers and what is expected are shown as digests"
    for executor in manifest.executors or ():
        for run, labels in (executor.beside or {}).items():
            yield (
                f"run {run} asked the same accounts over the same cluster at the same time ({', '.join(labels)}): "
                "each kept its own limits, so these vendors saw the sum, and answered under the load of both"
            )


def _load_warnings(load: Mapping[str, Offered]) -> Iterator[str]:
    """Where the load was not the one that was asked for, and what was thrown away for nothing."""
    for label, told in load.items():
        if told.held_back:
            yield (
                f"{label}: {told.held_back} requests found {told.cap} others under way when they were due and "
                "began late (--request-concurrency, else the files this system lets a process open); times from the "
                "schedule hold the wait, times from sending do not"
            )
        elif (told.lag_p99_ms or 0.0) > STALL_NS / 1e6:
            yield (
                f"{label}: requests began late by {told.lag_p99_ms:.0f} ms at p99, so the load was not the one "
                "asked for; lower the rate, or look for what kept this process busy"
            )
        if told.warmup and told.warmup_failed == told.warmup:
            yield f"{label}: all {told.warmup} requests of the warm-up failed"


def _less_of(load: StoredLoad | None) -> str:
    """What to do about a process that has too much to do; a load of a shape cannot be shared by several."""
    if load is None:
        return "add --workers auto, or lower --request-concurrency"
    if load.schedule:
        return "replay a schedule with fewer requests a second"
    return "lower --request-rate" if load.request_rate else "lower --request-concurrency"


def _loop_warnings(loop: StoredLoop, advice: str) -> Iterator[str]:
    """Where the run was more than this process could time truthfully."""
    if loop.p99_ms is not None and loop.p99_ms > STALL_NS / 1e6:
        yield (
            f"times are doubtful: the event loop was late by {loop.p99_ms:.0f} ms at p99 (rows under way in a stall "
            f"are flagged loop_lag); {advice}"
        )
    if loop.core_share is not None and loop.core_share > MAX_CORE_SHARE:
        yield (
            f"client-limited: sending used {loop.core_share:.0%} of a core, and above {MAX_CORE_SHARE:.0%} time stamps "
            f"come late; {advice}"
        )
