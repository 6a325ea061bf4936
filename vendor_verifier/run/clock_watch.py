"""Notices that the wall clock and the monotonic clock went apart while a request was under way; it corrects nothing.

A set clock, a suspended machine or a paused virtual one makes durations of that moment doubtful: what was measured is
kept and flagged ``clock_jump``.
"""

from __future__ import annotations

import time
from dataclasses import replace

from vendor_verifier.values.record import Response

CLOCK_JUMP = "clock_jump"
MAX_DRIFT_S = 5.0


class ClockWatch:
    """Compares both clocks from its making to :meth:`stop`."""

    __slots__ = ("_monotonic_s", "_wall_s", "jumped")

    def __init__(self) -> None:
        self.jumped = False
        self._wall_s = time.time()
        self._monotonic_s = time.monotonic()

    def stop(self) -> None:
        wall_s = time.time() - self._wall_s
        monotonic_s = time.monotonic() - self._monotonic_s
        self.jumped = abs(wall_s - monotonic_s) > MAX_DRIFT_S

    def flagged(self, response: Response | None) -> Response | None:
        """The response, marked if the clocks went apart while it came in."""
        if response is None or not self.jumped:
            return response
        return replace(response, anomalies=(*response.anomalies, CLOCK_JUMP))
