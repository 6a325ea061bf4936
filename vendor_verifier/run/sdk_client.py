"""Sends requests through the official SDKs, for who must know what an application built on them sees; retries nothing.

What is whose: the SDK builds the request and reads the answer, our :class:`Transport` lies underneath and is the only
one that touches the network. So time limits, size caps, proxies, redirects (never followed) and the record's bytes are
the same as without an SDK. Of the SDK's own headers only those that identify and shape the request are let through;
address, key and extra headers are the wire's, and nothing of the environment (``OPENAI_ORG_ID`` and the like) is sent.

What is measured where:

* status, headers, connecting, the zero of all times: the network, as without an SDK;
* chunks: each is stamped with the moment at which the SDK yielded the first item after taking it, so token moments are
  the application's. Chunks after which nothing was yielded keep the moment they arrived;
* the end: when both the network and the SDK were done;
* content, usage and finish reason: our own reader, from the same bytes. Where the SDK raises on an answer whose
  transport was sound, or yields nothing of it, the exchange fails as ``bad_payload`` and names the exception, because
  that is all an application would get. What the SDK loses more quietly is found by ``doctor --sdk``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType

import anyio
import httpx2

from vendor_verifier.run.sdk_calls import SDK_OF_WIRE, open_stream, require_sdks, sdk_client, sdk_name
from vendor_verifier.run.transport import Transport
from vendor_verifier.values.exchange import Exchange
from vendor_verifier.values.plan import Limits
from vendor_verifier.values.record import Failure
from vendor_verifier.values.request import HttpRequest
from vendor_verifier.wire.progress import ProgressMeter

_SDK_HEADERS = ("accept", "content-type", "user-agent", "anthropic-version", "anthropic-beta")
_SDK_HEADER_PREFIX = "x-stainless-"
# The body reaches the SDK decoded and in one piece, whatever it was on the network.
_TRANSFER_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
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
    """A drop-in for :class:`Transport`; one instance serves a whole run, as an async context manager.

    ``wires`` are the names of those that will be spoken. Entering it makes their SDKs ready, so that no request pays
    for that, and raises UsageError when one has no SDK or it is not installed
    (:func:`vendor_verifier.run.sdk_calls.require_sdks` says so earlier).
    """

    def __init__(self, limits: Limits, wires: Iterable[str] = ()) -> None:
        self._transport = Transport(limits)
        self._wires = frozenset(wires)

    async def __aenter__(self) -> SdkTransport:
        require_sdks(self._wires)
        for wire in sorted(self._wires):
            await _warm_up(wire)
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def exchange(
        self,
        request: HttpRequest,
        meter: ProgressMeter,
        scheduled_at_ns: int,
        *,
        wire: str,
        total_s: float | None = None,
    ) -> Exchange:
        """Send ``request`` through the SDK of ``wire``. Times are as :meth:`Transport.exchange` gives them.

        Raises:
            UsageError: the wire has no SDK, or it is not installed.
        """
        require_sdks((wire,))
        return await _Call(self._transport, request, meter, scheduled_at_ns, wire, total_s).run()


class _Call(httpx2.AsyncBaseTransport):
    """One request under way, seen from both sides: the SDK's HTTP transport, and the listener of ours."""

    def __init__(
        self,
        transport: Transport,
        request: HttpRequest,
        meter: ProgressMeter,
        scheduled_at_ns: int,
        wire: str,
        total_s: float | None = None,
    ) -> None:
        self._transport = transport
        self._total_s = total_s
        self._request = request
        self._meter = meter
        self._scheduled_at_ns = scheduled_at_ns
        self._wire = wire
        self._send, self._arrived = anyio.create_memory_object_stream[bytes](math.inf)
        self._answered = anyio.Event()
        self._status: int | None = None
        self._headers: Mapping[str, str] = {}
        self._network: Exchange | None = None
        self._taken = 0
        self._stamps_ns: list[int] = []
        self._error: Exception | None = None
        self._done_ns = 0

    async def run(self) -> Exchange:
        with self._send, self._arrived:
            async with anyio.create_task_group() as self._group:
                try:
                    await self._use_sdk()
                except Exception as error:  # noqa: BLE001 whatever an SDK raises is what an application would see
                    self._error = error
                self._done_ns = time.perf_counter_ns()
        return self._exchange()

    async def _use_sdk(self) -> None:
        body = json.loads(self._request.body)
        async with httpx2.AsyncClient(transport=self) as http:
            stream = await open_stream(sdk_client(self._wire, http), self._wire, body)
            async for _ in stream:
                now_ns = time.perf_counter_ns()
                self._stamps_ns += [now_ns] * (self._taken - len(self._stamps_ns))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The SDK sends: our transport does it in a task of its own, so that reading never waits for the SDK."""
        sent = HttpRequest(self._request.url, self._merged_headers(request), await request.aread())
        self._group.start_soon(self._talk, sent)
        await self._answered.wait()
        if self._status is None:
            raise httpx2.ConnectError(self._words(), request=request)
        headers = {name: value for name, value in self._headers.items() if name not in _TRANSFER_HEADERS}
        return httpx2.Response(self._status, headers=headers, stream=_Arriving(self._chunks()), request=request)

    def headers(self, status: int, headers: Mapping[str, str]) -> None:
        self._status = status
        self._headers = headers
        self._answered.set()

    def chunk(self, chunk: bytes) -> None:
        self._send.send_nowait(chunk)

    async def _talk(self, request: HttpRequest) -> None:
        self._network = await self._transport.exchange(
            request, self._meter, self._scheduled_at_ns, total_s=self._total_s, listener=self
        )
        self._send.close()
        self._answered.set()

    async def _chunks(self) -> AsyncGenerator[bytes]:
        async for chunk in self._arrived:
            self._taken += 1
            yield chunk
        if self._network is not None and self._network.failure is not None:
            raise httpx2.ReadError(self._words())

    def _words(self) -> str:
        failure = self._network.failure if self._network is not None else None
        return failure.message if failure is not None else "no answer"

    def _merged_headers(self, request: httpx2.Request) -> dict[str, str]:
        own = {
            name: value
            for name, value in request.headers.items()
            if name in _SDK_HEADERS or name.startswith(_SDK_HEADER_PREFIX)
        }
        wires = {name.lower(): value for name, value in self._request.headers.items()}
        return {**own, **{name: value for name, value in wires.items() if name not in ("accept", "content-type")}}

    def _exchange(self) -> Exchange:
        network = self._network
        if network is None:
            return self._unsent()
        zero_ns = self._scheduled_at_ns - (network.scheduled_ns or 0)
        chunks: list[tuple[int, bytes]] = []
        for number, (arrived_ns, chunk) in enumerate(network.chunks):
            seen_ns = self._stamps_ns[number] - zero_ns if number < len(self._stamps_ns) else arrived_ns
            chunks.append((max(seen_ns, chunks[-1][0] if chunks else 0), chunk))
        end_ns = max(network.end_ns, self._done_ns - zero_ns)
        return replace(network, chunks=chunks, end_ns=end_ns, failure=network.failure or self._failure(network))

    def _failure(self, network: Exchange) -> Failure | None:
        """What the SDK alone makes of a sound, successful answer."""
        if network.status is None or not 200 <= network.status < 300:
            return None
        if self._error is not None:
            words = f"the {sdk_name(self._wire)} raised {named_error(self._error)}"
            return Failure("bad_payload", "parse", words, network.status)
        is_page = network.body[:64].lstrip().startswith(b"<")
        if not self._stamps_ns and self._meter.has_token and not is_page:
            content_type = network.headers.get("content-type", "(none)")
            words = f"the {sdk_name(self._wire)} yielded nothing of an answer of type {content_type}"
            return Failure("bad_payload", "parse", words, network.status)
        return None

    def _unsent(self) -> Exchange:
        """The SDK gave up before it sent anything: nothing of it is the vendor's."""
        words = f"the {SDK_OF_WIRE[self._wire]} SDK sent nothing"
        if self._error is not None:
            words += f": {named_error(self._error)}"
        return Exchange(
            sent_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            end_ns=0,
            failure=Failure("harness", "send", words),
        )


