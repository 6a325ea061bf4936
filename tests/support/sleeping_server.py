"""A loopback server that sleeps and answers, and logs when each request of each vendor came and went."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from fault_server import DONE, stream, text

_GOOD = stream(text("hello"), DONE)


@dataclass
class Visit:
    """One request: which sample of which vendor, whether it was its first, and when it came and went (loop seconds)."""

    vendor: str
    asked: str
    nth: int
    came_s: float
    went_s: float = float("inf")


@dataclass
class SleepingServer:
    """``answer(visit)`` gives (seconds to sleep, bytes to send then), or None to send nothing ever."""

    answer: Callable[[Visit], tuple[float, bytes] | None] = lambda _visit: (0.05, _GOOD)
    log: list[Visit] = field(default_factory=list)

    async def __aenter__(self) -> SleepingServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    def url(self, vendor: str) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/{vendor}"

    def of(self, vendor: str) -> list[Visit]:
        return [visit for visit in self.log if visit.vendor == vendor]

    def took_s(self, vendor: str) -> float:
        """From the vendor's first request to the end of its last."""
        visits = self.of(vendor)
        return max(visit.went_s for visit in visits) - visits[0].came_s

    def mean_in_flight(self, *vendors: str) -> float:
        """Mean number of requests here, from the vendors' first request until the last sample has been sent once."""
        visits = [visit for visit in self.log if visit.vendor in vendors]
        begin, end = visits[0].came_s, max(visit.came_s for visit in visits if visit.nth == 0)
        return sum(min(visit.went_s, end) - min(visit.came_s, end) for visit in visits) / (end - begin)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._serve(reader, writer):
                pass
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].split("\r\n")[0])
        asked = json.loads(await reader.readexactly(length))["messages"][0]["content"]
        vendor = head.split()[1].split("/")[1]
        loop = asyncio.get_running_loop()
        nth = sum(1 for visit in self.log if (visit.vendor, visit.asked) == (vendor, asked))
        visit = Visit(vendor, asked, nth, loop.time())
        self.log.append(visit)
        answer = self.answer(visit)
        try:
            if answer is None:
                # Until whoever asked gives up.
                return bool(await reader.read(1))
            await asyncio.sleep(answer[0])
            writer.write(answer[1])
        finally:
            visit.went_s = loop.time()
        return True
