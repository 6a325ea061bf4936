"""The practical limit: a bare asyncio protocol that sends, stamps, splits, parses and keeps what the product would.

No product around it: no retries, no limits, no validation, no scores. What it costs is what Python itself costs for a
stream of this shape, so the product's cost is stated as a multiple of it. Run: ``raw_protocol.py PORT REQUESTS
CONCURRENCY``; prints nothing, because whoever started it reads its CPU time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from typing import cast

import httptools
import msgspec


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct):
    index: int
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[Call] = []


class Choice(msgspec.Struct):
    delta: Delta
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    choices: list[Choice]
    usage: dict[str, object] | None = None


_DECODE = msgspec.json.Decoder(Chunk).decode
_BODY = json.dumps(
    {
        "model": "mock-model",
        "messages": [{"role": "user", "content": "What is the weather in San Francisco?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
).encode()


class Client(asyncio.Protocol):
    """One connection that asks again as soon as it was answered."""

    def __init__(self, request: bytes, due: Iterator[int], done: asyncio.Future[None]) -> None:
        self._request = request
        self._due = due
        self._done = done
        self._parser = httptools.HttpResponseParser(self)
        self._chunks: list[tuple[int, bytes]] = []
        self._at_ns = 0
        self._over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def _ask(self) -> None:
        self._chunks = []
        self._over = False
        if next(self._due, None) is None:
            self._transport.close()
            self._done.set_result(None)
            return
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._at_ns = time.perf_counter_ns()
        self._parser.feed_data(data)
        if self._over:
            self._parser = httptools.HttpResponseParser(self)
            read(self._chunks)
            self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("the server closed the connection"))

    def on_body(self, body: bytes) -> None:
        self._chunks.append((self._at_ns, body))

    def on_message_complete(self) -> None:
        self._over = True


def read(chunks: list[tuple[int, bytes]]) -> tuple[str, str, object, list[int]]:
    """Text, arguments, usage and token moments of one answer."""
    text: list[str] = []
    arguments: list[str] = []
    usage: object = None
    moments: list[int] = []
    rest = b""
    for at_ns, data in chunks:
        *events, rest = (rest + data).split(b"\n\n")
        for event in events:
            if event == b"data: [DONE]":
                continue
            chunk = _DECODE(event[6:])
            usage = chunk.usage or usage
            for choice in chunk.choices:
                if choice.delta.content:
                    text.append(choice.delta.content)
                    moments.append(at_ns)
                for call in choice.delta.tool_calls:
                    if call.function is not None and call.function.arguments:
                        arguments.append(call.function.arguments)
                        moments.append(at_ns)
    return "".join(text), "".join(arguments), usage, moments


async def main(port: int, requests: int, concurrency: int) -> None:
    loop = asyncio.get_running_loop()
    lines = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: {len(_BODY)}\r\n\r\n"
    request = lines.encode() + _BODY
    due = iter(range(requests))
    waiting = [loop.create_future() for _ in range(concurrency)]
    for done in waiting:
        await loop.create_connection(lambda done=done: Client(request, due, done), "127.0.0.1", port)
    await asyncio.gather(*waiting)


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:4]]
    try:
        import uvloop
    except ImportError:
        asyncio.run(main(*words))
    else:
        uvloop.run(main(*words))
