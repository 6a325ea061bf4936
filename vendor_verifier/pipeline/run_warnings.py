"""What ends a run early or slows it down, and how a report tells of it; the counting itself is the limiter's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from vendor_verifier.audit.cost import cost_usd
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.pipeline.prices import price_of
from vendor_verifier.redaction import redacted_words
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.run.event_loop_lag import MAX_CORE_SHARE, STALL_NS
from vendor_verifier.run.local_run import RunEnd
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


def ending(end: RunEnd, plan: Plan) -> dict[str, Any]:
    """The part of the manifest that is known when a sitting is over."""
    reasons = (
        (entry, end.refused.get((entry.model, entry.label)) or end.stopped.get(entry.account)) for entry in plan.entries
    )
    stopped = {f"{entry.model}: {entry.label}": _words(reason, plan) for entry, reason in reasons if reason is not None}
    eased = {
        f"{entry.model}: {entry.label}": dict(zip(("given", "lowest", "last"), end.eased[entry.account], strict=True))
        for entry in plan.entries
        if entry.account in end.eased
    }
    is_whole = end.signal_number is None and end.limit is None
    return {
        "status": "finished" if is_whole else "interrupted",
        "limit": end.limit,
        "stopped": stopped,
        "concurrency_lowered": eased,
        "event_loop": None if end.loop is None else asdict(end.loop),
        "load": {f"{model}: {label}": asdict(told) for (model, label), told in (end.load or {}).items()} or None,
    }


def ending_warnings(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What a reader of the report has to know of how the run went."""
    if manifest.get("limit"):
        yield f"the run was ended early: {manifest['limit']}"
    for label, reason in manifest.get("stopped", {}).items():
        yield f"{label} was stopped: {reason}"
    for label, places in manifest.get("concurrency_lowered", {}).items():
        yield (
            f"{label} limited our rate: requests at a time went from {places['given']} down to {places['lowest']} "
            f"({places['last']} at the end)"
        )
    yield from _loss_warnings(manifest.get("executors") or ())
    yield from _load_warnings(manifest.get("load") or {})
    yield from _loop_warnings(manifest.get("event_loop") or {}, _less_of((manifest.get("settings") or {}).get("load")))
    if manifest.get("redacted"):
        yield "content is left out: prompts, answers and what is expected are shown as digests"


def _load_warnings(load: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Where the load was not the one that was asked for, and what was thrown away for nothing."""
    for label, told in load.items():
        if told["held_back"]:
            yield (
                f"{label}: {told['held_back']} requests found {told['cap']} others under way when they were due and "
                "began late (--request-concurrency, else the files this system lets a process open); times from the "
                "schedule hold the wait, times from sending do not"
            )
        elif (told["lag_p99_ms"] or 0.0) > STALL_NS / 1e6:
            yield (
                f"{label}: requests began late by {told['lag_p99_ms']:.0f} ms at p99, so the load was not the one "
                "asked for; lower the rate, or look for what kept this process busy"
            )
        if told["warmup"] and told["warmup_failed"] == told["warmup"]:
            yield f"{label}: all {told['warmup']} requests of the warm-up failed"


def _loss_warnings(executors: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Which workers did not live to the end."""
    for executor in executors:
        for loss in executor.get("lost_sessions", ()):
            yield (
                f"worker {loss['session']} was lost ({loss['reason']}): what it had not handed in was asked again by "
                "others, as far as any were left"
            )


def _less_of(load: Mapping[str, Any] | None) -> str:
    """What to do about a process that has too much to do; a load of a shape cannot be shared by several."""
    if not load:
        return "add --workers auto, or lower --request-concurrency"
    if load.get("schedule"):
        return "replay a schedule with fewer requests a second"
    return "lower --request-rate" if load.get("request_rate") else "lower --request-concurrency"


def _loop_warnings(loop: Mapping[str, Any], advice: str) -> Iterator[str]:
    """Where the run was more than this process could time truthfully."""
    p99_ms, core_share = loop.get("p99_ms"), loop.get("core_share")
    if p99_ms is not None and p99_ms > STALL_NS / 1e6:
        yield (
            f"times are doubtful: the event loop was late by {p99_ms:.0f} ms at p99 (rows under way in a stall are "
            f"flagged loop_lag); {advice}"
        )
    if core_share is not None and core_share > MAX_CORE_SHARE:
        yield (
            f"client-limited: sending used {core_share:.0%} of a core, and above {MAX_CORE_SHARE:.0%} time stamps come "
            f"late; {advice}"
        )


def _words(reason: str, plan: Plan) -> str:
    return redacted_words(reason) if plan.redact_content else reason
