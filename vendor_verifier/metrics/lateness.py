"""Our own lateness in reading an answer, and the rule by which it spoils a measured time.

A time is spoilt when our lateness exceeds the larger of ``LEAST_NS`` and ``SHARE`` of it: a reading of 30 s from a
process that stood still for 30 s says nothing, one that may be 4 ms late says enough. A speed is spoilt when the time
that it divides by is.
"""

from __future__ import annotations

import math

from vendor_verifier.values.record import Attempt

# The anomaly of an answer that met a long stall: the only trace of lateness in records from before it was stored.
LOOP_LAG = "loop_lag"
LEAST_NS = 5_000_000
SHARE = 0.05
# Long answers meet our stalls most, so that with more than this share spoilt the rows left would flatter a vendor.
MOST_SPOILT = 0.2


def lateness_ns(attempt: Attempt) -> float:
    """Our lateness in ns: 0 where it was not watched, infinite where an old record only states that we stalled."""
    timing, response = attempt.timing, attempt.response
    if timing is not None and timing.our_lateness_ns is not None:
        return timing.our_lateness_ns
    return math.inf if response is not None and LOOP_LAG in response.anomalies else 0


def is_spoilt(late_ns: float, time_ns: float) -> bool:
    """Whether a time read this late is unusable."""
    return late_ns > max(LEAST_NS, SHARE * time_ns)


def too_many_spoilt(spoilt: int, measured: int) -> bool:
    """Whether so many rows were spoilt that the ``measured`` ones left are not to be summed up."""
    return spoilt > MOST_SPOILT * (spoilt + measured)
