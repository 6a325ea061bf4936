"""The client of a run by name (:func:`open_client`), and the transport that costs little (:class:`FastTransport`).

It follows no redirect, keeps no cookie, retries nothing and raises nothing on a vendor's behaviour: whatever stops an
exchange is a :class:`Failure` in it. Origins behind a proxy (``HTTP_PROXY`` and the like) are reached through it.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from itertools import chain
from typing import Any

from vendor_verifier import __version__
from vendor_verifier.errors import UsageError
from vendor_verifier.records.plan import ClientName, Limits
from vendor_verifier.records.record import Exchange, Failure
from vendor_verifier.transport.connection import HttpConnection, Origin, request_head
from vendor_verifier.transport.exchange import ActiveExchange, Client, Sending
from vendor_verifier.transport.proxies import Proxy, proxy_for, require_proxies

_KEEP_ALIVE_NS = 30 * 10**9
_HEADERS = {
    "accept": "*/*",
    "connection": "keep-alive",
    # No compression: a compressing proxy holds tokens back until its block is full.
    "accept-encoding": "identity",
    "user-agent": f"agent-vendor-verifier/{__version__}",
}


class FastTransport:
    """Sends requests over own connections. One instance serves a whole run; use as an async context manager."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._idle: defaultdict[Origin, list[HttpConnection]] = defaultdict(list)
        self._context = functools.cache(_tls_context)
        self._head = functools.lru_cache(256)(self._make_head)

    async def __aenter__(self) -> FastTransport:
        return self

    async def __aexit__(self, *_: Any) -> None:
        for connection in chain.from_iterable(self._idle.values()):
            connection.abort()
        # Aborted connections close in the next round of the loop.
        await asyncio.sleep(0)

    async def exchange(self, sending: Sending) -> Exchange:
        """Send one request and collect the answer."""
        request = sending.request
        attempt = ActiveExchange(self._limits, sending)
        try:
            origin, head, proxy = self._head(request.method, request.url, tuple(request.headers.items()))
        except (ValueError, OSError) as error:
            attempt.failure = Failure.of("harness", f"the request cannot be sent: {error}")
            return attempt.exchange()
        kept = None if sending.fresh else self._take(origin)
        connection = kept or await attempt.connect(origin, self._context, proxy)
        if connection is not None:
            data = b"%b%d\r\n\r\n%b" % (head, len(request.body), request.body)
            await attempt.talk(connection, data, is_reused=kept is not None)
            if connection.reusable:
                self._idle[origin].append(connection)
        return attempt.exchange()

    def _take(self, origin: Origin) -> HttpConnection | None:
        """An idle connection that is open as far as can be seen from here, or None."""
        oldest_ns = time.perf_counter_ns() - _KEEP_ALIVE_NS
        while self._idle[origin]:
            connection = self._idle[origin].pop()
            if connection.idle_since_ns > oldest_ns and connection.can_be_used():
                return connection
            connection.abort()
        return None

    def _make_head(
        self, method: str, url: str, headers: tuple[tuple[str, str], ...]
    ) -> tuple[Origin, bytes, Proxy | None]:
        """Where to send, the request's head, and the proxy on the way.

        Raises:
            ValueError: the address or a header is not valid HTTP; the message does not quote it.
        """
        origin, head = request_head(url, dict(headers), _HEADERS, method)
        if origin.scheme == "https":
            # TLS settings are read before the first handshake is timed.
            self._context()
        return origin, head, proxy_for(url)


def _tls_context() -> ssl.SSLContext:
    # Slow to load: a run that speaks plain http does not wait for it.
    import httpx2

    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def require_network(addresses: Sequence[str]) -> None:
    """Check that the proxies and the certificates for ``addresses`` can be used, before anything is sent.

    Raises:
        UsageError: with the variable of the environment that is wrong.
    """
    require_proxies(addresses)
    try:
        if any(address.lower().startswith("https:") for address in addresses):
            _tls_context()
    except OSError as error:
        words = f"SSL_CERT_FILE cannot be used ({error.strerror or error})"
        raise UsageError(f"{words}; name a file of certificates (PEM), or unset it") from None


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
