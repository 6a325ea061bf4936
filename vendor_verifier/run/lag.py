"""Watches how late the event loop is, so that a run can say where its clock was not to be trusted; corrects nothing.

A timer is due every ``TICK_S``; how late it goes off is how late a byte that arrived meanwhile may have been stamped.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

TICK_S = 0.02
# A stall that spoils the numbers of every request under way.
STALL_NS = 50_000_000
# The share of a core above which every client's time stamps go wrong.
MAX_CORE_SHARE = 0.7
# A shorter watch says nothing about either.
MIN_WATCH_S = 2.0
# Of older stalls only those are kept that no later one exceeds: requests end, and then ask for what is recent.
_RECENT_NS = 2_000_000_000
# Percentiles are of the last half hour.
_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class LoopReport:
    """The lag found by one watch. ``core_share`` is CPU ÷ wall seconds of this process.

    ``None`` in place of a number: watched for less than ``MIN_WATCH_S``.
    """

    watched_s: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    core_share: float | None = None
    stalls: int = 0


class LoopLag:
    """Measures the lag of the running loop while it is entered."""

    def __init__(self) -> None:
        self._late_ms: deque[float] = deque(maxlen=_KEPT)
        self._max_ms = 0.0
        self._stalls = 0
        # (begin, end), ns, in the order in which they ended.
        self._recent: deque[tuple[int, int]] = deque()
        self._peaks: list[tuple[int, int]] = []
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
        # The newest first: whatever ended before the beginning has only older ones behind it.
        for stall_begin_ns, stall_end_ns in chain(reversed(self._recent), reversed(self._peaks)):
            if stall_end_ns < begin_ns:
                break
            longest_ns = max(longest_ns, min(stall_end_ns, end_ns) - max(stall_begin_ns, begin_ns))
        return longest_ns

    def note(self, begin_ns: int, end_ns: int) -> None:
        """Note a timer that was due at ``begin_ns`` and went off at ``end_ns``."""
        while self._recent and self._recent[0][1] < begin_ns - _RECENT_NS:
            older = self._recent.popleft()
            while self._peaks and self._peaks[-1][1] - self._peaks[-1][0] <= older[1] - older[0]:
                self._peaks.pop()
            self._peaks.append(older)
        self._recent.append((begin_ns, end_ns))
        late_ms = (end_ns - begin_ns) / 1e6
        self._late_ms.append(late_ms)
        self._max_ms = max(self._max_ms, late_ms)
        self._stalls += end_ns - begin_ns > STALL_NS

    def report(self) -> LoopReport:
        """The lag found so far."""
        watched_s = time.perf_counter() - self._began_s
        if watched_s < MIN_WATCH_S or not self._late_ms:
            return LoopReport(watched_s, stalls=self._stalls)
        late_ms = sorted(self._late_ms)
        p50_ms, p99_ms = (late_ms[int(share * (len(late_ms) - 1))] for share in (0.5, 0.99))
        core_share = (time.process_time() - self._began_cpu_s) / watched_s
        return LoopReport(watched_s, p50_ms, p99_ms, self._max_ms, core_share, self._stalls)

    def _set(self) -> None:
        self._due_ns = time.perf_counter_ns() + int(TICK_S * 1e9)
        self._timer = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self.note(self._due_ns, max(self._due_ns, time.perf_counter_ns()))
        self._set()


# Objects more than were let go of before the youngest are walked, and so many such walks before the others are.
_THRESHOLDS = (500_000, 50, 100)


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keeps the garbage collector from walking samples and plan while streams are timed, which takes tens of ms a time.

    What exists now is frozen, garbage and all, because collecting it first is that very walk. A run makes few cycles.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
