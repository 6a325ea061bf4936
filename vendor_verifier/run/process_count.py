"""The number of processes of this machine that send a run: as asked for, or as its requests in flight take.

One process stamps a few hundred streams at a time truthfully; beyond, its loop gets late. How many it can is measured
before sending (:mod:`vendor_verifier.run.calibration`), or taken as usual. A run whose vendors are all simulated times
nobody and stays with one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from vendor_verifier.run.rate_limiter import limits_of
from vendor_verifier.values.plan import Due, Plan, WorkersWish

# More of them take turns on a core; each has an interpreter of its own in memory.
MOST_PER_CORE = 16
# An answer of a model that reasons: what comes by the clock is in flight for so long.
ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Reckoning:
    """``processes`` that send; ``streams`` may be in flight at a time, of which one process times ``timed_streams``."""

    processes: int
    streams: int
    timed_streams: int


def cores_here() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers_for(wish: WorkersWish, streams: int, timed_streams: int, cores: int) -> int:
    """Processes for so many ``streams`` where one times ``timed_streams``; ``auto`` never takes more than cores."""
    if wish != "auto":
        return wish
    return max(1, min(-(-streams // timed_streams), cores))


def reckoned(plan: Plan, due: float) -> Reckoning:
    """The processes of a run that is sent without a cluster; ``due`` records are to be made, perhaps without end."""
    choice = plan.executor
    streams = most_in_flight(plan, due)
    wish = 1 if choice.workers == "auto" and all(entry.is_simulated for entry in plan.entries) else choice.workers
    return Reckoning(workers_for(wish, streams, choice.timed_streams, cores_here()), streams, choice.timed_streams)


def most_in_flight(plan: Plan, due: float) -> int:
    """The most requests that may be in flight at a time, as far as places, records and the load tell."""
    at_once = plan.vendor_concurrency or len(plan.entries)
    places = sorted(limits_of(plan.entries, plan.request_concurrency).values(), reverse=True)[:at_once]
    offered = min(at_once, len(plan.entries)) * _offered_in_an_answer(plan)
    return max(1, math.ceil(min(sum(places), offered, due)))


def _offered_in_an_answer(plan: Plan) -> float:
    """The most requests that one vendor is offered while one is answered; without end in a closed loop."""
    load = plan.load
    if load.request_rate is not None:
        return load.request_rate * ANSWER_S
    return _busiest(load.schedule) if load.schedule else math.inf


def _busiest(schedule: Sequence[Due]) -> int:
    """The most moments of a rising schedule that lie within one answer of each other."""
    most = first = 0
    for last, due in enumerate(schedule):
        while due.at_s - schedule[first].at_s > ANSWER_S:
            first += 1
        most = max(most, last - first + 1)
    return most
