"""The event loop of a run: requests to end it from outside, and how late it is.

An end is asked for by a signal, or by the caller of a run in another thread (:class:`StopRequest`): the first asks for
no new requests and leaves a grace period to those in flight, the second ends at once. A timer is due every ``TICK_S``;
how late it goes off is how late a byte that arrived meanwhile may have been stamped. That corrects nothing.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeVar

import anyio

from vendor_verifier.errors import UsageError, VerifierError
from vendor_verifier.records.manifest import LoopReport

Result = TypeVar("Result")

GRACE_S = 5.0
_LOOK_S = 0.05


@dataclass(slots=True)
class StopRequest:
    """Ends a run that goes on in another thread as Ctrl-C would: ``ask`` once to end in order, twice to end at once."""

    asked: int = 0

    def ask(self) -> None:
        """From any thread, also before the run listens."""
        self.asked += 1

    async def heard(self) -> AsyncIterator[int]:
        """The requests as signal numbers; those made before come first."""
        heard = 0
        while True:
            while heard == self.asked:
                await anyio.sleep(_LOOK_S)
            heard += 1
            yield signal.SIGINT


# Set around a run that is not to handle signals itself; it comes along into the event loops that the run starts.
STOP_REQUEST: ContextVar[StopRequest | None] = ContextVar("stop_request", default=None)


@dataclass(slots=True)
class Interruption:
    """The signal that asked for the end, None while nothing did."""

    signal_number: int | None = None


@asynccontextmanager
async def interruptible(close: Callable[[], None], grace_s: float | None = None) -> AsyncIterator[Interruption]:
    """Run the body; on the first request ``close()`` is called and a grace period begins, a second one ends it.

    ``grace_s``: seconds other than the usual ones.
    """
    interruption, stop = Interruption(), STOP_REQUEST.get()
    with anyio.CancelScope() as body:

        async def watch() -> None:
            with _signals() if stop is None else nullcontext(stop.heard()) as requests:
                async for number in requests:
                    if interruption.signal_number is not None:
                        body.cancel()
                        return
                    interruption.signal_number = int(number)
                    close()
                    body.deadline = anyio.current_time() + (GRACE_S if grace_s is None else grace_s)

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            yield interruption
            group.cancel_scope.cancel()


def ensure_interruptible() -> None:
    """Check that a run can be ended from outside: without that Ctrl-C would lose what is in flight.

    Raises:
        UsageError: this thread or this platform cannot handle signals, and no :class:`StopRequest` is set.
    """
    if STOP_REQUEST.get() is not None:
        return
    if sys.platform == "win32":
        raise UsageError(
            "Windows cannot handle signals in an event loop, and a run needs them to end without losing answers; use "
            "WSL or a container"
        )
    if threading.current_thread() is not threading.main_thread():
        raise UsageError(
            "signals can be handled only in the main thread, and a run needs them to end without losing answers; "
            "start it there, by verify() or averify(), or as a process of its own"
        )


@contextmanager
def _signals() -> Iterator[AsyncIterator[int]]:
    """The signals as they come; afterwards they are handled as before. The loop alone would leave them as Python starts
    with them: a SIGTERM after the run would end this process at once and leave alone what it started."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    # A closed terminal ends a run too, unless it was started with ``nohup``.
    ending = [each for each, handler in before.items() if each != signal.SIGHUP or handler is not signal.SIG_IGN]
    try:
        with anyio.open_signal_receiver(*ending) as signals:
            yield signals
    finally:
        for number in ending:
            # None: set by what is not Python, which cannot be set again from here.
            if before[number] is not None:
                signal.signal(number, before[number])


def run_to_end(sending: Callable[[], Awaitable[Result]]) -> Result:
    """The result of ``sending``; of several errors at once the first one is raised, one of ours before others."""
    try:
        return anyio.run(sending, backend_options={"use_uvloop": find_spec("uvloop") is not None})
    except BaseExceptionGroup as group:
        first: BaseException = group.subgroup(VerifierError) or group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


TICK_S = 0.02
# A shorter measurement says nothing.
MIN_WATCH_S = 2.0
# Half an hour of timers.
_KEPT = 100_000
# A timer that is less late distorts no time.
_LEAST_NS = 1_000_000


class LoopLag:
    """Measures the lag of the running loop while it is entered."""

    def __init__(self) -> None:
        self._late_ns: deque[int] = deque(maxlen=_KEPT)
        self._max_ns = 0
        # (begin, end), ns, in the order in which they ended.
        self._stalls: deque[tuple[int, int]] = deque(maxlen=_KEPT)
        self._due_ns = 0
        self._timer: asyncio.TimerHandle | None = None
        self._began_s = self._began_cpu_s = 0.0

    def __enter__(self) -> LoopLag:
        self._began_s, self._began_cpu_s = time.perf_counter(), time.process_time()
        self._set()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def lateness_ns(self, begin_ns: int, end_ns: int) -> int | None:
        """The most by which a byte that came between two moments (``perf_counter_ns``) may have been stamped late.

        ``None`` while nothing is watched.
        """
        if self._timer is None:
            return None
        # The timer itself may be waiting behind what held the loop up.
        longest_ns = max(0, min(time.perf_counter_ns(), end_ns) - max(self._due_ns, begin_ns))
        for stall_begin_ns, stall_end_ns in reversed(self._stalls):
            if stall_end_ns < begin_ns:
                break
            longest_ns = max(longest_ns, min(stall_end_ns, end_ns) - max(stall_begin_ns, begin_ns))
        return longest_ns

    def note(self, begin_ns: int, end_ns: int) -> None:
        """Note a timer that was due at ``begin_ns`` and went off at ``end_ns``."""
        late_ns = end_ns - begin_ns
        self._late_ns.append(late_ns)
        self._max_ns = max(self._max_ns, late_ns)
        if late_ns >= _LEAST_NS:
            self._stalls.append((begin_ns, end_ns))

    def report(self) -> LoopReport:
        """The lag found so far."""
        watched_s = time.perf_counter() - self._began_s
        if watched_s < MIN_WATCH_S or not self._late_ns:
            return LoopReport()
        p99_ms = sorted(self._late_ns)[int(0.99 * (len(self._late_ns) - 1))] / 1e6
        core_share = (time.process_time() - self._began_cpu_s) / watched_s
        return LoopReport(p99_ms, self._max_ns / 1e6, core_share)

    def _set(self) -> None:
        self._due_ns = time.perf_counter_ns() + int(TICK_S * 1e9)
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self.note(self._due_ns, max(self._due_ns, time.perf_counter_ns()))
        self._set()


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keeps the garbage collector from walking samples and plan while streams are timed, which takes tens of ms a time.

    What exists now is frozen, garbage and all, because collecting it first is that very walk. A run makes few cycles.
    """
    before = gc.get_threshold()
    gc.freeze()
    # Objects more than were let go of before the youngest are walked, and this many such walks before the others are.
    gc.set_threshold(500_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
