"""The client of a run by name (:func:`open_client`), and the transport that costs little (:class:`FastTransport`).

The transport has one protocol object a connection, stamps time in the byte callback and has no pool to wait for. It
follows no redirect, keeps no cookie, retries nothing and raises nothing on a vendor's behaviour: whatever stops an
exchange is a :class:`Failure` in it. Origins behind a proxy (``HTTP_PROXY`` and the like) are reached through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ssl
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from types import TracebackType

from vendor_verifier import __version__
from vendor_verifier.lazy_import import load_without
from vendor_verifier.records.plan import ClientName, Limits
from vendor_verifier.records.record import Exchange, Failure
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.transport.connection import HttpConnection, Origin, RequestHead, request_head
from vendor_verifier.transport.exchange import ActiveExchange
from vendor_verifier.transport.policy import Client, Sending
from vendor_verifier.transport.proxies import Proxy, proxy_for

_KEEP_ALIVE_NS = 30 * 10**9
# Kept connections that a server closed, one after the other, before it counts as one that keeps none.
_CLOSED_IN_A_ROW = 8
# Of such a server's connections every so many-th is kept all the same, to learn when it keeps them again.
_TRIED = 16


class _Kept:
    """The idle connections to one origin, and how many of them its server closed in a row.

    A request that crosses the closing of its connection on the way has to be sent twice, so connections of a server
    that closes them again and again are hardly ever used again.
    """

    def __init__(self) -> None:
        self._idle: list[HttpConnection] = []
        self._closed_in_a_row = 0
        self._passed_over = 0

    def take(self) -> HttpConnection | None:
        """An idle connection that still stands as far as can be seen from here, or None; report to :meth:`learn`."""
        oldest_ns = time.perf_counter_ns() - _KEEP_ALIVE_NS
        while self._idle:
            connection = self._idle.pop()
            if connection.idle_since_ns > oldest_ns:
                if connection.can_be_used():
                    return connection
                self.learn(was_open=False)
            connection.abort()
        return None

    def learn(self, *, was_open: bool) -> None:
        """Note whether a connection taken from here took one more request."""
        self._closed_in_a_row = 0 if was_open else self._closed_in_a_row + 1

    def put(self, connection: HttpConnection) -> None:
        """Keep an idle connection, or close it where its server closes kept ones anyway."""
        if self._closed_in_a_row >= _CLOSED_IN_A_ROW:
            self._passed_over = (self._passed_over + 1) % _TRIED
            if self._passed_over:
                connection.abort()
                return
        self._idle.append(connection)

    def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            self._idle.pop().abort()


_DEFAULT_HEADERS = {
    "accept": "*/*",
    "connection": "keep-alive",
    # No compression: a compressing proxy holds tokens back until its block is full.
    "accept-encoding": "identity",
    "user-agent": f"agent-vendor-verifier/{__version__}",
}
_HEADS_KEPT = 256


class FastTransport:
    """Sends requests over own connections. One instance serves a whole run; use as an async context manager."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: defaultdict[Origin, _Kept] = defaultdict(_Kept)
        self._heads: dict[tuple[object, ...], tuple[RequestHead, Proxy | None]] = {}
        self._context = functools.cache(_tls_context)

    async def __aenter__(self) -> FastTransport:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for kept in self._kept.values():
            kept.close()
        # Aborted connections close in the next round of the loop.
        await asyncio.sleep(0)

    async def exchange(self, sending: Sending) -> Exchange:
        """Send one request and collect the answer."""
        request = sending.request
        attempt = ActiveExchange(self._limits, sending)
        try:
            head, proxy = self._head(request)
        except ValueError as error:
            attempt.failure = Failure.of("harness", f"the request cannot be sent: {error}")
            return attempt.exchange()
        kept = self._kept[head.origin]
        taken = None if sending.fresh else kept.take()
        connection = taken or await attempt.connect(head.origin, self._context, proxy)
        if connection is not None:
            await attempt.talk(connection, head.with_body(request.body), is_reused=taken is not None)
            if taken is not None:
                kept.learn(was_open=not attempt.is_lost)
            if connection.reusable:
                kept.put(connection)
        return attempt.exchange()

    def _head(self, request: HttpRequest) -> tuple[RequestHead, Proxy | None]:
        """The request's head, and the proxy on the way.

        Raises:
            ValueError: the address or a header is not valid HTTP; the message does not quote it.
        """
        key = (request.method, request.url, *request.headers.items())
        if key not in self._heads:
            if len(self._heads) >= _HEADS_KEPT:
                self._heads.clear()
            head = request_head(request.url, request.headers, _DEFAULT_HEADERS, request.method)
            if head.origin.scheme == "https":
                # TLS settings are read before the first handshake is timed; that tells what is wrong with them.
                with contextlib.suppress(OSError):
                    self._context()
            self._heads[key] = (head, proxy_for(request.url))
        return self._heads[key]


def _tls_context() -> ssl.SSLContext:
    # Slow to load: a run that speaks plain http does not wait for it.
    import httpx2

    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load_ahead() -> None:
    """Load what the first retry and the first host name need: amid a run that makes every answer under way late."""
    # Where the extra `dask` is installed there is tornado, which takes three times as long as all of tenacity.
    load_without("tenacity", "tornado")
    import_module("encodings.idna")


def open_client(name: ClientName, limits: Limits, wires: Iterable[str]) -> AbstractAsyncContextManager[Client]:
    """The client of a run. ``wires`` are the names of the protocols it will speak; an SDK lies on our transport, too.

    Raises:
        UsageError: on entering, when a protocol has no official SDK.
    """
    _load_ahead()
    if name == "sdk":
        # Loaded only by those who ask for it.
        from vendor_verifier.transport.sdk import SdkTransport

        return SdkTransport(FastTransport(limits), wires)
    return FastTransport(limits)
