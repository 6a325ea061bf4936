"""Holds vendors to the pace of a baseline that is asked everything more often than they are, so that all end together.

A baseline asked twice has twice the requests and no more places. At full speed the others would be through when it is
half done, and its second half would be asked alone, at another load of the machine and another hour. So an entry may
have begun such a share of its samples as the baseline has, which takes nobody longer than the baseline: it ends last in
any case. An entry that is slower than that is never held back, and nobody is where the baseline was stopped.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from vendor_verifier.run.work_queue import Stream


class BaselinePace:
    """Gives the leave to begin items; of streams without such a baseline at once."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._held = {
            stream: _Held(stream, lead)
            for lead in streams
            if lead.entry.is_baseline
            for stream in streams
            if stream.entry.model == lead.entry.model and stream.repeats < lead.repeats
        }
        self._followers: dict[Stream, list[_Held]] = {}
        for held in self._held.values():
            self._followers.setdefault(held.lead, []).append(held)
        self._ended = dict.fromkeys(self._followers, 0)

    async def wait(self, stream: Stream) -> None:
        """Wait until one more item of ``stream`` may begin."""
        held = self._held.get(stream)
        if held is not None and not stream.is_stopped:
            await held.leave.acquire()

    def end_one(self, stream: Stream, *, is_last: bool) -> None:
        """Count an item that ended; where it is a baseline's, others may go on.

        After the last one that is sent at all nobody is held back.
        """
        if stream in self._ended:
            self._ended[stream] += 1
            begun = math.inf if is_last else self._ended[stream] + stream.places
            for held in self._followers[stream]:
                held.let_on(begun)


class _Held:
    """An entry held to the pace of ``lead``; ``leave`` has one place for every item that it may begin."""

    def __init__(self, stream: Stream, lead: Stream) -> None:
        self.lead = lead
        self.leave = asyncio.Semaphore(0)
        self._stream = stream
        self._given = 0
        self.let_on(lead.places)

    def let_on(self, begun: float) -> None:
        """Permit such a share of the items as ``begun`` is of the lead's; all, and that all see the end, when it is
        whole."""
        share = min(1.0, begun / self.lead.left)
        allowed = math.ceil(self._stream.left * share) if share < 1.0 else self._stream.left + self._stream.plays
        for _ in range(allowed - self._given):
            self.leave.release()
        self._given = max(allowed, self._given)
