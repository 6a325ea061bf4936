"""Finds bytes that httpx2 read beyond the end of an answer; the library keeps them, and takes them for the next answer.

It reads nothing from the network and changes no byte of an answer. httpx2 has no public word for what is left over, so
the way to it is by its own parts; where a version has other parts, no connection is kept, which is safe and slower.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2

# From the stream of a response down to the parser (h11's) of the connection that it is read from.
_WAY = ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state")


class WatchedStream(httpx2.AsyncByteStream):
    """The stream of ``response``; when it has been read to its end, ``has_surplus`` says whether more came with it.

    A connection that holds more than was asked for is closed before anybody else can be given it.
    """

    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self.has_surplus = False
        self._stream = response.stream
        self._network: Any = response.extensions.get("network_stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece
        left = _left_over(self._stream)
        # A line end too many is none: parsers may pass over it, and this library's does not.
        self.has_surplus = bool((left or b"").strip(b"\r\n"))
        if left != b"" and self._network is not None:
            await self._network.aclose()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _left_over(stream: Any) -> bytes | None:
    """What was read and belongs to no answer; None where this version of the library cannot be asked."""
    part = stream
    for name in _WAY:
        part = getattr(part, name, None)
    found = getattr(part, "trailing_data", None)
    return found[0] if found is not None else None
