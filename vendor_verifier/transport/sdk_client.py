"""Sends requests through the official SDKs, to show what an application built on them gets; retries nothing.

The SDK builds the request and reads the answer; our transport lies underneath and alone touches the network. So time
limits, size caps, proxies, redirects (never followed), the record's bytes and every time in it are the same as without
an SDK. Of the SDK's own headers only those that identify and shape the request are let through; address, key and extra
headers are the wire's, and nothing of the environment (``OPENAI_ORG_ID`` and the like) is sent.

An SDK takes about 100 µs over an event, far longer than the network, so it reads an answer after its end: one answer at
a time and in slices, while the bytes of all others are stamped as they come. The SDK's time is in no latency; it bounds
how many requests a core can carry.

Content, usage and finish reason come from our own reader and the same bytes. Where the SDK raises on an answer whose
transport was sound, or yields nothing of it, the exchange fails as ``bad_payload`` and names the exception, because
that is all an application would get.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import httpx2
import msgspec
from msgspec import structs

from vendor_verifier.records.record import Exchange, Failure
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.transport.policy import Client, Sending, Slices
from vendor_verifier.transport.sdk_adapter import (
    SDK_OF_WIRE,
    Seam,
    client_over,
    open_stream,
    require_sdks,
    sdk_client,
    sdk_name,
)

_SDK_HEADERS = ("accept", "content-type", "user-agent", "anthropic-version", "anthropic-beta")
_SDK_HEADER_PREFIX = "x-stainless-"
_WARM_UP = {"model": "m", "max_tokens": 1, "messages": [], "input": "", "prompt": "", "stream": True}
_CANNED: Mapping[str, tuple[tuple[bytes, bytes], ...]] = {
    "openai": ((b"", b'{"choices": [{"index": 0, "delta": {"content": "x"}}]}'),),
    "openai_completions": ((b"", b'{"choices": [{"index": 0, "text": "x"}]}'),),
    "openai_responses": (
        (b"response.output_text.delta", b'{"type": "response.output_text.delta", "delta": "x"}'),
        (b"response.completed", b'{"type": "response.completed", "response": {"output": []}}'),
    ),
    "anthropic": (
        (b"message_start", b'{"type": "message_start", "message": {"content": [], "usage": {}}}'),
        (b"content_block_delta", b'{"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}}'),
        (b"message_delta", b'{"type": "message_delta", "delta": {}, "usage": {}}'),
    ),
}


class SdkTransport:
    """A drop-in for the transport it sends through; one instance serves a whole run, as an async context manager.

    ``network`` is opened and closed with it. ``wires`` are the names of those that will be spoken. Entering it makes
    their SDKs ready, so that no request pays for that, and raises UsageError when one has no SDK
    (:func:`vendor_verifier.transport.sdk_adapter.require_sdks` says so earlier).
    """

    def __init__(self, network: AbstractAsyncContextManager[Client], wires: Iterable[str] = ()) -> None:
        self._opening = network
        self._wires = frozenset(wires)
        self._seam = Seam()
        self._http = client_over(self._seam)
        self._sdks: dict[str, Any] = {}
        self._turns = _Turns()

    async def __aenter__(self) -> SdkTransport:
        require_sdks(self._wires)
        for wire in sorted(self._wires):
            await self._warm_up(wire)
        self._network = await self._opening.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()
        await self._opening.__aexit__(kind, error, trace)

    async def exchange(self, sending: Sending) -> Exchange:
        """Send one request through the SDK of its wire; times and limits are the network's alone.

        Raises:
            UsageError: the wire has no SDK.
        """
        call = _Call(self._network, self._turns, sending)
        with self._seam.sending(call.send):
            return await call.run(self._sdk(sending.wire))

    def _sdk(self, wire: str) -> Any:
        if wire not in self._sdks:
            require_sdks((wire,))
            self._sdks[wire] = sdk_client(wire, self._http)
        return self._sdks[wire]

    async def _warm_up(self, wire: str) -> None:
        """Let the SDK read one canned answer: it builds its types at the first, and would hold up every stream then."""
        events = b"".join(b"event: " + name + b"\ndata: " + data + b"\n\n" for name, data in _CANNED[wire])
        headers = {"content-type": "text/event-stream"}
        canned = Exchange(sent_at="", end_ns=0, status=200, headers=headers, chunks=[(0, events)])

        async def send(_: httpx2.Request) -> Exchange:
            return canned

        with self._seam.sending(send):
            async for _ in await open_stream(self._sdk(wire), wire, _WARM_UP):
                pass


class _Turns(msgspec.Struct, frozen=True):
    """Locks for one SDK call at a time that asks and one that reads, so that the loop can read sockets between two."""

    asking: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    reading: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)


class _Call:
    """One request in flight: the SDK's request on one side, the network's exchange on the other."""

    def __init__(self, network: Client, turns: _Turns, sending: Sending) -> None:
        self._network = network
        self._turns = turns
        self._sending = sending
        self._request = sending.request
        self._wire = sending.wire
        self._turn = AsyncExitStack()
        self._exchange: Exchange | None = None
        self._has_items = False
        self._bug: Exception | None = None

    async def run(self, sdk: Any) -> Exchange:
        """Ask through ``sdk``, and let it read what came."""
        error: Exception | None = None
        try:
            await self._use(sdk)
        except Exception as raised:  # noqa: BLE001 whatever an SDK raises is what an application would see
            error = raised
        if self._bug is not None:
            raise self._bug
        if self._exchange is None:
            return self._unsent(error)
        return structs.replace(self._exchange, failure=self._exchange.failure or self._failure(self._exchange, error))

    async def _use(self, sdk: Any) -> None:
        body = json.loads(self._request.body)
        async with self._turn:
            await self._turn.enter_async_context(self._turns.asking)
            stream = await open_stream(sdk, self._wire, body)
            slices = Slices()
            async for _ in stream:
                self._has_items = True
                await slices.rest_if_over()

    async def send(self, request: httpx2.Request) -> Exchange:
        """Send the SDK's request; other calls have their turn until the answer is there."""
        sent = HttpRequest(self._request.url, self._merged_headers(request), await request.aread())
        await self._turn.aclose()
        try:
            self._exchange = await self._network.exchange(structs.replace(self._sending, request=sent))
        except Exception as error:
            # An SDK would take it for the vendor's.
            self._bug = error
            raise
        await self._turn.enter_async_context(self._turns.reading)
        return self._exchange

    def _merged_headers(self, request: httpx2.Request) -> dict[str, str]:
        own = {
            name: value
            for name, value in request.headers.items()
            if name in _SDK_HEADERS or name.startswith(_SDK_HEADER_PREFIX)
        }
        wires = {name.lower(): value for name, value in self._request.headers.items()}
        return {**own, **{name: value for name, value in wires.items() if name not in ("accept", "content-type")}}

    def _failure(self, exchange: Exchange, error: Exception | None) -> Failure | None:
        """The failure that the SDK alone makes of a sound, successful answer."""
        if exchange.status is None or not 200 <= exchange.status < 300:
            return None
        if error is not None:
            words = f"the {sdk_name(self._wire)} raised {named_error(error)}"
            return Failure.of("bad_payload", words, exchange.status)
        if not self._has_items and self._can_be_read(exchange):
            content_type = exchange.headers.get("content-type", "(none)")
            words = f"the {sdk_name(self._wire)} yielded nothing of an answer of type {content_type}"
            return Failure.of("bad_payload", words, exchange.status)
        return None

    def _can_be_read(self, exchange: Exchange) -> bool:
        """Whether there is a token in it, or a body in one piece that is no page."""
        if exchange.body[:64].lstrip().startswith(b"<"):
            return False
        if exchange.chunks:
            # A transport need not look for progress in the last piece, and looking twice finds no more.
            self._sending.meter.feed(exchange.chunks[-1][1])
        return self._sending.meter.has_token

    def _unsent(self, error: Exception | None) -> Exchange:
        """The exchange of a call whose SDK gave up before it sent anything: not the vendor's failure."""
        words = f"the {SDK_OF_WIRE[self._wire]} SDK sent nothing"
        if error is not None:
            words += f": {named_error(error)}"
        return Exchange(
            sent_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            end_ns=0,
            failure=Failure.of("harness", words),
        )


def named_error(error: Exception) -> str:
    """An exception's class and the first line of its words."""
    first_line = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first_line[:300]}" if first_line else type(error).__name__
