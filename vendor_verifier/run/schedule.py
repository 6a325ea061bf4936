"""When the requests of a shaped load are due, and when the places of a closed one open. It neither waits nor sends."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate, count, repeat

from vendor_verifier.records.plan import LoadShape


def due_times(shape: LoadShape, seed: int) -> Iterator[float]:
    """When requests of an open loop are due, in order; without end unless the shape holds a schedule.

    The same seed gives the same times, so that every vendor is offered the same load.

    Raises:
        ValueError: the shape is a closed loop.
    """
    if shape.schedule:
        return iter(shape.schedule)
    if shape.request_rate is None:
        raise ValueError("a closed loop has no due times")
    rate, ramp_s = shape.request_rate, shape.ramp_up_s
    units: Iterator[float] = iter(count())
    if shape.arrival == "poisson":
        rng = random.Random(f"arrivals {seed}")  # noqa: S311 a schedule, not a secret
        units = accumulate(rng.expovariate(1.0) for _ in repeat(None))
    return (_moment_of(number, rate, ramp_s) for number in units)


def _moment_of(units: float, rate: float, ramp_s: float) -> float:
    """The second by which ``units`` requests have been offered."""
    if units < rate * ramp_s / 2:
        return math.sqrt(2 * ramp_s * units / rate)
    return units / rate + ramp_s / 2


def offered(shape: LoadShape, until_s: float) -> float:
    """The number of requests of a rate that are expected to be offered by ``until_s``.

    Raises:
        ValueError: the shape has no rate.
    """
    if shape.request_rate is None:
        raise ValueError("only a rate offers so many a second")
    rate, ramp_s = shape.request_rate, shape.ramp_up_s
    return rate * until_s**2 / (2 * ramp_s) if until_s < ramp_s else rate * (until_s - ramp_s / 2)


def opening_times(places: int, ramp_up_s: float, turn: int = 0, turns: int = 1) -> Sequence[float]:
    """Seconds after which each place of a closed loop opens: the first at once, the last when the ramp is over.

    Where ``turns`` entries share the places, theirs open in turn, so that together they grow as one alone would;
    ``turn`` counts from 0.
    """
    if places == 1:
        return [0.0]
    return [min(ramp_up_s, ramp_up_s * (turns * place + turn) / (places - 1)) for place in range(places)]
