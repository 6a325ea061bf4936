"""One exchange from its request to its end, as its connection tells it: marks, limits and caps. It picks no connection.

A deadline moves with every sign of progress, at the cost of one assignment; one timer watches whichever applies.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from vendor_verifier.transport import policy
from vendor_verifier.transport.connect import TlsFailed, connect
from vendor_verifier.transport.connection import HttpConnection, Origin
from vendor_verifier.values.plan import Limits
from vendor_verifier.values.record import Exchange, Failure, FailureKind, Phase
from vendor_verifier.wire.progress import ProgressMeter


class ActiveExchange:
    """The handler of one answer: the marks set so far, and the one deadline that applies now."""

    def __init__(
        self,
        limits: Limits,
        total_s: float,
        meter: ProgressMeter,
        scheduled_at_ns: int,
        listener: policy.Listener | None,
    ) -> None:
        self.connection_reused = False
        self.is_lost = False
        self._limits = limits
        self._total_s = total_s
        self._meter = meter
        self._listener = listener
        self._scheduled_at_ns = scheduled_at_ns
        self._loop = asyncio.get_running_loop()
        self._sent_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._created_ns = self._zero_ns = time.perf_counter_ns()
        self._total_due_ns = self._created_ns + int(total_s * 1e9)
        self._progress_ns = self._created_ns
        self._waits_for: FailureKind = "timeout_first_token"
        self._patience_ns = 0
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0
        self._connection: HttpConnection | None = None
        self._status: int | None = None
        self._headers: Mapping[str, str] = {}
        self._headers_ns: int | None = None
        self._chunks: list[tuple[int, bytes]] = []
        self._received = 0
        self._cap = 0
        self._end_ns: int | None = None
        self._connect_ns: tuple[int | None, int | None, int | None, int | None] = (None, None, None, None)
        self._failure: Failure | None = None
        self._has_surplus = False

    # --- connecting

    async def connect(self, origin: Origin, context: Callable[[], ssl.SSLContext]) -> HttpConnection | None:
        is_total = self._total_s < self._limits.connect_s
        try:
            async with asyncio.timeout(min(self._total_s, self._limits.connect_s)):
                connected = await connect(origin, HttpConnection, context)
        except TimeoutError as error:
            kind: FailureKind = "timeout_total" if is_total else "timeout_connect"
            words = str(error) or f"not connected within {min(self._total_s, self._limits.connect_s):g} s"
            self._failure = Failure.of(kind, words, phase="connect")
        except OSError as error:
            kind = _not_connected(error)
            self._failure = Failure.of(kind, policy.advised(kind, str(error) or type(error).__name__))
        else:
            parts = (connected.dns_ns, connected.tcp_ns, connected.tls_ns)
            connected.protocol.round_trip_ns = connected.tcp_ns
            self._connect_ns = (time.perf_counter_ns() - self._created_ns, *parts)
            return connected.protocol
        self._end_ns = time.perf_counter_ns() - self._zero_ns
        return None

    # --- the exchange

    async def talk(self, connection: HttpConnection, data: bytes) -> None:
        self._connection = connection
        self._zero_ns = self._progress_ns = time.perf_counter_ns()
        connection.send(data, self)
        self._wait_for("timeout_first_token", self._limits.first_token_s)
        try:
            await self._done
        except BaseException:
            connection.abort()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def on_head(self, at_ns: int, status: int, headers: Mapping[str, str]) -> None:
        self._headers_ns = at_ns - self._zero_ns
        self._status = status
        self._headers = headers
        self._cap = policy.MAX_ANSWER_BYTES if 200 <= status < 300 else policy.MAX_ERROR_BYTES
        if "text/event-stream" not in headers.get("content-type", "").lower():
            self._meter.expect_body()
        if self._listener is not None:
            self._listener.headers(status, headers)

    def on_data(self, at_ns: int, data: bytes, *, is_last: bool) -> None:
        self._chunks.append((at_ns - self._zero_ns, data))
        self._received += len(data)
        try:
            if self._listener is not None:
                self._listener.chunk(data)
            if self._received > self._cap or len(self._chunks) > policy.MAX_CHUNKS:
                self._over_cap(self._received - self._cap)
                self._leave(at_ns)
            # Nobody waits any more for what an answer that is over may bring.
            elif is_last:
                return
            elif self._meter.feed(data) and self._meter.has_token:
                self._progress_ns = at_ns
                if self._waits_for != "timeout_idle":
                    self._wait_for("timeout_idle", self._limits.idle_s)
            elif self._meter.is_flooded:
                self._failure = policy.flooded(self._status)
                self._leave(at_ns)
        except Exception as error:  # noqa: BLE001 a reader's bug is for who asked, not for the event loop
            if self._connection is not None:
                self._connection.abort()
            if not self._done.done():
                self._done.set_exception(error)

    def on_complete(self, at_ns: int, *, has_surplus: bool) -> None:
        self._has_surplus = has_surplus
        self._finish(at_ns)

    def on_error(self, at_ns: int, why: str, error: Exception | None) -> None:
        words = str(error) if error is not None and str(error) else "the server closed the connection"
        if why == "payload":
            self._failure = Failure.of("bad_payload", words, self._status, phase="stream")
        elif self._status is not None:
            self._failure = Failure.truncated(words, self._status)
        else:
            kind: FailureKind = "protocol" if why == "protocol" else "connection_reset"
            self._failure = Failure.of(kind, words)
            self.is_lost = why == "closed" and self._was_given_up(at_ns)
        self._finish(at_ns)

    def _was_given_up(self, at_ns: int) -> bool:
        """Whether a connection that had served before ended at once and unheard: the request may have met nobody."""
        connection = self._connection
        if connection is None or not self.connection_reused or connection.has_answered:
            return False
        return at_ns - self._zero_ns <= policy.moment_ns(connection.round_trip_ns)

    def remaining(self) -> int:
        return self._cap - self._received

    def _over_cap(self, excess: int) -> None:
        """Keep what fits. Of a refusal that is enough; an answer without its end is none."""
        if excess > 0:
            at_ns, data = self._chunks[-1]
            self._chunks[-1] = (at_ns, data[:-excess])
        assert self._status is not None
        if 200 <= self._status < 300:
            self._failure = policy.over_cap(self._status)

    def _leave(self, at_ns: int) -> None:
        if self._connection is not None:
            self._connection.abort()
        self._finish(at_ns)

    def _finish(self, at_ns: int) -> None:
        if self._end_ns is None:
            self._end_ns = at_ns - self._zero_ns
        if not self._done.done():
            self._done.set_result(None)

    # --- limits

    def _wait_for(self, kind: FailureKind, seconds: float) -> None:
        """From the last progress on, no longer than that; ``kind`` is what it is called when it took longer."""
        self._waits_for, self._patience_ns = kind, int(seconds * 1e9)
        if self._timer is None or self._due_ns() < self._timer_ns:
            if self._timer is not None:
                self._timer.cancel()
            self._watch()

    def _due_ns(self) -> int:
        return min(self._progress_ns + self._patience_ns, self._total_due_ns)

    def _watch(self) -> None:
        """One timer for all limits: when it goes off too early because there was progress, it is set again."""
        due_ns = self._due_ns()
        left_ns = due_ns - time.perf_counter_ns()
        if left_ns > 0:
            self._timer_ns = due_ns
            self._timer = self._loop.call_later(left_ns / 1e9 + 0.0005, self._watch)
            return
        kind = "timeout_total" if due_ns == self._total_due_ns else self._waits_for
        self._failure = policy.timeout_failure(kind, self._limits, self._total_s, self._phase(), self._status)
        self._leave(time.perf_counter_ns())

    def _phase(self) -> Phase:
        if self._status is None:
            return "headers"
        return "stream" if self._meter.has_token else "first_token"

    def exchange(self) -> Exchange:
        connect_ns, dns_ns, tcp_ns, tls_ns = self._connect_ns
        return Exchange(
            sent_at=self._sent_at,
            end_ns=self._end_ns or 0,
            status=self._status,
            headers=self._headers,
            chunks=self._chunks,
            headers_ns=self._headers_ns,
            scheduled_ns=self._scheduled_at_ns - self._zero_ns,
            connect_ns=connect_ns,
            dns_ns=dns_ns,
            tcp_ns=tcp_ns,
            tls_ns=tls_ns,
            connection_reused=None if self._connection is None else self.connection_reused,
            failure=self._failure,
            lost=self.is_lost,
            has_surplus=self._has_surplus,
        )


def _not_connected(error: OSError) -> FailureKind:
    if isinstance(error, socket.gaierror):
        return "dns"
    if isinstance(error, (TlsFailed, ssl.SSLError)):
        return "tls"
    return "connect_refused" if isinstance(error, ConnectionRefusedError) else "connect"
