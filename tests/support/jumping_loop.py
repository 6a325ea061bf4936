"""An event loop whose clock jumps to the next timer when nothing else is left to do, so that sleeps take no time.

What waits for a timer (a server's sleep, a limit, a pause) goes by this clock alone. How long the computing between two
timers takes in truth does not enter it, and so no verdict depends on how busy the machine is.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from unittest.mock import patch

from fault_server import FaultServer, Script, Seen

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
    """Its clock moves by jumps only."""

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


class SleepingServer(FaultServer):
    """``answer(seen)`` gives (seconds to sleep, bytes to send then), or None to send nothing ever."""

    def __init__(self, answer: Callable[[Seen], tuple[float, bytes] | None]) -> None:
        super().__init__(self._script)
        self._sleeps = answer
        self._asked: Counter[tuple[str, str]] = Counter()

    def _script(self, seen: Seen) -> Script:
        question = (seen.vendor, asked_in(seen))
        seen.nth = self._asked[question]
        self._asked[question] += 1
        step = self._sleeps(seen)
        return Script([step], "keep") if step else Script((), "hang")

    def took_ns(self, vendor: str) -> float:
        """From the vendor's first request to the end of its last."""
        visits = self.by_vendor(vendor)
        return max(seen.went_ns for seen in visits) - visits[0].at_ns

    def mean_in_flight(self, *vendors: str, end_ns: float = math.inf) -> float:
        """Mean number of requests here, from the vendors' first request until the last sample has been sent once."""
        visits = [seen for seen in self.seen if seen.vendor in vendors]
        begin, end = visits[0].at_ns, min(end_ns, max(seen.at_ns for seen in visits if seen.nth == 0))
        return sum(min(seen.went_ns, end) - min(seen.at_ns, end) for seen in visits) / (end - begin)


def asked_in(seen: Seen) -> str:
    """The question of a request."""
    return str(seen.body["messages"][0]["content"])
