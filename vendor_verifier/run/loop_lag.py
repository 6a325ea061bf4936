"""Watches how late the event loop is, so that a run can say where its clock was not to be trusted; corrects nothing.

A timer is due every ``TICK_S``; how late it goes off is how late a byte that arrived meanwhile may have been stamped.
What is kept is a histogram of fixed size and the few stalls that a request under way may have met
(:mod:`vendor_verifier.run.stalls`), whatever the length of the run.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass

from vendor_verifier.run.stalls import Stall, Stalls, slept_ns, slept_since

TICK_S = 0.02
# A stall that spoils the numbers of every request under way.
STALL_NS = 50_000_000
# The share of a core above which every client's time stamps go wrong.
MAX_CORE_SHARE = 0.7
# A shorter watch says nothing about either.
MIN_WATCH_S = 2.0
# Buckets of 5 % from 0.01 ms up to about 3 minutes; a percentile is told to within that.
_FIRST_NS = 10_000
_STEP = math.log(1.05)
_BUCKETS = 343


@dataclass(frozen=True, slots=True)
class LoopReport:
    """What one sitting's watch found. ``core_share`` is CPU ÷ wall seconds of this process; lags to within 5 %.

    ``None`` in place of a number: watched for less than ``MIN_WATCH_S``.
    """

    watched_s: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    core_share: float | None = None
    stalls: int = 0


class LoopLag:
    """Use as a context manager inside a running loop; before and after it never finds anything."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self._stalls = 0
        self._most_ns = 0
        self._held_up = Stalls()
        self._due_ns = 0
        self._slept_ns = 0
        self._timer: asyncio.TimerHandle | None = None
        self._began_s = self._began_cpu_s = 0.0

    def __enter__(self) -> LoopLag:
        self._loop = asyncio.get_running_loop()
        self._began_s, self._began_cpu_s = time.perf_counter(), time.process_time()
        self._again()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def lateness_ns(self, begin_ns: int, end_ns: int) -> int | None:
        """How late a byte that came between two moments (``perf_counter_ns``) may have been stamped, at most.

        ``None`` while nothing is watched.
        """
        if self._timer is None:
            return None
        # The timer itself may be waiting behind what held the loop up.
        waiting = Stall(self._due_ns, time.perf_counter_ns(), slept_since(self._slept_ns))
        return max(waiting.within(begin_ns, end_ns), self._held_up.longest_ns(begin_ns, end_ns))

    def report(self) -> LoopReport:
        """What was found so far."""
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
        self._held_up.add(stall)
        self._heard(stall.length_ns)
        self._again()

    def _heard(self, late_ns: int) -> None:
        bucket = 0 if late_ns <= _FIRST_NS else int(math.log(late_ns / _FIRST_NS) / _STEP) + 1
        self._counts[min(bucket, _BUCKETS - 1)] += 1
        self._most_ns = max(self._most_ns, late_ns)
        if late_ns > STALL_NS:
            self._stalls += 1

    def _percentile(self, share: float) -> float:
        """The upper bound of the bucket it falls into, ms."""
        wanted = math.ceil(share * sum(self._counts))
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if seen >= wanted:
                return min(_FIRST_NS * math.exp(_STEP * bucket), max(self._most_ns, 0)) / 1e6
        return self._most_ns / 1e6
