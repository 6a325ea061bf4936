"""Runs a plan in this process: has every entry asked, emits records, and ends on a signal after a grace period."""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio

from vendor_verifier.errors import UsageError
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.budgets import CostOf, Spending
from vendor_verifier.run.cluster.job import Job
from vendor_verifier.run.conversation import Conversation
from vendor_verifier.run.engine import Emit, Engine, VendorSlots
from vendor_verifier.run.event_loop_lag import LoopLag, LoopReport
from vendor_verifier.run.load import Load, LoadReport
from vendor_verifier.run.rate_limiter import LocalLimiter
from vendor_verifier.run.work_queue import BLOCK, WorkQueue, streams_of
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.connect import ensure_descriptors
from vendor_verifier.values.plan import Plan
from vendor_verifier.values.record import Record

_GRACE_S = 5.0


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
    limiter: LocalLimiter | None = None,
    in_flight: Counter[tuple[str, str]] | None = None,
) -> RunEnd:
    """Send what is left of ``queue``.

    A first SIGINT, SIGTERM or SIGHUP stops new requests and waits a little; a second ends at once.
    ``costs`` price an answer by (model, label); only a plan with ``max_cost_usd`` looks at them. ``in_flight`` is kept
    true by (model, label). A caller that brings its own ``limiter`` keeps the books itself: the plan's spending limits,
    ``in_flight`` and ``RunEnd.limit`` are then of no effect.

    Raises:
        UsageError: this machine does not let us open as many connections as the plan may need.
    """
    entries = plan.entries
    spending = Spending(plan.max_requests, plan.max_cost_usd, costs or {})
    if limiter is None:
        limiter = LocalLimiter(entries, plan.request_concurrency, spending, in_flight, gives_way=not plan.load.is_open)
    ensure_descriptors(limiter.places)
    slots = VendorSlots(plan.vendor_concurrency, len(entries))
    rng = random.Random(plan.seed)  # noqa: S311 spreads waits, keeps no secret
    shaped = Load(plan, run, emit, BLOCK) if plan.load.is_shaped else None
    load: Mapping[tuple[str, str], LoadReport] | None = None
    wires = {entry.wire for entry in entries}
    async with (
        open_client(plan.client, plan.limits, wires, plan.transport) as client,
        interruptible(limiter.close if shaped is None else shaped.closing(limiter.close)) as interruption,
    ):
        with LoopLag() as lag:
            conversation = Conversation(client, limiter, plan.retry, rng, scrubber, KeyRing(scrubber), lag=lag)
            if shaped is not None:
                load = await shaped.offer(queue, conversation, slots)
            else:
                await Engine(conversation, run, emit).ask(streams_of(queue, plan), slots)
    eased = {account: (backoff.given, backoff.lowest, backoff.now) for account, backoff in limiter.eased.items()}
    stopped, refused = dict(limiter.stopped), dict(limiter.refused)
    return RunEnd(interruption.signal_number, stopped, spending.reason, eased, lag.report(), load, refused)


@dataclass(slots=True)
class _Interruption:
    signal_number: int | None = None


@asynccontextmanager
async def interruptible(close: Callable[[], None]) -> AsyncIterator[_Interruption]:
    """Run the body under signal handling; on the first signal ``close()`` and a grace period, on the second the end."""
    interruption = _Interruption()
    with anyio.CancelScope() as body:
        async with anyio.create_task_group() as group:
            group.start_soon(_watch_signals, interruption, close, body)
            yield interruption
            group.cancel_scope.cancel()


def _ending_signals() -> list[signal.Signals]:
    """The signals that end a run: a closed terminal too, unless it was started with ``nohup``."""
    ending = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ending.append(signal.SIGHUP)
    return ending


async def _watch_signals(interruption: _Interruption, close: Callable[[], None], body: anyio.CancelScope) -> None:
    with _signals(*_ending_signals()) as signals:
        async for number in signals:
            if interruption.signal_number is not None:
                body.cancel()
                return
            interruption.signal_number = int(number)
            close()
            body.deadline = anyio.current_time() + _GRACE_S


def ensure_signals() -> None:
    """Check that signals can be handled here: without that Ctrl-C would lose what is in flight.

    Raises:
        UsageError: this thread or this platform cannot; the message says which, and where it can be done.
    """
    try:
        anyio.run(_receive_none)
    except (NotImplementedError, ValueError, RuntimeError) as error:
        if threading.current_thread() is not threading.main_thread():
            raise UsageError(
                "signals can be handled in the main thread alone, and a run needs them to end without losing answers; "
                "start it there, or run the command agent-vendor-verifier as a process of its own"
            ) from None
        raise UsageError(
            f"this platform ({sys.platform}) cannot handle signals in an event loop ({type(error).__name__}), and a "
            "run needs them to end without losing answers; use Linux or macOS, on Windows WSL or a container"
        ) from None


async def _receive_none() -> None:
    with _signals(signal.SIGINT, signal.SIGTERM):
        pass


@contextmanager
def _signals(*numbers: signal.Signals) -> Iterator[AsyncIterator[signal.Signals]]:
    """The signals as they come; afterwards they are handled as before.

    The loop alone would leave them as Python starts with them: a SIGTERM after the run, or before the next one, would
    end this process at once and leave alone what it started.
    """
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        with anyio.open_signal_receiver(*numbers) as signals:
            yield signals
    finally:
        for number, handler in before.items():
            # None: set by what is not Python, which cannot be set again from here.
            if handler is not None:
                signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class Work:
    """One execution of a run, as every executor gets it.

    ``emit`` keeps records, ``emit_duplicate`` those that came a second time. ``in_flight`` is where requests in flight
    are counted, by (model, label), by an executor that gives permits here.
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
