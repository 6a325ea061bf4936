"""One exchange from its request to its end: marks, time limits and caps, and how its progress is known; it picks no
connection.

Until the first token events are really read. After it only the shape of the bytes is looked at, because reading belongs
after the end of the stream where it cannot delay the next time stamp: a chunk is progress if a ``data:`` field that is
no ping begins in it. Comments, blank lines and a field that drips in byte by byte are not.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from vendor_verifier.records.plan import Limits
from vendor_verifier.records.record import Exchange, Failure, FailureKind, Phase
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.transport.connect import OURS, ProxyFailed, ProxyRefused, connect, connect_through
from vendor_verifier.transport.connection import HttpConnection, Origin
from vendor_verifier.transport.proxies import Proxy
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.base import Reader
from vendor_verifier.wire.sse import STREAM_STARTS, SseDecoder

MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
# Every chunk is kept with its moment, so an answer of single bytes costs far more memory than its size.
MAX_CHUNKS = 500_000
# A connection that the server gave up while a request was on its way to it ends no later than this after the sending.
MOMENT_NS = 10**9
# A model that thinks in secret may send an empty event for each of its tokens.
MAX_EVENTS_WITHOUT_TOKEN = 100_000
_MAX_LINES = 3 * MAX_EVENTS_WITHOUT_TOKEN
_READ_IN_PASSING = 32 * 1024
_FIELD = b"data:"
_KEPT = len(_FIELD) - 1
_PING = b'"ping"'
_PINGS = (b'"type": "ping"', b'"type":"ping"')


class ProgressMeter:
    """Takes every chunk of one answer in order. ``reader`` must be fresh and is used up."""

    def __init__(self, reader: Reader) -> None:
        self.has_token = False
        self.is_flooded = False
        self._reader = reader
        self._answer = Answer()
        self._decoder = SseDecoder(_READ_IN_PASSING, skips_long=True)
        self._events = 0
        self._last = b""
        self._is_event_stream = True

    def expect_body(self) -> None:
        """Read the answer as a plain body, unless it begins like a stream: any byte that is not white space is progress
        and a token."""
        self._is_event_stream = False

    def feed(self, chunk: bytes) -> bool:
        """Take a chunk; True if it is progress."""
        if not self._is_event_stream and (self.has_token or not chunk.lstrip().startswith(STREAM_STARTS)):
            progress = not chunk.isspace() and bool(chunk)
            self.has_token = self.has_token or progress
            return progress
        self._is_event_stream = True
        if self.has_token and chunk.startswith(_FIELD) and _PING not in chunk:
            # Nearly every chunk; it need not be compared with the end of the one before.
            self._last = chunk
            return True
        is_first = not self.has_token and self._look_for_token(chunk)
        window = self._last = self._last[-_KEPT:] + chunk
        if is_first:
            return True
        fields = window.count(_FIELD)
        return fields > 0 and (_PING not in window or fields > sum(map(window.count, _PINGS)))

    def _look_for_token(self, chunk: bytes) -> bool:
        if self.is_flooded:
            return False
        for event in self._decoder.feed(chunk):
            self._events += 1
            self._reader.read(event, self._answer)
            if self._answer.token_moments:
                # What follows in this chunk is read when the answer is over.
                self.has_token = True
                break
        is_much = self._events > MAX_EVENTS_WITHOUT_TOKEN or self._decoder.lines > _MAX_LINES
        self.is_flooded = is_much and not self.has_token
        return self.has_token


class Sending(msgspec.Struct, frozen=True):
    """One request to be sent, due at ``scheduled_at_ns`` (``perf_counter_ns``), with a fresh ``meter`` of its answer.
    ``wire`` is for a client that sends through SDKs, ``total_s`` replaces the run's limit for the whole attempt,
    ``fresh``: never over a connection that was kept."""

    request: HttpRequest
    meter: ProgressMeter
    scheduled_at_ns: int
    wire: str = ""
    total_s: float | None = None
    fresh: bool = False


class Client(Protocol):
    """Sends one request and returns what happened; never raises on a vendor's behaviour."""

    async def exchange(self, sending: Sending) -> Exchange:
        """The exchange of one request."""


# A look at the limits that is so late was held up by this process, which stood still or was busy.
STANDSTILL_NS = 50_000_000


