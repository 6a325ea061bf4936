"""Watches how late the event loop is, so that a run can say where its clock was not to be trusted; corrects nothing.

A timer is due every ``TICK_S``; how late it goes off is how late a byte that arrived meanwhile may have been stamped.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vendor_verifier.records.manifest import LoopReport

if TYPE_CHECKING:
    import asyncio

TICK_S = 0.02
# A stall that spoils the numbers of every request under way.
STALL_NS = 50_000_000
# The share of a core above which every client's time stamps go wrong.
MAX_CORE_SHARE = 0.7
# A shorter watch says nothing about either.
MIN_WATCH_S = 2.0
# Half an hour of timers.
_KEPT = 100_000
# A timer that is less late spoils no time.
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
        from asyncio import get_running_loop  # whoever only reads what was measured has no loop

        self._loop = get_running_loop()
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
        self._timer = self._loop.call_later(TICK_S, self._tick)

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
