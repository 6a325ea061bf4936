"""Holds vendors to the pace of a baseline that is asked everything more often than they are, so that all end together.

A baseline asked twice has twice the requests and no more places. At full speed the others would be through when it is
half done, and its second half would be asked alone, at another load of the machine and another hour. So an entry may
have begun such a share of its samples as the baseline has, which takes nobody longer than the baseline: it ends last in
any case. An entry that is slower than that is never held back, and nobody is where the baseline was stopped.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence

from vendor_verifier.run.work_queue import Stream


class BaselinePace:
    """Gives the leave to begin items; of streams without such a baseline at once."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._held: dict[Stream, _Held] = {}
        self._followers: dict[Stream, list[_Held]] = {}
        for lead in streams:
            slower = [each for each in streams if each.entry.model == lead.entry.model and each.repeats < lead.repeats]
            if lead.entry.is_baseline and slower:
                followers = [_Held(each, lead, place / len(slower)) for place, each in enumerate(slower)]
                self._followers[lead] = followers
                self._held |= zip(slower, followers, strict=True)
        self._ended = dict.fromkeys(self._followers, 0)
        # Whoever goes on first at a moment would find the least under way, each time.
        self._rng = random.Random(0)  # noqa: S311 an order, not a secret

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
            followers = self._followers[stream]
            for held in self._rng.sample(followers, len(followers)):
                held.let_on(begun)


class _Held:
    """An entry held to the pace of ``lead``; ``leave`` has one place for every item that it may begin.

    ``phase``, from 0 to 1, keeps entries apart that would else all go on at the same moments.
    """

    def __init__(self, stream: Stream, lead: Stream, phase: float) -> None:
        self.leave = asyncio.Semaphore(0)
        self._lead = lead
        self._stream = stream
        self._phase = phase
        self._given = 0
        self.let_on(lead.places)

    def let_on(self, begun: float) -> None:
        """Permit such a share of the items as ``begun`` is of the lead's; all, and that all see the end, when it is
        whole."""
        share = begun / self._lead.left
        allowed = (
            int(self._stream.left * share + self._phase) if share < 1.0 else self._stream.left + self._stream.plays
        )
        for _ in range(allowed - self._given):
            self.leave.release()
        self._given = max(allowed, self._given)
