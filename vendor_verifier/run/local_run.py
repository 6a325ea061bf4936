"""Runs a plan in this process: has every entry asked, emits records, and ends on a signal after a grace period."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from vendor_verifier.records.plan import Plan
from vendor_verifier.records.tool_use import ToolRunner
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.budgets import CostOf, Spending
from vendor_verifier.run.conversation import Conversation
from vendor_verifier.run.engine import Emit, Engine, VendorSlots
from vendor_verifier.run.event_loop_lag import LoopLag, LoopReport
from vendor_verifier.run.interruption import interruptible
from vendor_verifier.run.load import Load, LoadReport, LocalPlayer
from vendor_verifier.run.rate_limiter import LocalLimiter
from vendor_verifier.run.work_queue import BLOCK, WorkQueue, streams_of
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.connect import ensure_descriptors


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: the signal that ended it, if any, and the stopped accounts with the reason.

    ``refused`` are entries stopped on their own, by (model, label), also where others of their account went on.
    ``limit`` is the spending limit that kept something from being sent. ``eased`` holds by account how many requests at
    a time were allowed, the fewest it came down to because the account limited our rate, and how many at the end.
    ``loop`` is the event loop's lag, where this process sent itself. ``load`` is by (model, label) the load that was
    offered, where it had a shape.
    """

    signal_number: int | None
    stopped: Mapping[str, str]
    limit: str | None = None
    eased: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    loop: LoopReport | None = None
    load: Mapping[tuple[str, str], LoadReport] | None = None
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)


async def run_local(
    plan: Plan,
    queue: WorkQueue,
    run: str,
    emit: Emit,
    scrubber: Scrubber,
    costs: Mapping[tuple[str, str], CostOf] | None = None,
    in_flight: Counter[tuple[str, str]] | None = None,
    tools: ToolRunner | None = None,
    spending: Spending | None = None,
) -> RunEnd:
    """Send what is left of ``queue``; ``tools`` runs the real tools that models call.

    A first SIGINT, SIGTERM or SIGHUP stops new requests and waits a little; a second ends at once.
    ``costs`` price an answer by (model, label); only a plan with ``max_cost_usd`` looks at them. ``in_flight`` is kept
    true by (model, label). ``spending`` counts in place of a count made here, for who looks at it meanwhile.

    Raises:
        UsageError: this machine does not let us open as many connections as the plan may need.
    """
    entries = plan.entries
    spending = spending or Spending(plan.max_requests, plan.max_cost_usd, costs or {})
    limiter = LocalLimiter(entries, plan.request_concurrency, spending, in_flight, gives_way=plan.load.gives_way)
    ensure_descriptors(limiter.places)
    slots = VendorSlots(plan.vendor_concurrency, len(entries))
    rng = random.Random(plan.seed)  # noqa: S311 spreads waits, keeps no secret
    shaped = Load(plan, emit, BLOCK) if plan.load.is_shaped else None
    load: Mapping[tuple[str, str], LoadReport] | None = None
    wires = {entry.wire for entry in entries}
    async with (
        open_client(plan.client, plan.limits, wires) as client,
        interruptible(limiter.close if shaped is None else shaped.closing(limiter.close)) as interruption,
    ):
        with LoopLag() as lag:
            conversation = Conversation(
                client,
                limiter,
                plan.retry,
                rng,
                scrubber,
                KeyRing(scrubber),
                lag=lag,
                streams=limiter.places,
                tools=tools,
            )
            if shaped is not None:
                load = await shaped.offer(queue, LocalPlayer(conversation, run), slots)
            else:
                await Engine(conversation, run, emit).ask(streams_of(queue, plan), slots)
    eased = {account: (backoff.given, backoff.lowest, backoff.now) for account, backoff in limiter.eased.items()}
    stopped, refused = dict(limiter.stopped), dict(limiter.refused)
    return RunEnd(interruption.signal_number, stopped, spending.reason, eased, lag.report(), load, refused)
