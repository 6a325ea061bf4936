"""Lets finished answers be read a few at a time, so that what arrives meanwhile is stamped in time; it reads nothing.

Answers that began together end together. Reading hundreds of them at one go would hold the event loop up for longer
than the time to a first token. Here ``MOST`` are read before the loop looks for arrived bytes again; the others wait
their turn. An answer that ends alone waits for nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque

# A millisecond or two of reading.
MOST = 8


class Turns:
    """One a run; used from one event loop."""

    def __init__(self) -> None:
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Return when it is the caller's turn to be busy."""
        if not self._taken:
            # What is called soon is called after the loop has looked for arrived bytes.
            asyncio.get_running_loop().call_soon(self._next_round)
        if self._taken < MOST:
            self._taken += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _next_round(self) -> None:
        self._taken = 0
        while self._waiting and self._taken < MOST:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                turn.set_result(None)
                self._taken += 1
        if self._taken:
            asyncio.get_running_loop().call_soon(self._next_round)
