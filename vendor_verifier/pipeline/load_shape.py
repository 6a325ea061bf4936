"""The load of a run: its shape by the user's flags, its places, and the requests it will make."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import DataError, Problem, ProblemsError
from vendor_verifier.loaders.base import data_error, shortened
from vendor_verifier.records.plan import Entry, LoadShape
from vendor_verifier.run.load import moment_of, offered
from vendor_verifier.text import counted
from vendor_verifier.transport.connect import most_connections

# Default requests in flight per account: of a closed loop, and the most of an open one.
PLACES = 5
MOST_PLACES = 10_000


def read_load(options: RunOptions) -> LoadShape:
    """The requested load shape, with the schedule's file read.

    Raises:
        ProblemsError: flags that contradict each other or the rest of the run, all at once.
        DataError: the schedule cannot be read.
    """
    if problems := list(_problems(options)):
        raise ProblemsError(problems)
    schedule = () if options.replay_schedule is None else read_schedule(options.replay_schedule)
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


def read_schedule(file: Path) -> tuple[float, ...]:
    """The due times of a replayed schedule: seconds after the start, one a line, in rising order.

    Blank lines, lines after ``#`` and a title ``at_s`` are skipped.

    Raises:
        DataError: it cannot be read, lines that are no time or go back in time, all at once, or no time at all.
    """
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        words = f"cannot be read: {error.strerror or error}"
        raise DataError([Problem(words, file, key="run.replay_schedule")]) from None
    found: list[float] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8-sig", errors="replace").strip()
        if not text or text.startswith("#") or (text == "at_s" and not found):
            continue
        try:
            at_s = float(text)
        except ValueError:
            at_s = math.nan
        if not 0 <= at_s < math.inf:
            problems.append(
                Problem(f"read {shortened(text)}; expected seconds after the start, such as 1.25", file, number)
            )
        elif found and at_s < found[-1]:
            problems.append(Problem(f"{at_s:g} s comes before {found[-1]:g} s; sort the file by time", file, number))
        else:
            found.append(at_s)
    if not found and not problems:
        problems.append(Problem("holds no time; expected seconds after the start, one a line", file))
    if problems:
        raise data_error(problems)
    return tuple(found)


def places(load: LoadShape, stated: int | None, entries: Sequence[Entry]) -> int:
    """Requests in flight per account: as stated, else 5, else in an open loop as many as this system has files for."""
    if stated is not None or not load.is_open:
        return PLACES if stated is None else stated
    accounts = len({entry.account for entry in entries}) or 1
    return max(1, min(MOST_PLACES, most_connections() // accounts))


def foreseen(load: LoadShape, planned: int) -> int | None:
    """The number of counted requests an entry will get: ``planned`` without a time limit, as many as are expected where
    they arrive at random, None where the vendor decides."""
    if not load.plans_by_doing:
        return planned
    if load.schedule:
        due = load.schedule[load.warmup :]
        return sum(load.duration_s is None or each < due[0] + load.duration_s for each in due)
    if load.request_rate is None or load.duration_s is None:
        return None
    first_s = moment_of(load.warmup, load.request_rate, load.ramp_up_s)
    return round(offered(load, first_s + load.duration_s) - load.warmup)


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
