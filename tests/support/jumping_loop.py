"""An event loop whose clock jumps to the next timer when nothing else is left to do, so that sleeps take no time.

What waits for a timer (a server's sleep, a limit, a pause) goes by this clock alone. How long the computing between two
timers takes in truth does not enter it, and so no verdict depends on how busy the machine is.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")
# In truth, for what is on its way from one socket of this process to another.
_GRACE_S = 0.0002
# Each tick of the watch over the loop would be a jump of its own.
_TICK_S = 5.0


class _Patient(selectors.DefaultSelector):  # type: ignore[valid-type,misc]
    """Jumps instead of waiting."""

    jumped_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """What is ready; when nothing is, the clock is put forward by ``timeout``."""
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(min(timeout, _GRACE_S))
        if not ready:
            self.jumped_s += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """Its clock stands still but for jumps."""

    def __init__(self) -> None:
        self._patient = _Patient()
        super().__init__(self._patient)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._patient.jumped_s


def run_jumping(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a loop of its own, by whose clock limits are counted as well."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        loop = runner.get_loop()
        with (
            patch("time.perf_counter_ns", lambda: int(loop.time() * 1e9)),
            patch("vendor_verifier.run.lag.TICK_S", _TICK_S),
        ):
            return runner.run(coroutine)
