"""Gathers small messages and writes them together: at once when it is quiet, every few milliseconds when it is not.

It orders nothing across kinds and answers nothing.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

Message = dict[str, list[Any]]

# From one write to the next: a write costs as much CPU as a third of a request, and a place that is free for so much
# longer is nothing against any answer of a vendor. Whoever writes seldom does not wait.
LINGER_S = 0.004


class ChannelClosed(Exception):
    """The other side is gone."""


class Channel(Protocol):
    """Two-way messages, in order."""

    async def read(self) -> Message:
        """The next message. Raises ChannelClosed."""

    async def write(self, message: Message) -> None:
        """Send one message. Raises ChannelClosed."""

    def abort(self) -> None:
        """Give the connection up at once."""


class Outbox:
    """One side's messages on their way out. ``send`` never waits; :meth:`run` writes until the channel closes."""

    def __init__(self, channel: Channel, linger_s: float = LINGER_S) -> None:
        self._channel = channel
        self._linger_s = linger_s
        self._next_at = 0.0
        self._pending: Message = {}
        self._has_some = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.closed = False

    def send(self, kind: str, *items: Any) -> None:
        """Say ``items`` of one kind; what was said before of the same kind arrives first."""
        if self.closed:
            return
        self._pending.setdefault(kind, []).extend(items)
        self._is_idle.clear()
        self._has_some.set()

    async def run(self) -> None:
        """Write what there is, for as long as somebody reads."""
        try:
            while True:
                await self._has_some.wait()
                if (early_s := self._next_at - time.monotonic()) > 0:
                    await asyncio.sleep(early_s)
                self._next_at = time.monotonic() + self._linger_s
                self._has_some.clear()
                message, self._pending = self._pending, {}
                await self._channel.write(message)
                if not self._pending:
                    self._is_idle.set()
        except ChannelClosed:
            pass
        finally:
            self.closed = True
            self._is_idle.set()

    async def drain(self) -> None:
        """Wait until everything said so far is written, or cannot be any more."""
        await self._is_idle.wait()
