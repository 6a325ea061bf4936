"""Watches how late the event loop is, so that a run can say where its clock was not to be trusted; corrects nothing.

A timer is due every ``TICK_S``; how late it goes off is how late a byte that arrived meanwhile may have been stamped.
What is kept is a histogram of fixed size and the few stalls that a request under way may have met (:class:`Stalls`),
whatever the length of the run.
"""

from __future__ import annotations

import gc
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

# Two clocks are not read at one moment; no machine sleeps for less than that.
_LEAST_SLEEP_NS = 100_000_000
# What is older is kept only where nothing later was as long: requests end, and then ask for what is recent.
_RECENT_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Stall:
    """One stretch of a held-up loop, ``perf_counter_ns``; ``asleep_ns`` of sleep in it is not counted by that clock."""

    begin_ns: int
    end_ns: int
    asleep_ns: int = 0

    @property
    def length_ns(self) -> int:
        """Nanoseconds awake and asleep."""
        return self.end_ns - self.begin_ns + self.asleep_ns

    def within(self, begin_ns: int, end_ns: int) -> int:
        """Nanoseconds of it between two moments; 0 where it does not touch them."""
        overlap_ns = min(self.end_ns, end_ns) - max(self.begin_ns, begin_ns)
        return overlap_ns + self.asleep_ns if overlap_ns >= 0 else 0


class Stalls:
    """Stretches in the order in which they ended: all recent ones, of older ones those that no later one exceeds."""

    def __init__(self) -> None:
        self._recent: deque[Stall] = deque()
        self._peaks: list[Stall] = []

    def add(self, stall: Stall) -> None:
        """Note a stretch that has just ended."""
        while self._recent and self._recent[0].end_ns < stall.begin_ns - _RECENT_NS:
            older = self._recent.popleft()
            while self._peaks and self._peaks[-1].length_ns <= older.length_ns:
                self._peaks.pop()
            self._peaks.append(older)
        self._recent.append(stall)

    def longest_ns(self, begin_ns: int, end_ns: int) -> int:
        """The most that one stretch covers between two moments."""
        longest_ns = 0
        # The newest first: whatever ended before the beginning has only older ones behind it.
        for each in chain(reversed(self._recent), reversed(self._peaks)):
            if each.end_ns < begin_ns:
                break
            longest_ns = max(longest_ns, each.within(begin_ns, end_ns))
        return longest_ns


def slept_ns() -> int:
    """Nanoseconds this machine has slept since it was started, as far as its clocks tell; else 0."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if hasattr(time, "CLOCK_UPTIME_RAW"):  # macOS, whose monotonic clock goes on in sleep
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - time.clock_gettime_ns(time.CLOCK_UPTIME_RAW)
    return 0


def slept_since(before_ns: int) -> int:
    """Nanoseconds this machine has slept since :func:`slept_ns` returned ``before_ns``."""
    since_ns = slept_ns() - before_ns
    return since_ns if since_ns >= _LEAST_SLEEP_NS else 0


TICK_S = 0.02
# A stall that spoils the numbers of every request under way.
STALL_NS = 50_000_000
# The share of a core above which every client's time stamps go wrong.
MAX_CORE_SHARE = 0.7
# A shorter watch says nothing about either.
MIN_WATCH_S = 2.0
# Buckets of 5 % from 0.01 ms up to about 3 minutes; a percentile is exact to within that.
_FIRST_NS = 10_000
_STEP = math.log(1.05)
_BUCKETS = 343


@dataclass(frozen=True, slots=True)
class LoopReport:
    """The lag found by one watch, to within 5 %. ``core_share`` is CPU ÷ wall seconds of this process.

    ``None`` in place of a number: watched for less than ``MIN_WATCH_S``.
    """

    watched_s: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    core_share: float | None = None
    stalls: int = 0


class LoopLag:
    """Measures the lag of the running loop while it is entered; before and after it reports none.

    ``told`` is called with the nanoseconds by which each of its timers was late.
    """

    def __init__(self, told: Callable[[int], None] | None = None) -> None:
        self._told = told
        self._counts = [0] * _BUCKETS
        self._stalls = 0
        self._most_ns = 0
        self._past = Stalls()
        self._due_ns = 0
        self._slept_ns = 0
        self._timer: asyncio.TimerHandle | None = None
        self._began_s = self._began_cpu_s = 0.0

    def __enter__(self) -> LoopLag:
        from asyncio import get_running_loop  # whoever only reads what was measured has no loop

        self._loop = get_running_loop()
        self._began_s, self._began_cpu_s = time.perf_counter(), time.process_time()
        self._again()
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
        past_ns, now_ns = self._past.longest_ns(begin_ns, end_ns), time.perf_counter_ns()
        if now_ns < self._due_ns:
            return past_ns
        # The timer itself may be waiting behind what held the loop up.
        waiting = Stall(self._due_ns, now_ns, slept_since(self._slept_ns))
        return max(waiting.within(begin_ns, end_ns), past_ns)

    def report(self) -> LoopReport:
        """The lag found so far."""
        watched_s = time.perf_counter() - self._began_s
        if watched_s < MIN_WATCH_S or not any(self._counts):
            return LoopReport(watched_s, stalls=self._stalls)
        return LoopReport(
            watched_s=watched_s,
            p50_ms=self._percentile(0.50),
            p99_ms=self._percentile(0.99),
            max_ms=self._most_ns / 1e6,
            core_share=(time.process_time() - self._began_cpu_s) / watched_s,
            stalls=self._stalls,
        )

    def _again(self) -> None:
        self._due_ns, self._slept_ns = time.perf_counter_ns() + int(TICK_S * 1e9), slept_ns()
        self._timer = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        stall = Stall(self._due_ns, time.perf_counter_ns(), slept_since(self._slept_ns))
        self._past.add(stall)
        self._count(stall.length_ns)
        if self._told is not None:
            self._told(stall.length_ns)
        self._again()

    def _count(self, late_ns: int) -> None:
        bucket = 0 if late_ns <= _FIRST_NS else int(math.log(late_ns / _FIRST_NS) / _STEP) + 1
        self._counts[min(bucket, _BUCKETS - 1)] += 1
        self._most_ns = max(self._most_ns, late_ns)
        if late_ns > STALL_NS:
            self._stalls += 1

    def _percentile(self, share: float) -> float:
        """The upper bound, in ms, of the bucket that holds the percentile."""
        wanted = math.ceil(share * sum(self._counts))
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if seen >= wanted:
                return min(_FIRST_NS * math.exp(_STEP * bucket), max(self._most_ns, 0)) / 1e6
        return self._most_ns / 1e6


# Objects more than were let go of before the youngest are walked, and so many such walks before the others are.
_THRESHOLDS = (500_000, 50, 100)


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keeps the garbage collector from walking samples and plan while streams are timed, which takes tens of ms a time.

    What exists now is frozen, garbage and all, because collecting it first is that very walk. A run makes few cycles;
    the pieces of all streams under way are no reason for a walk, which at 50,000 objects took 20 ms and more.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
