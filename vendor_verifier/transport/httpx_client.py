"""The transport over httpx2, for proxies, odd addresses, and whoever asks for it by ``--transport httpx2``.

It looks into an answer for progress alone (for the time limits), follows no redirect, keeps no cookie, retries nothing
and raises nothing on a vendor's behaviour: whatever stops an exchange is a :class:`Failure` in it.
"""

from __future__ import annotations

import socket
import ssl
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2

from vendor_verifier.transport import policy
from vendor_verifier.transport.exchange import Answer
from vendor_verifier.transport.policy import HTTP_LOGGERS, Closings, Sending, Slices, silence
from vendor_verifier.transport.proxies import Proxy, proxy_for
from vendor_verifier.transport.unpacking import unpacked, unpacker_of
from vendor_verifier.values.plan import Limits
from vendor_verifier.values.record import Exchange, Failure, FailureKind, Phase
from vendor_verifier.values.request import HttpRequest
from vendor_verifier.wire.sse import in_small_pieces

_PROXY_WANTS_A_PASSWORD = 407


class Transport:
    """Sends requests. One instance serves a whole run; use as an async context manager."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        silence(*HTTP_LOGGERS)
        self._context = tls_context()
        self._closings = Closings()
        # What connecting to a host took last.
        self._round_trips_ns: dict[str, int] = {}
        self._clients: dict[tuple[str | None, bool], httpx2.AsyncClient] = {(None, True): self._open(None, keeps=True)}

    def _client(self, proxy: Proxy | None, *, keeps: bool) -> httpx2.AsyncClient:
        """The client over ``proxy``, or a direct one; unless ``keeps`` it opens a connection for each request."""
        key = (None if proxy is None else proxy.url, keeps)
        if key not in self._clients:
            self._clients[key] = self._open(key[0], keeps=keeps)
        return self._clients[key]

    def _open(self, proxy: str | None, *, keeps: bool) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            # There is one reader of the environment's proxies, and it is not the library.
            trust_env=False,
            proxy=proxy,
            headers=policy.DEFAULT_HEADERS,
            # Read once: a second time would hold up every answer under way.
            verify=self._context,
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            # The pool must never make a request wait: pacing is decided elsewhere and is not latency.
            limits=httpx2.Limits(
                max_connections=None, max_keepalive_connections=None if keeps else 0, keepalive_expiry=30.0
            ),
            timeout=httpx2.Timeout(None, connect=self._limits.connect_s),
        )

    async def __aenter__(self) -> Transport:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._clients.values():
            await client.aclose()

    async def exchange(self, sending: Sending) -> Exchange:
        """Send one request and collect the answer."""
        request = sending.request
        attempt = _Attempt(self._limits, sending)
        host = _host_of(request)
        may_reuse = not sending.fresh and self._closings.is_worth_keeping(host)
        try:
            attempt.proxy = proxy_for(request.url)
            await attempt.run(self._client(attempt.proxy, keeps=may_reuse), request)
        except (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol):
            # Its message quotes the header, which may be the key.
            attempt.failure = Failure.of("harness", "the address or a header of the request is not valid HTTP")
        except zlib.error as error:
            attempt.failure = Failure.of("bad_payload", str(error), attempt.status, phase="stream")
        except (httpx2.HTTPError, OSError) as error:
            attempt.failure = _transport_failure(error, attempt)
            attempt.is_lost = attempt.was_given_up(self._round_trips_ns.get(host, 0))
        except (httpx2.InvalidURL, ValueError) as error:
            attempt.failure = Failure.of("harness", f"the request cannot be sent: {error}")
        if attempt.is_blocked():
            if attempt.to_socks is not None:
                # The library forgets the connection to a SOCKS proxy that refused.
                await attempt.to_socks.aclose()
        elif attempt.tcp_ns is not None:
            self._round_trips_ns[host] = attempt.tcp_ns
        elif attempt.connection_reused:
            self._closings.learn(host, was_open=not attempt.is_lost)
        return attempt.exchange()


def _host_of(request: HttpRequest) -> str:
    try:
        return urlsplit(request.url).netloc
    except ValueError:
        # No address at all: sending will fail and say so.
        return ""


class _Attempt(Answer):
    """One exchange over httpx2, whose cancel scope holds the deadline that applies now."""

    def __init__(self, limits: Limits, sending: Sending) -> None:
        super().__init__(limits, sending)
        self.tcp_ns: int | None = None
        # Whether what happens is the vendor's: not before a proxy in between has let us through.
        self.is_through = False
        self.proxy: Proxy | None = None
        self.to_socks: Any = None
        self._is_plain_http = False
        self._connect_started_ns: int | None = None
        self._tls_started_ns: int | None = None
        self._is_over = False
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + self._total_s)

    @property
    def connecting(self) -> bool:
        """Whether no connection has taken the request yet."""
        return self.connection_reused is None

    async def run(self, client: httpx2.AsyncClient, request: HttpRequest) -> None:
        self._is_plain_http = request.url.startswith("http://")
        built = client.build_request(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=request.body or None,
            extensions={"trace": self._trace},
        )
        with self._scope:
            response = await client.send(built, stream=True)
            if self.proxy is not None and response.status_code == _PROXY_WANTS_A_PASSWORD:
                # Only proxies answer so: the vendor has not received the request.
                self.failure = self.proxy_failure("407 Proxy Authentication Required")
                await response.aclose()
                return
            headers = {name.lower(): value for name, value in response.headers.items()}
            self.on_head(time.perf_counter_ns(), response.status_code, headers)
            try:
                await self._read(response)
            finally:
                self._end_ns = time.perf_counter_ns() - self._zero_ns
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        if self._scope.cancelled_caught:
            is_blocked = self.is_blocked()
            self.failure = self.proxy_failure("it did not let us through in time") if is_blocked else self._timeout()

    def was_given_up(self, round_trip_ns: int) -> bool:
        """Whether a kept connection ended at once and without an answer: the server may not have read the request.

        The library does not tell half a status line from none; both ways the next sending is over a new connection.
        """
        is_reset = self.failure is not None and self.failure.kind == "connection_reset"
        passed_ns = time.perf_counter_ns() - self._zero_ns
        return is_reset and self.connection_reused is True and passed_ns <= policy.moment_ns(round_trip_ns)

    async def _read(self, response: httpx2.Response) -> None:
        response.stream = watched = WatchedStream(response)
        async with aclosing(self._pieces(response)) as pieces:
            async for at_ns, chunk in pieces:
                self.on_data(at_ns, chunk, is_last=False)
                if self._is_over:
                    return
                if self._progress_ns == at_ns:
                    self._move_deadline()
        self.has_surplus = watched.has_surplus

    async def _pieces(self, response: httpx2.Response) -> AsyncGenerator[tuple[int, bytes], None]:
        """The body in small pieces, each stamped when it arrived; the loop has its turn between them."""
        unpacker = unpacker_of(self.headers)
        slices = Slices()
        async for raw in response.aiter_raw():
            arrived = [(time.perf_counter_ns(), raw)]
            for at_ns, piece in in_small_pieces(arrived):
                for plain in (piece,) if unpacker is None else unpacked(unpacker, piece):
                    yield at_ns, plain
                    await slices.rest_if_over()

    def _leave(self, at_ns: int) -> None:  # noqa: ARG002 the reading ends itself and takes the moment
        self._is_over = True

    def _move_deadline(self) -> None:
        self._scope.deadline = anyio.current_time() + (self.due_ns() - time.perf_counter_ns()) / 1e9

    async def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        now_ns = time.perf_counter_ns()
        if name.endswith(".connect_tcp.started"):
            self._connect_started_ns = now_ns
        elif name.endswith(".connect_tcp.complete") and self._connect_started_ns is not None:
            self.tcp_ns = now_ns - self._connect_started_ns
            self.to_socks = info["return_value"] if name.startswith("socks.") else None
        elif name.endswith(".start_tls.started"):
            self._tls_started_ns = now_ns
            # Through a proxy only the handshake with the vendor has another name than one with the proxy itself.
            self.is_through = self.is_through or not name.startswith("connection.")
        elif name.endswith(".start_tls.complete") and self._tls_started_ns is not None:
            self.connect_times["tls_ns"] = now_ns - self._tls_started_ns
        elif name.endswith("send_request_headers.started"):
            self.connection_reused = self._connect_started_ns is None
            self.is_through = self.is_through or self._is_plain_http
            self._zero_ns = self._progress_ns = now_ns
            self._wait_for("timeout_first_token", self._limits.first_token_s)
            self._move_deadline()
            if self._connect_started_ns is not None:
                self.connect_times["connect_ns"] = now_ns - self._connect_started_ns

    def is_blocked(self) -> bool:
        """Whether a proxy stood between us and the vendor to the last."""
        return self.proxy is not None and not self.is_through

    def proxy_failure(self, words: str) -> Failure:
        """The proxy's failure, which is not the vendor's: it has not received the request."""
        assert self.proxy is not None
        return Failure.of("proxy", f"{self.proxy.words} does not let us through: {words}")

    def _phase(self) -> Phase:
        return "connect" if self.connecting else super()._phase()


def tls_context() -> ssl.SSLContext:
    """The TLS settings by which every transport verifies servers."""
    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _transport_failure(error: Exception, attempt: _Attempt) -> Failure:
    """The failure for an httpx2 error. The reason sits at the bottom of the exception's causes, not in its class."""
    causes = _causes(error)
    if isinstance(error, httpx2.ProxyError) or attempt.is_blocked():
        return attempt.proxy_failure(_words(error, causes))
    words = _words(error, causes)
    if attempt.status is not None:
        return Failure.truncated(words, attempt.status)
    kind = _classify(error, causes, attempt)
    return Failure.of(kind, policy.advised(kind, words))


