"""How many worker processes a run gets: what was asked for, or as many as its load warrants. It starts none."""

from __future__ import annotations

import os

from vendor_verifier.values.plan import WorkersWish

# Up to here one process stamps times within a millisecond or two (benchmarks/README.md); beyond, its loop gets late.
IN_FLIGHT_PER_WORKER = 300

# More of them take turns on a core; each has an interpreter of its own in memory.
MOST_PER_CORE = 16


def cores_here() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers_for(wish: WorkersWish, in_flight: int, cores: int) -> int:
    """Processes for at most ``in_flight`` requests at a time, all accounts together.

    ``auto``: one for each ``IN_FLIGHT_PER_WORKER``, leaving a core to the parent and all else, at least one.
    """
    if wish != "auto":
        return wish
    return max(1, min(-(-in_flight // IN_FLIGHT_PER_WORKER), cores - 1))
