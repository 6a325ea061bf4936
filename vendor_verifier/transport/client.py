"""The client of a run by name (:func:`open_client`), and the transport that costs little (:class:`FastTransport`).

It follows no redirect, keeps no cookie, retries nothing and raises nothing on a vendor's behaviour: whatever stops an
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
from typing import Any

from vendor_verifier import __version__
from vendor_verifier.records.plan import ClientName, Limits
from vendor_verifier.records.record import Exchange, Failure
from vendor_verifier.transport.connection import HttpConnection, Origin, request_head
from vendor_verifier.transport.exchange import ActiveExchange
from vendor_verifier.transport.policy import Client, Sending
from vendor_verifier.transport.proxies import Proxy, proxy_for

_KEEP_ALIVE_NS = 30 * 10**9
# Kept connections that a server closed, one after the other, before it counts as one that keeps none.
_CLOSED_IN_A_ROW = 8
# Of such a server's connections one in so many is kept all the same, to learn when it keeps them again.
_TRIED = 16
_HEADERS = {
    "accept": "*/*",
    "connection": "keep-alive",
    # No compression: a compressing proxy holds tokens back until its block is full.
    "accept-encoding": "identity",
    "user-agent": f"agent-vendor-verifier/{__version__}",
}


class _Idle:
    """The idle connections to one origin, and how many of them its server closed in a row.

    A request that crosses the closing of its connection on the way has to be sent twice, so connections of a server
    that closes them again and again are hardly ever used again.
    """

    def __init__(self) -> None:
        self._connections: list[HttpConnection] = []
        self._closed_in_a_row = 0
        self._passed_over = 0

    def take(self) -> HttpConnection | None:
        """A connection that is open as far as can be seen from here, or None."""
        oldest_ns = time.perf_counter_ns() - _KEEP_ALIVE_NS
        while self._connections:
            connection = self._connections.pop()
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
        """Keep a connection, or close it where its server closes kept ones anyway."""
        if self._closed_in_a_row >= _CLOSED_IN_A_ROW:
            self._passed_over += 1
            if self._passed_over % _TRIED:
                connection.abort()
                return
        self._connections.append(connection)

    def close(self) -> None:
        while self._connections:
            self._connections.pop().abort()


class FastTransport:
    """Sends requests over own connections. One instance serves a whole run; use as an async context manager."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._idle: defaultdict[Origin, _Idle] = defaultdict(_Idle)
        self._context = functools.cache(_tls_context)
        self._head = functools.lru_cache(256)(self._make_head)

    async def __aenter__(self) -> FastTransport:
        return self

    async def __aexit__(self, *_: Any) -> None:
        for idle in self._idle.values():
            idle.close()
        # Aborted connections close in the next round of the loop.
        await asyncio.sleep(0)

    async def exchange(self, sending: Sending) -> Exchange:
        """Send one request and collect the answer."""
        request = sending.request
        attempt = ActiveExchange(self._limits, sending)
        try:
            origin, head, proxy = self._head(request.method, request.url, tuple(request.headers.items()))
        except ValueError as error:
            attempt.failure = Failure.of("harness", f"the request cannot be sent: {error}")
            return attempt.exchange()
        idle = self._idle[origin]
        kept = None if sending.fresh else idle.take()
        connection = kept or await attempt.connect(origin, self._context, proxy)
        if connection is not None:
            data = b"%b%d\r\n\r\n%b" % (head, len(request.body), request.body)
            await attempt.talk(connection, data, is_reused=kept is not None)
            if kept is not None:
                idle.learn(was_open=not attempt.is_lost)
            if connection.reusable:
                idle.put(connection)
        return attempt.exchange()

    def _make_head(
        self, method: str, url: str, headers: tuple[tuple[str, str], ...]
    ) -> tuple[Origin, bytes, Proxy | None]:
        """Where to send, the request's head, and the proxy on the way.

        Raises:
            ValueError: the address or a header is not valid HTTP; the message does not quote it.
        """
        origin, head = request_head(url, dict(headers), _HEADERS, method)
        if origin.scheme == "https":
            # TLS settings are read before the first handshake is timed; that tells what is wrong with them.
            with contextlib.suppress(OSError):
                self._context()
        return origin, head, proxy_for(url)


def _tls_context() -> ssl.SSLContext:
    # Slow to load: a run that speaks plain http does not wait for it.
    import httpx2

    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def open_client(name: ClientName, limits: Limits, wires: Iterable[str]) -> AbstractAsyncContextManager[Client]:
    """The client of a run. ``wires`` are the names of the protocols it will speak; an SDK lies on our transport, too.

    Raises:
        UsageError: on entering, when a protocol has no official SDK.
    """
    # What the first retry and the first host name need: loaded amid a run, it makes every answer under way late.
    import_module("tenacity")
    import_module("encodings.idna")
    if name == "sdk":
        # Loaded only by those who ask for it.
        from vendor_verifier.transport.sdk import SdkTransport

        return SdkTransport(FastTransport(limits), wires)
    return FastTransport(limits)
