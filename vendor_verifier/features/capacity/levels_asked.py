"""The levels that a user names for a sweep, read from the flag; nothing is chosen here."""

from __future__ import annotations

import math
from collections.abc import Iterator

from vendor_verifier.errors import Problem
from vendor_verifier.features.capacity.values import CapacityOptions


def sweep_levels(options: CapacityOptions) -> tuple[float, ...]:
    """The levels of ``--sweep`` in rising order, each once; none without one.

    Raises:
        ValueError: one is no number; see :func:`sweep_problems`.
    """
    return () if options.sweep is None else tuple(sorted({float(word) for word in options.sweep.split(",")}))


def highest(options: CapacityOptions) -> float:
    """The highest level that may be tried."""
    return max(sweep_levels(options), default=options.up_to)


def sweep_problems(options: CapacityOptions) -> Iterator[Problem]:
    """Every level that cannot be meant."""
    for word in (options.sweep or "").split(","):
        level = _number(word)
        if level is None or not math.isfinite(level) or level <= 0:
            yield Problem(f"read {word.strip()!r}; expected numbers above 0, such as 1,2,4,8,16", key="--sweep")
        elif options.by == "concurrency" and level != int(level):
            words = f"read {level:g}; requests in flight are whole; write whole numbers, or add --by rate"
            yield Problem(words, key="--sweep")


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
