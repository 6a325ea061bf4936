"""A loopback server of raw bytes: it reads requests properly, and sends and ends as a script says, however wrong."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

End = Literal["keep", "close", "reset", "hang"]
_RESET_GRACE_S = 0.03  # a reset discards what the client has not read yet


@dataclass(frozen=True)
class Script:
    """(seconds to wait, bytes) to send; then ``keep`` serves the next request, and ``hang`` stays silent."""

    steps: Iterable[tuple[float, bytes]] = ()
    end: End = "close"


@dataclass
class Seen:
    """A request, its ``turn`` on the connection (from 1), ``nth`` time it is asked (from 0), and moments in ns."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Any
    connection: int
    turn: int
    at_ns: int
    sent_ns: list[int] = field(default_factory=list)
    went_ns: float = math.inf
    nth: int = 0

    @property
    def vendor(self) -> str:
        return self.path.split("/")[1]

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


class FaultServer:
    """Answers every request by ``answer(seen)``, over ``tls`` if given; an async context manager."""

    def __init__(self, answer: Callable[[Seen], Script] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer or (lambda _seen: after(0))
        self.seen: list[Seen] = []
        self.connections = self.closed = 0
        self.in_flight: dict[str, int] = {}
        self.most_in_flight: dict[str, int] = {}
        self.most_vendors_in_flight = 0
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> FaultServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**22, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    def url(self, vendor: str = "v") -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/{vendor}"

    def by_vendor(self, vendor: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.vendor == vendor]

    async def lets_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """What comes before the first request of a connection."""
        return True

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        number = self.connections
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                if await self.lets_in(reader, writer):
                    for turn in itertools.count(1):
                        if not await self._serve(reader, writer, number, turn):
                            break
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self.closed += 1

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int, turn: int
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        request_line, *lines = head.rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path = request_line.split()[1]
        seen = Seen(len(self.seen), path, headers, json.loads(body), connection, turn, time.perf_counter_ns())
        self.seen.append(seen)
        self._enter(seen.vendor)
        try:
            script = self.answer(seen)
            await self._play(script, seen, writer)
        finally:
            self._leave(seen)
        return await self._end(script.end, reader, writer)

    def _enter(self, vendor: str) -> None:
        self.in_flight[vendor] = self.in_flight.get(vendor, 0) + 1
        self.most_in_flight[vendor] = max(self.most_in_flight.get(vendor, 0), self.in_flight[vendor])
        busy = sum(1 for count in self.in_flight.values() if count)
        self.most_vendors_in_flight = max(self.most_vendors_in_flight, busy)

    def _leave(self, seen: Seen) -> None:
        if seen.went_ns == math.inf:
            seen.went_ns = time.perf_counter_ns()
            self.in_flight[seen.vendor] -= 1

    async def _play(self, script: Script, seen: Seen, writer: asyncio.StreamWriter) -> None:
        steps = iter(script.steps)
        following = next(steps, None)
        while following is not None:
            delay_s, data = following
            if delay_s:
                await asyncio.sleep(delay_s)
            following = next(steps, None)
            if following is None:
                # The last bytes are the client's licence to send again: this request is no longer in flight.
                self._leave(seen)
            seen.sent_ns.append(time.perf_counter_ns())
            writer.write(data)
            await writer.drain()

    async def _end(self, end: End, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if end == "hang":
            await reader.read()
        if end == "reset":
            await asyncio.sleep(_RESET_GRACE_S)
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return end == "keep"


DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def event(data: object) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return event({"id": "r", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def text(words: str, finish: str | None = "stop") -> bytes:
    return delta(finish, content=words)


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


END = chunk(b"")


def head(status: int = 200, content_type: str = "text/event-stream", **headers: object) -> bytes:
    """Status line and headers of a chunked answer; ``headers`` with ``_`` for ``-``."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {content_type}"]
    if "content_length" not in headers:
        lines.append("Transfer-Encoding: chunked")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def stream(*events: bytes) -> bytes:
    return head() + b"".join(map(chunk, events)) + END


def whole(body: object, status: int = 200, content_type: str = "application/json", **headers: object) -> bytes:
    """A whole answer with a length; ``body`` as JSON unless it is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(status, content_type, content_length=len(data), **headers) + data


# What announces that the connection will be kept.
ANSWER = head(keep_alive="timeout=5", connection="keep-alive") + chunk(text("hello")) + chunk(DONE) + END


def say(*pieces: bytes, end: End = "keep") -> Script:
    """The pieces at once, each its own write."""
    return Script([(0, piece) for piece in pieces], end)


GOOD = stream(text("hello"), DONE)


def after(seconds: float, answer: bytes = GOOD) -> Script:
    """An answer in one piece, which comes late."""
    return Script([(seconds, answer)], "keep")


def sized(body: bytes, head: bytes = HEAD) -> bytes:
    """The head and the body with its length between them."""
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


@contextmanager
def serving(answer: Callable[[FaultServer, Seen], Script]) -> Iterator[FaultServer]:
    """A server in a thread of its own, for a command that has its own event loop; ``answer`` sees the server, too."""
    server = FaultServer(lambda seen: answer(server, seen))
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            started.set()
            while not stop.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(60)
    try:
        yield server
    finally:
        stop.set()
        thread.join(60)
