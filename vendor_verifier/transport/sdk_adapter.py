"""The joint between the official SDKs and our transports: to an SDK an httpx2 transport, to us a finished exchange.

It opens no connection and times nothing: an SDK gets its answer when the last byte has been stamped, in the pieces in
which it came, so that no time holds what the SDK costs. What broke the exchange is raised where it broke, as the
exception that httpx2 itself raises there.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Exchange, Failure, FailureKind
from vendor_verifier.transport.policy import Slices, silence

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
    """An httpx2 transport for any number of tasks; each task's requests go to the ``send`` it brought."""

    def __init__(self) -> None:
        self._send: ContextVar[Send] = ContextVar("send")

    @contextmanager
    def sending(self, send: Send) -> Iterator[None]:
        """Direct this task's requests to ``send``."""
        before = self._send.set(send)
        try:
            yield
        finally:
            self._send.reset(before)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return response_of(await self._send.get()(request), request)


def client_over(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    """An SDK's HTTP client over ``transport``; it keeps no cookie."""
    return httpx2.AsyncClient(transport=transport, cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])))


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


SDK_OF_WIRE: Mapping[str, str] = {
    "openai": "openai",
    "openai_responses": "openai",
    "openai_completions": "openai",
    "anthropic": "anthropic",
}
# The address and key in the SDK's own request are replaced before anything is sent.
_NOWHERE = "http://sdk.invalid/v1"
_NO_KEY = "replaced-before-sending"


def require_sdks(wires: Iterable[str]) -> None:
    """Import the SDKs that these wires need, so that no request pays for it.

    Raises:
        UsageError: a wire has no SDK here.
    """
    wanted = sorted(set(wires))
    strangers = [wire for wire in wanted if wire not in SDK_OF_WIRE]
    if strangers:
        known = ", ".join(SDK_OF_WIRE)
        raise UsageError(f"no official SDK is used for the wire {', '.join(strangers)}; there is one for {known}")
    for package in sorted({SDK_OF_WIRE[wire] for wire in wanted}):
        _package(package)


def _package(name: str) -> Any:
    """The SDK's module, imported when it is first wanted: the two take longer to load than all else together."""
    package: Any
    if name == "anthropic":
        import anthropic

        package = anthropic
    else:
        import openai

        package = openai
    # After the import, which sets a level of its own.
    silence(name)
    return package


def sdk_name(wire: str) -> str:
    """The package and its version, as an error message names it."""
    package = SDK_OF_WIRE[wire]
    return f"{package} SDK {_package(package).__version__}"


def sdk_client(wire: str, http_client: Any) -> Any:
    """The SDK's asynchronous client over ``http_client``, its retries off."""
    package = _package(SDK_OF_WIRE[wire])
    kind = package.AsyncAnthropic if SDK_OF_WIRE[wire] == "anthropic" else package.AsyncOpenAI
    # No time limit of its own: ours lie underneath, and the SDK refuses long answers in one piece without one.
    return kind(api_key=_NO_KEY, base_url=_NOWHERE, http_client=http_client, max_retries=0, timeout=None)


async def open_stream(client: Any, wire: str, body: Mapping[str, Any]) -> AsyncIterator[Any]:
    """The items of the answer to ``body`` as the SDK yields them, or the one whole answer."""
    create = {
        "openai": lambda: client.chat.completions.create,
        "openai_responses": lambda: client.responses.create,
        "openai_completions": lambda: client.completions.create,
        "anthropic": lambda: client.messages.create,
    }[wire]()
    answer = await create(**arguments_for(create, body))
    return answer if body.get("stream") is True else _one(answer)


async def _one(answer: Any) -> AsyncIterator[Any]:
    yield answer


def arguments_for(method: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """``body`` as keyword arguments: what the method has a parameter for by name, the rest as ``extra_body``."""
    known = inspect.signature(method).parameters
    arguments = {name: value for name, value in body.items() if name in known}
    rest = {name: value for name, value in body.items() if name not in known}
    return {**arguments, **({"extra_body": rest} if rest else {})}