class _Arriving(httpx2.AsyncByteStream):
    """A body still arriving; closing it ends the reading, never the exchange."""

    def __init__(self, chunks: AsyncGenerator[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        await self._chunks.aclose()


async def _warm_up(wire: str) -> None:
    """Let the SDK read one canned answer: it builds its types at the first, and would hold up every stream then."""
    events = b"".join(b"event: " + name + b"\ndata: " + data + b"\n\n" for name, data in _CANNED[wire])
    headers = {"content-type": "text/event-stream"}
    canned = Exchange(sent_at="", end_ns=0, status=200, headers=headers, chunks=[(0, events)])
    body = {"model": "m", "max_tokens": 1, "messages": [], "input": "", "prompt": "", "stream": True}
    async with replaying_client(canned) as http:
        async for _ in await open_stream(sdk_client(wire, http), wire, body):
            pass


def replaying_client(exchange: Exchange) -> httpx2.AsyncClient:
    """An HTTP client that answers everything with a recorded exchange, in its chunks, and sends nothing.

    A recorded break of the transport breaks the replay at the same place.
    """

    def answer(request: httpx2.Request) -> httpx2.Response:
        if exchange.status is None:
            raise httpx2.ConnectError("no answer was recorded", request=request)
        headers = {name: value for name, value in exchange.headers.items() if name not in _TRANSFER_HEADERS}
        return httpx2.Response(exchange.status, headers=headers, stream=_Arriving(_recorded(exchange)), request=request)

    return httpx2.AsyncClient(transport=httpx2.MockTransport(answer))


async def _recorded(exchange: Exchange) -> AsyncGenerator[bytes]:
    chunks: Iterable[tuple[int, bytes]] = exchange.chunks
    for _, chunk in chunks:
        yield chunk
    if exchange.failure is not None:
        raise httpx2.ReadError(exchange.failure.message)


def named_error(error: Exception) -> str:
    """An exception as it is told: its class and the first line of its words."""
    first_line = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first_line[:300]}" if first_line else type(error).__name__