def _words(error: Exception, causes: list[BaseException]) -> str:
    return next((str(cause) for cause in reversed(causes) if str(cause)), type(error).__name__)


def _classify(error: Exception, causes: list[BaseException], attempt: _Attempt) -> FailureKind:
    """The kind of an error before the answer's head."""
    if isinstance(error, httpx2.TimeoutException):
        return "timeout_connect"
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "dns"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "tls"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return "connect_refused"
    if attempt.connecting:
        return "connect"
    if isinstance(error, httpx2.RemoteProtocolError) and "disconnected" not in str(error):
        return "protocol"
    return "connection_reset"


def _causes(error: BaseException) -> list[BaseException]:
    """The error and everything below it, exception groups included, outermost first."""
    found: list[BaseException] = []
    queue: list[BaseException] = [error]
    while queue and len(found) < 20:
        current = queue.pop(0)
        found.append(current)
        below = current.__cause__ or current.__context__
        queue += [below] if below is not None else []
        queue += list(current.exceptions) if isinstance(current, BaseExceptionGroup) else []
    return found


# From the stream of a response down to the parser (h11's) of the connection that it is read from.
_WAY = ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state")


class WatchedStream(httpx2.AsyncByteStream):
    """The stream of ``response``; read to its end, ``has_surplus`` says whether more bytes came with it.

    httpx2 keeps such bytes and takes them for the next answer, so a connection that holds any is closed. The library
    has no public way to them: the way is by its own parts, and where a version has other parts no connection is kept,
    which is safe and slower.
    """

    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self.has_surplus = False
        self._stream = response.stream
        self._network: Any = response.extensions.get("network_stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece
        left = _left_over(self._stream)
        # A line end too many is none: parsers may pass over it, and this library's does not.
        self.has_surplus = bool((left or b"").strip(b"\r\n"))
        if left != b"" and self._network is not None:
            await self._network.aclose()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _left_over(stream: Any) -> bytes | None:
    """The bytes read that belong to no answer; None where this version of the library cannot be asked."""
    part = stream
    for name in _WAY:
        part = getattr(part, name, None)
    found = getattr(part, "trailing_data", None)
    return found[0] if found is not None else None
