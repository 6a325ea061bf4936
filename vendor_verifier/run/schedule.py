"""When requests are due: arrival times of an open loop and the opening of places in a closed one. It waits for nothing.

Arrivals are counted in units of work first (1 apart, or exponentially distributed with mean 1) and then put on the
clock by the inverse of what is offered until t:

    Λ(t) = R·t² ÷ (2·r) while the rate grows to R over r seconds, then R·(t − r ÷ 2)

Under this change of time unit gaps become an even schedule and exponential ones a Poisson process of rate Λ′(t).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate, count, repeat

from vendor_verifier.values.plan import Arrival, Due, LoadShape


def due_times(shape: LoadShape, seed: int) -> Iterator[Due]:
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
    return (Due(_on_clock(units, rate, ramp_s)) for units in _units(shape.arrival, seed))


def offered(shape: LoadShape, until_s: float) -> float:
    """How many requests of a rate are offered until then, as expected; the Λ(t) of above.

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


def _units(arrival: Arrival, seed: int) -> Iterator[float]:
    if arrival == "constant":
        return iter(count())
    rng = random.Random(f"arrivals {seed}")  # noqa: S311 a schedule, not a secret
    return accumulate(rng.expovariate(1.0) for _ in repeat(None))


def _on_clock(units: float, rate: float, ramp_s: float) -> float:
    """The moment by which ``units`` requests have been offered."""
    if units < rate * ramp_s / 2:
        return math.sqrt(2 * ramp_s * units / rate)
    return units / rate + ramp_s / 2
