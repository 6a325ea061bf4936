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
from vendor_verifier.words import english


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
        if (entry.model, entry.label) not in costs and not entry.endpoint.base_url.startswith("sim://")
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
        yield english("warn_ended", limit=manifest["limit"])
    for label, reason in manifest.get("stopped", {}).items():
        yield english("warn_stopped", label=label, reason=reason)
    for label, places in manifest.get("concurrency_lowered", {}).items():
        yield english("warn_slowed", label=label, **{name: places[name] for name in ("given", "lowest", "last")})
    yield from _loss_warnings(manifest.get("executors") or ())
    yield from _load_warnings(manifest.get("load") or {})
    yield from _loop_warnings(manifest.get("event_loop") or {}, _less_of((manifest.get("settings") or {}).get("load")))
    if manifest.get("redacted"):
        yield english("warn_redacted")


def _load_warnings(load: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Where the load was not the one that was asked for, and what was thrown away for nothing."""
    for label, told in load.items():
        if told["held_back"]:
            yield english("warn_held_back", label=label, held=told["held_back"], cap=told["cap"])
        elif (told["lag_p99_ms"] or 0.0) > STALL_NS / 1e6:
            yield english("warn_began_late", label=label, ms=f"{told['lag_p99_ms']:.0f}")
        if told["warmup"] and told["warmup_failed"] == told["warmup"]:
            yield english("warn_warmup", label=label, count=told["warmup"])


def _loss_warnings(executors: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Which workers did not live to the end."""
    for executor in executors:
        for loss in executor.get("lost_sessions", ()):
            yield english("warn_worker", worker=loss["session"], reason=loss["reason"])


def _less_of(load: Mapping[str, Any] | None) -> str:
    """What to do about a process that has too much to do; a load of a shape cannot be shared by several."""
    if not load:
        return english("advice_workers")
    if load.get("schedule"):
        return english("advice_schedule")
    return english("advice_rate" if load.get("request_rate") else "advice_concurrency")


def _loop_warnings(loop: Mapping[str, Any], advice: str) -> Iterator[str]:
    """Where the run was more than this process could time truthfully."""
    p99_ms, core_share = loop.get("p99_ms"), loop.get("core_share")
    if p99_ms is not None and p99_ms > STALL_NS / 1e6:
        yield english("warn_loop", ms=f"{p99_ms:.0f}", advice=advice)
    if core_share is not None and core_share > MAX_CORE_SHARE:
        yield english("warn_core", share=f"{core_share:.0%}", most=f"{MAX_CORE_SHARE:.0%}", advice=advice)


def _words(reason: str, plan: Plan) -> str:
    return redacted_words(reason) if plan.redact_content else reason