class ActiveExchange:
    """One request and its answer as it arrives: the bytes with their moments, and the limits and caps that hold for it.

    An :class:`HttpConnection` hands it the answer. Moments (``at_ns``) are ``perf_counter_ns``; zero of the exchange is
    when the request was handed to a connected socket. ``is_lost``: the request may never have been read, because it
    was sent over a kept connection that ended at that moment.
    """

    def __init__(self, limits: Limits, sending: Sending) -> None:
        self.failure: Failure | None = None
        self.is_lost = False
        self._limits = limits
        self._total_s = sending.total_s or limits.total_s
        self._meter = sending.meter
        self._scheduled_at_ns = sending.scheduled_at_ns
        self._sent_at = datetime.now(UTC).isoformat(timespec="microseconds")
        self._begun_ns = self._zero_ns = self._progress_ns = self._look_ns = time.perf_counter_ns()
        self._headers_ns: int | None = None
        self._end_ns: int | None = None
        self._status: int | None = None
        self._headers: Mapping[str, str] = {}
        self._chunks: list[tuple[int, bytes]] = []
        self._received = self._cap = 0
        self._has_surplus = False
        self._is_reused: bool | None = None
        # connect_ns, dns_ns, tcp_ns and tls_ns, those of them that are known.
        self._connect_times: dict[str, int | None] = {}
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._is_late = False

    async def connect(
        self, origin: Origin, context: Callable[[], ssl.SSLContext], proxy: Proxy | None = None
    ) -> HttpConnection | None:
        """A new connection to ``origin``, through ``proxy``; None with the failure set when there is none."""
        limit_s = min(self._total_s, self._limits.connect_s)
        tunnel = None
        try:
            async with asyncio.timeout(limit_s):
                tunnel = None if proxy is None else await connect_through(proxy, origin)
                connection, took_ns = await connect(origin, context, tunnel)
        except (ProxyFailed, TimeoutError) as error:
            words = str(error) or f"not connected within {limit_s:g} s"
            kind: FailureKind = "timeout_total" if self._total_s < self._limits.connect_s else "timeout_connect"
            if proxy is not None and tunnel is None:
                # Not the vendor's failure: it has not received the request.
                shown = f"the proxy {proxy.shown} (from {proxy.variable})"
                kind = "proxy" if isinstance(error, ProxyRefused) else "proxy_failed"
                words = f"{shown} made no connection to {origin.host}: {words}"
            self.failure = Failure.of(kind, words, phase="connect")
        except OSError as error:
            words = str(error) or type(error).__name__
            kind = "connect_refused" if isinstance(error, ConnectionRefusedError) else "connect"
            if isinstance(error, socket.gaierror):
                kind = "dns"
            elif isinstance(error, ssl.SSLError):
                remedy = "check the address, or trust the host's authority with SSL_CERT_FILE=<file.pem>"
                kind, words = "tls", f"{words[:300]}; {remedy}"
            elif isinstance(error, ConnectionResetError):
                kind = "connection_reset"
            elif error.errno in OURS:
                kind = "harness"
            self.failure = Failure.of(kind, words, phase="tls" if kind == "connection_reset" else None)
        else:
            connection.round_trip_ns = took_ns["tcp_ns"] or 0
            self._connect_times = {"connect_ns": time.perf_counter_ns() - self._begun_ns, **took_ns}
            return connection
        return None

    async def talk(self, connection: HttpConnection, data: bytes, *, is_reused: bool) -> None:
        """Send ``data`` over ``connection`` and wait for the end of the answer."""
        self._connection = connection
        self._is_reused = is_reused
        # An end of a kept connection that crossed the request on its way came no later than this.
        self._moment_ns = max(MOMENT_NS, 2 * connection.round_trip_ns) if is_reused else -1
        self._zero_ns = self._progress_ns = self._look_ns = time.perf_counter_ns()
        connection.send(data, self)
        self._watch_limits()
        try:
            await self._done
        except BaseException:
            connection.abort()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def exchange(self) -> Exchange:
        """The exchange as far as it came."""
        return Exchange(
            sent_at=self._sent_at,
            end_ns=time.perf_counter_ns() - self._zero_ns if self._end_ns is None else self._end_ns,
            status=self._status,
            headers=self._headers,
            chunks=self._chunks,
            headers_ns=self._headers_ns,
            scheduled_ns=self._scheduled_at_ns - self._zero_ns,
            connection_reused=self._is_reused,
            failure=self.failure,
            lost=self.is_lost,
            has_surplus=self._has_surplus,
            **self._connect_times,
        )

    # --- a Receiver

    def on_head(self, at_ns: int, status: int, headers: Mapping[str, str]) -> None:
        self._headers_ns = at_ns - self._zero_ns
        self._status = status
        self._headers = headers
        self._cap = MAX_ANSWER_BYTES if 200 <= status < 300 else MAX_ERROR_BYTES
        if "text/event-stream" not in headers.get("content-type", "").lower():
            self._meter.expect_body()

    def on_data(self, at_ns: int, data: bytes, *, is_last: bool) -> None:
        self._received += len(data)
        excess = self._received - self._cap
        self._chunks.append((at_ns - self._zero_ns, data if excess <= 0 else data[:-excess]))
        if excess > 0 or len(self._chunks) > MAX_CHUNKS:
            # Of a refusal what was kept is enough; an answer without its end is none.
            if self._status is not None and 200 <= self._status < 300:
                words = f"the answer is larger than {MAX_ANSWER_BYTES} bytes or {MAX_CHUNKS} pieces"
                self.failure = Failure.of("limit_exceeded", words, self._status)
            self._leave(at_ns)
            return
        if is_last:
            # No time limit waits for its tokens.
            return
        try:
            is_progress = self._meter.feed(data)
        except Exception as error:  # noqa: BLE001 a reader's bug is for who asked, not for the event loop
            self._leave(at_ns, error)
            return
        if is_progress and self._meter.has_token:
            self._progress_ns = at_ns
        elif self._meter.is_flooded:
            events = MAX_EVENTS_WITHOUT_TOKEN
            words = f"more than {events} events, or three times as many lines, without a token"
            self.failure = Failure.of("limit_exceeded", words, self._status, phase="first_token")
            self._leave(at_ns)

    def on_complete(self, at_ns: int, *, has_surplus: bool) -> None:
        self._has_surplus = has_surplus
        # Some servers say 408 to an idle connection as they end it.
        if self._status == 408 and self._headers.get("connection", "").lower() == "close":
            self.is_lost = at_ns - self._zero_ns <= self._moment_ns
        self._finish(at_ns)

    def on_error(self, at_ns: int, kind: FailureKind, error: Exception | None) -> None:
        words = str(error or "") or "the server closed the connection"
        if self._status is None:
            self.failure = Failure.of(kind, words, phase="headers")
            if kind == "connection_reset" and not self._connection.answered_ns:
                self.is_lost = at_ns - self._zero_ns <= self._moment_ns
        elif kind == "bad_payload":
            self.failure = Failure.of(kind, words, self._status, phase="stream")
        else:
            self.failure = Failure.truncated(words, self._status)
        self._finish(at_ns)

    def _leave(self, at_ns: int, error: Exception | None = None) -> None:
        """Take no more of the answer."""
        self._connection.abort()
        self._finish(at_ns, error)

    def _finish(self, at_ns: int, error: Exception | None = None) -> None:
        if self._done.done():
            return
        self._end_ns = at_ns - self._zero_ns
        if error is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(error)

    def _watch_limits(self) -> None:
        """End the exchange if a limit is met, else look again when the next one may be. Progress moves a limit by one
        assignment: no timer is set for it. No look is further away than the idle limit, for the first token may bring
        it that near. Time in which this process stood still counts against no limit."""
        if self._done.done():
            return
        now_ns, has_token = time.perf_counter_ns(), self._meter.has_token
        late_ns = now_ns - self._look_ns
        # Not twice in a row: a process that is always busy must meet its limits, too.
        self._is_late = late_ns > STANDSTILL_NS and not self._is_late
        if self._is_late:
            # What came meanwhile may not have been read yet: one more look, without the time that was ours.
            self._begun_ns += late_ns + STANDSTILL_NS
            self._progress_ns = min(now_ns, self._progress_ns + late_ns + STANDSTILL_NS)
        patience_s = self._limits.idle_s if has_token else self._limits.first_token_s
        total_due_ns = self._begun_ns + int(self._total_s * 1e9)
        due_ns = min(self._progress_ns + int(patience_s * 1e9), total_due_ns)
        if now_ns < due_ns:
            left_s = min((due_ns - now_ns) / 1e9, self._limits.idle_s) + 0.0005
            self._look_ns = now_ns + int(left_s * 1e9)
            self._timer = asyncio.get_running_loop().call_later(left_s, self._watch_limits)
            return
        kind: FailureKind = "timeout_idle" if has_token else "timeout_first_token"
        words = f"no data for {patience_s:g} s in the middle of the answer" if has_token else ""
        if due_ns == total_due_ns:
            kind, words = "timeout_total", f"not finished within {self._total_s:g} s"
        phase: Phase = "headers" if self._status is None else "stream" if has_token else "first_token"
        self.failure = Failure.of(kind, words or f"no token within {patience_s:g} s", self._status, phase=phase)
        self._leave(now_ns)
