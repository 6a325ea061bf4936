"""The stretches in which this process did not listen, so that each request can be told how late we were; no timer here.

A byte that arrives in such a stretch is stamped at its end at the earliest. ``perf_counter_ns`` goes on while a process
is stopped (Ctrl-Z) and stands still while the machine sleeps, so sleep is noted beside it.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

# Two clocks are not read at one moment; no machine sleeps for less than that.
_LEAST_SLEEP_NS = 100_000_000
# What is older is kept only where nothing later was as long: requests end, and then ask for what is recent.
_RECENT_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Stall:
    """One stretch, ``perf_counter_ns``; ``asleep_ns`` of sleep fell into it that this clock does not count."""

    begin_ns: int
    end_ns: int
    asleep_ns: int = 0

    @property
    def length_ns(self) -> int:
        """Awake and asleep."""
        return self.end_ns - self.begin_ns + self.asleep_ns

    def within(self, begin_ns: int, end_ns: int) -> int:
        """How much of it lies between two moments; 0 where it does not touch them."""
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
        found = (each.within(begin_ns, end_ns) for kept in (self._recent, self._peaks) for each in kept)
        return max(found, default=0)


def slept_ns() -> int:
    """How long this machine has slept since it was started, as far as its clocks tell; else 0."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if hasattr(time, "CLOCK_UPTIME_RAW"):  # macOS, whose monotonic clock goes on in sleep
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - time.clock_gettime_ns(time.CLOCK_UPTIME_RAW)
    return 0


def slept_since(before_ns: int) -> int:
    """How long this machine has slept since :func:`slept_ns` gave ``before_ns``."""
    since_ns = slept_ns() - before_ns
    return since_ns if since_ns >= _LEAST_SLEEP_NS else 0
