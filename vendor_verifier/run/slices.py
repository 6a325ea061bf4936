"""Long work that must not hold up the event loop is cut into slices; it knows nothing of the work."""

from __future__ import annotations

import asyncio
import time

from vendor_verifier.wire.steps import Result, Steps

# As late as a time stamp may be for it. The work behind most awaits is shorter, and goes on without a pause.
_SLICE_NS = 250_000


class Slices:
    """The slices of one piece of work. The first begins when this is made."""

    def __init__(self) -> None:
        self._over_ns = time.perf_counter_ns() + _SLICE_NS

    async def rest_if_over(self) -> None:
        """Let everything else have its turn once the slice is used up, and begin the next."""
        if time.perf_counter_ns() >= self._over_ns:
            await asyncio.sleep(0)
            self._over_ns = time.perf_counter_ns() + _SLICE_NS


async def in_slices(steps: Steps[Result]) -> Result:
    """What ``steps`` return; everything else has its turn whenever a slice is used up."""
    slices = Slices()
    while True:
        try:
            next(steps)
        except StopIteration as over:
            result: Result = over.value
            return result
        await slices.rest_if_over()
