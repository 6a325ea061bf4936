"""A small HTTP proxy on loopback: it tunnels CONNECT and forwards plain requests, or refuses by a status."""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from types import TracebackType
from urllib.parse import urlsplit


class ProxyServer:
    """Refuses with ``refusal`` where that is set, and who has no ``login`` (``user:password``) if there is one. What it
    is asked for is answered by whoever listens at ``upstream``, so that names need not resolve. ``asked`` are the
    request lines; an async context manager."""

    def __init__(self, upstream: int = 0, refusal: int | None = None, login: str | None = None) -> None:
        self.asked: list[str] = []
        self._upstream = upstream
        self._refusal = refusal
        self._login = login
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> ProxyServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, _, rest = head.partition("\r\n")
        self.asked.append(line)
        method, target, _ = line.split(" ")
        refusal = self._refusal
        if self._login is not None and b64encode(self._login.encode()).decode() not in rest:
            refusal = 407
        if refusal is not None:
            writer.write(f"HTTP/1.1 {refusal} Not Here\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            # Until the client has read it; leaving what it sent unread would be a reset.
            await reader.read()
            return
        onward, answers = await asyncio.open_connection("127.0.0.1", self._upstream)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Established\r\n\r\n")
        else:
            path = urlsplit(target).path or "/"
            answers.write(f"{method} {path} HTTP/1.1\r\n{rest}".encode())
        await _both_ways(reader, writer, onward, answers)


async def _both_ways(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    onward: asyncio.StreamReader,
    answers: asyncio.StreamWriter,
) -> None:
    try:
        await asyncio.gather(_pass(reader, answers), _pass(onward, writer))
    finally:
        answers.close()


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
    else:
        target.close()


class SocksServer(ProxyServer):
    """The same for SOCKS 5: ``asked`` are the hosts; with a ``refusal`` it answers by that reply code."""

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00" if self._login is None else b"\x05\x02")
        if self._login is not None:
            name = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_right = name + b":" + password == self._login.encode()
            writer.write(b"\x01\x00" if is_right else b"\x01\x01")
            if not is_right:
                await reader.read()
                return
        *_, length = await reader.readexactly(5)
        self.asked.append((await reader.readexactly(length)).decode())
        await reader.readexactly(2)
        writer.write(bytes([5, self._refusal or 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        if self._refusal is not None:
            await writer.drain()
            await reader.read()
            return
        onward, answers = await asyncio.open_connection("127.0.0.1", self._upstream)
        await _both_ways(reader, writer, onward, answers)
