"""Where the official SDKs lie on our transports: to an SDK an httpx2 transport, to us an exchange that is over.

It opens no connection and times nothing: an SDK gets its answer when the last byte of it has been stamped, in the
pieces in which it came, so that no time holds what the SDK costs. What broke the exchange is raised where it broke, as
the exception that httpx2 itself raises there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from vendor_verifier.run.slices import Slices
from vendor_verifier.values.exchange import Exchange
from vendor_verifier.values.record import Failure, FailureKind

Send = Callable[[httpx2.Request], Awaitable[Exchange]]

# The body reaches the SDK decoded and unframed, whatever it was on the network.
_TRANSFER_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
_RAISED: Mapping[FailureKind, type[httpx2.RequestError]] = {
    "dns": httpx2.ConnectError,
    "connect_refused": httpx2.ConnectError,
    "connect": httpx2.ConnectError,
    "tls": httpx2.ConnectError,
    "timeout_connect": httpx2.ConnectTimeout,
    "timeout_first_token": httpx2.ReadTimeout,
    "timeout_idle": httpx2.ReadTimeout,
    "timeout_total": httpx2.ReadTimeout,
    "connection_reset": httpx2.ReadError,
    "protocol": httpx2.RemoteProtocolError,
    "truncated": httpx2.RemoteProtocolError,
    "bad_payload": httpx2.DecodingError,
    "proxy": httpx2.ProxyError,
    "harness": httpx2.LocalProtocolError,
}


class Seam(httpx2.AsyncBaseTransport):
    """Serves any number of tasks at once; what each of them asks for goes to the ``send`` it brought."""

    def __init__(self) -> None:
        self._send: ContextVar[Send] = ContextVar("send")

    @contextmanager
    def sending(self, send: Send) -> Iterator[None]:
        """Requests of this task go to ``send`` from here on."""
        before = self._send.set(send)
        try:
            yield
        finally:
            self._send.reset(before)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return response_of(await self._send.get()(request), request)


def client_over(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    """What an SDK is given as its HTTP client; it keeps no cookie."""
    return httpx2.AsyncClient(transport=transport, cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])))


def replaying_client(exchange: Exchange) -> httpx2.AsyncClient:
    """Answers everything with one recorded exchange, and sends nothing."""
    return client_over(httpx2.MockTransport(lambda request: response_of(exchange, request)))


def response_of(exchange: Exchange, request: httpx2.Request) -> httpx2.Response:
    """The answer to ``request``, to be read piece by piece.

    Raises:
        httpx2.RequestError: there was none. Reading one that broke off raises the same at the place.
    """
    if exchange.status is None:
        raise _error(exchange.failure, request)
    headers = {name: value for name, value in exchange.headers.items() if name not in _TRANSFER_HEADERS}
    return httpx2.Response(exchange.status, headers=headers, stream=_Pieces(exchange, request), request=request)


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, exchange: Exchange, request: httpx2.Request) -> None:
        self._exchange = exchange
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        slices = Slices()
        for _, piece in self._exchange.chunks:
            await slices.rest_if_over()
            yield piece
        if self._exchange.failure is not None:
            raise _error(self._exchange.failure, self._request)


def _error(failure: Failure | None, request: httpx2.Request) -> httpx2.RequestError:
    if failure is None:
        return httpx2.ConnectError("no answer was recorded", request=request)
    return _RAISED.get(failure.kind, httpx2.ReadError)(failure.message, request=request)
