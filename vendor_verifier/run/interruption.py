"""The end that comes from outside: a signal, or the caller of a run in another thread, by a :class:`StopRequest`.

The first asks for no new requests and leaves a grace period to those in flight, the second ends at once.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeVar

import anyio

from vendor_verifier.errors import UsageError, VerifierError

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
            "signals can be handled in the main thread alone, and a run needs them to end without losing answers; "
            "start it there, by verify() or averify(), or as a process of its own"
        )


@contextmanager
def _signals() -> Iterator[AsyncIterator[int]]:
    """The signals as they come; afterwards they are handled as before.

    The loop alone would leave them as Python starts with them: a SIGTERM after the run, or before the next one, would
    end this process at once and leave alone what it started.
    """
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
