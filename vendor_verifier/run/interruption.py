"""The end that comes from outside: a signal, or the caller of a run that goes on in a thread.

The first asks for no new requests and leaves a grace period to those in flight, the second ends at once. Python hands
signals to the main thread alone: a run elsewhere (a notebook, a program's own loop) ends by a :class:`StopRequest`.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import anyio

from vendor_verifier.errors import UsageError

GRACE_S = 5.0


class StopRequest:
    """Ends a run that goes on in another thread as Ctrl-C would: ``ask`` once to end in order, twice to end at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._notify: Callable[[], None] | None = None

    def ask(self) -> None:
        """From any thread, also before the run listens."""
        with self._lock:
            self._asked += 1
            if self._notify is not None:
                self._notify()

    @contextmanager
    def heard(self) -> Iterator[AsyncIterator[int]]:
        """The requests as signal numbers, in the running event loop; those made before come first."""
        queue: asyncio.Queue[int] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        with self._lock:
            for _ in range(self._asked):
                queue.put_nowait(signal.SIGINT)
            self._notify = lambda: (loop.call_soon_threadsafe(queue.put_nowait, signal.SIGINT), None)[1]
        try:
            yield _taken(queue)
        finally:
            with self._lock:
                self._notify = None


async def _taken(queue: asyncio.Queue[int]) -> AsyncIterator[int]:
    while True:
        yield await queue.get()


# Set around a run that is not to handle signals itself; it comes along into the event loops that the run starts.
STOP_REQUEST: ContextVar[StopRequest | None] = ContextVar("stop_request", default=None)


@dataclass(slots=True)
class Interruption:
    """The signal that asked for the end, None while nothing did."""

    signal_number: int | None = None


@asynccontextmanager
async def interruptible(close: Callable[[], None], grace_s: float = GRACE_S) -> AsyncIterator[Interruption]:
    """Run the body; on the first request ``close()`` is called and a grace period begins, a second one ends it."""
    interruption = Interruption()
    with anyio.CancelScope() as body:
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, interruption, close, body, grace_s)
            yield interruption
            group.cancel_scope.cancel()


async def _watch(
    interruption: Interruption, close: Callable[[], None], body: anyio.CancelScope, grace_s: float
) -> None:
    stop = STOP_REQUEST.get()
    with _signals(*_ending_signals()) if stop is None else stop.heard() as requests:
        async for number in requests:
            if interruption.signal_number is not None:
                body.cancel()
                return
            interruption.signal_number = int(number)
            close()
            body.deadline = anyio.current_time() + grace_s


def _ending_signals() -> list[signal.Signals]:
    """The signals that end a run: a closed terminal too, unless it was started with ``nohup``."""
    ending = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ending.append(signal.SIGHUP)
    return ending


def ensure_interruptible() -> None:
    """Check that a run can be ended from outside: without that Ctrl-C would lose what is in flight.

    Raises:
        UsageError: this thread or this platform cannot handle signals, and no :class:`StopRequest` is set.
    """
    if STOP_REQUEST.get() is not None:
        return
    try:
        anyio.run(_receive_none)
    except (NotImplementedError, ValueError, RuntimeError) as error:
        if threading.current_thread() is not threading.main_thread():
            raise UsageError(
                "signals can be handled in the main thread alone, and a run needs them to end without losing answers; "
                "start it there, by verify() or averify(), or as a process of its own"
            ) from None
        raise UsageError(
            f"this platform ({sys.platform}) cannot handle signals in an event loop ({type(error).__name__}), and a "
            "run needs them to end without losing answers; use Linux or macOS, on Windows WSL or a container"
        ) from None


async def _receive_none() -> None:
    with _signals(signal.SIGINT, signal.SIGTERM):
        pass


@contextmanager
def _signals(*numbers: signal.Signals) -> Iterator[AsyncIterator[int]]:
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
