"""Makes the load shape from the user's flags; contradictions are refused before anything is created."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import DataError, Problem, ProblemsError
from vendor_verifier.loaders.base import read_schedule
from vendor_verifier.records.plan import Entry, LoadShape, Plan
from vendor_verifier.run.load import due_times, offered
from vendor_verifier.text import counted
from vendor_verifier.transport.connect import most_connections

# Default requests in flight per account: of a closed loop, and the most of an open one.
PLACES = 5
MOST_PLACES = 10_000
# Requests of a rate that are counted one by one for a forecast: a tenth of a second's work.
MOST_COUNTED = 100_000


def read_load(options: RunOptions) -> LoadShape:
    """The requested load shape, with the schedule's file read.

    Raises:
        ProblemsError: flags that contradict each other or the rest of the run, all at once.
        DataError: the schedule cannot be read.
    """
    if problems := list(_problems(options)):
        raise ProblemsError(problems)
    file = options.replay_schedule
    schedule = () if file is None else read_schedule(_lines(file), file)
    if schedule and options.warmup >= len(schedule):
        planned = counted(len(schedule), "request")
        words = f"{options.warmup} of the schedule's {planned} would be warm-up; leave some that count"
        raise ProblemsError([Problem(words, key="--warmup")])
    return LoadShape(
        request_rate=options.request_rate,
        arrival=options.arrival or "constant",
        ramp_up_s=options.ramp_up,
        warmup=options.warmup,
        duration_s=options.duration,
        schedule=schedule,
    )


def places(load: LoadShape, stated: int | None, entries: Sequence[Entry]) -> int:
    """Requests in flight per account: as stated, else 5, else in an open loop as many as this system has files for."""
    if stated is not None or not load.is_open:
        return PLACES if stated is None else stated
    accounts = len({entry.account for entry in entries}) or 1
    return max(1, min(MOST_PLACES, most_connections() // accounts))


def foreseen(load: LoadShape, planned: int, seed: int = 0) -> int | None:
    """The number of counted requests an entry will get, ``planned`` without a time limit; None if the vendor decides.

    Beyond ``MOST_COUNTED`` they are not counted one by one: the expected number of random arrivals is taken.
    """
    if not load.plans_by_doing:
        return planned
    if not load.is_open:
        return None
    counted = islice(due_times(load, seed), load.warmup, None)
    first = next(counted)
    until_s = math.inf if load.duration_s is None else first + load.duration_s
    if load.request_rate is not None:
        expected = offered(load, until_s) - offered(load, first)
        if expected > MOST_COUNTED:
            return math.ceil(expected)
    return 1 + sum(1 for _ in takewhile(lambda due_s: due_s < until_s, counted))


def due_in(plan: Plan) -> int | None:
    """The number of records due per entry under a timed or scheduled load; None where the vendors' speed decides."""
    return foreseen(plan.load, 0, plan.seed) if plan.load.plans_by_doing else None


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        words = f"cannot be read: {error.strerror or error}"
        raise DataError([Problem(words, path, key="run.replay_schedule")]) from None


def _problems(options: RunOptions) -> Iterator[Problem]:
    is_replayed = options.replay_schedule is not None
    if is_replayed and options.request_rate is not None:
        yield Problem("a replayed schedule has its own times; leave out one of the two", key="--request-rate")
    if is_replayed and options.ramp_up:
        yield Problem("a replayed schedule has its own times; write the ramp into it", key="run.ramp_up")
    if options.arrival is not None and options.request_rate is None:
        words = "says how requests of a rate follow each other; add --request-rate, or leave it out"
        yield Problem(words, key="run.arrival")
    for key, is_stated in (("--duration", options.duration is not None), ("run.replay_schedule", is_replayed)):
        if is_stated and options.repeat != 1:
            yield Problem("decides how often samples are asked; leave out --repeat", key=key)
        if is_stated and options.incremental:
            yield Problem("such a run is one stretch of time and cannot be gone on with; start a new one", key=key)
