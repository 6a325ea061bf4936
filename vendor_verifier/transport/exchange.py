"""One exchange from its request to its end: marks, limits and caps, for every transport; it picks no connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from vendor_verifier.records.plan import Limits
from vendor_verifier.records.record import Exchange, Failure, FailureKind, Phase
from vendor_verifier.transport import policy
from vendor_verifier.transport.connect import ProxyRefused, TlsFailed, connect, connect_through
from vendor_verifier.transport.connection import HttpConnection, Origin
from vendor_verifier.transport.policy import Sending
from vendor_verifier.transport.proxies import Proxy


class Answer:
    """One request's answer as it arrives: its bytes with their moments, and the limits and caps that hold for it.

    A transport feeds it and says in a class of its own how to end the exchange. Moments (``at_ns``) are
    ``perf_counter_ns``; zero of the exchange is when the request was handed to a connected socket.
    """

    def __init__(self, limits: Limits, sending: Sending) -> None:
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.failure: Failure | None = None
        self.connection_reused: bool | None = None
        self.is_lost = False
        # connect_ns, dns_ns, tcp_ns and tls_ns, those of them that are known.
        self.connect_times: dict[str, int | None] = {}
        self.has_surplus = False
        self._limits = limits
        self._total_s = sending.total_s or limits.total_s
        self._meter = sending.meter
        self._scheduled_at_ns = sending.scheduled_at_ns
        self._sent_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._created_ns = self._zero_ns = time.perf_counter_ns()
        self._headers_ns: int | None = None
        self._end_ns: int | None = None
        self._chunks: list[tuple[int, bytes]] = []
        self._received = self._cap = 0
        self._progress_ns = self._created_ns
        self._waits_for: FailureKind = "timeout_first_token"
        self._patience_ns = int(self._total_s * 1e9)
        self._total_due_ns = self._created_ns + self._patience_ns

    # --- for each transport to say

    def _wait_for(self, kind: FailureKind, seconds: float) -> None:
        """Allow ``seconds`` from the last progress on; ``kind`` is the failure when it takes longer."""
        self._waits_for, self._patience_ns = kind, int(seconds * 1e9)

    def _leave(self, at_ns: int) -> None:
        """Take no more of the answer."""
        raise NotImplementedError

    def _break(self, error: Exception) -> None:
        """Hand a reader's bug to whoever asked."""
        raise error

    # --- as it arrives

    def on_head(self, at_ns: int, status: int, headers: Mapping[str, str]) -> None:
        self._headers_ns = at_ns - self._zero_ns
        self.status = status
        self.headers = headers
        self._cap = policy.MAX_ANSWER_BYTES if 200 <= status < 300 else policy.MAX_ERROR_BYTES
        if "text/event-stream" not in headers.get("content-type", "").lower():
            self._meter.expect_body()

    def on_data(self, at_ns: int, data: bytes, *, is_last: bool) -> None:
        self._chunks.append((at_ns - self._zero_ns, data))
        self._received += len(data)
        try:
            if self._received > self._cap or len(self._chunks) > policy.MAX_CHUNKS:
                self._over_cap(self._received - self._cap)
                self._leave(at_ns)
            # The answer is over: no time limit waits for its tokens.
            elif is_last:
                return
            elif self._meter.feed(data) and self._meter.has_token:
                self._progress_ns = at_ns
                if self._waits_for != "timeout_idle":
                    self._wait_for("timeout_idle", self._limits.idle_s)
            elif self._meter.is_flooded:
                self.failure = policy.flooded(self.status)
                self._leave(at_ns)
        except Exception as error:  # noqa: BLE001 a reader's bug is for who asked, not for the event loop
            self._break(error)

    def _over_cap(self, excess: int) -> None:
        """Keep what fits. Of a refusal that is enough; an answer without its end is none."""
        if excess > 0:
            at_ns, data = self._chunks[-1]
            self._chunks[-1] = (at_ns, data[:-excess])
        assert self.status is not None
        if 200 <= self.status < 300:
            self.failure = policy.over_cap(self.status)

    # --- limits and result

    def due_ns(self) -> int:
        """When the limit that applies now is met."""
        return min(self._progress_ns + self._patience_ns, self._total_due_ns)

    def _timeout(self) -> Failure:
        """The failure for the limit that applies now."""
        kind = "timeout_total" if self.due_ns() == self._total_due_ns else self._waits_for
        return policy.timeout_failure(kind, self._limits, self._total_s, self._phase(), self.status)

    def _phase(self) -> Phase:
        if self.status is None:
            return "headers"
        return "stream" if self._meter.has_token else "first_token"

    def exchange(self) -> Exchange:
        """The exchange as far as it came."""
        if self._end_ns is None:
            self._end_ns = time.perf_counter_ns() - self._zero_ns
        return Exchange(
            sent_at=self._sent_at,
            end_ns=self._end_ns,
            status=self.status,
            headers=self.headers,
            chunks=self._chunks,
            headers_ns=self._headers_ns,
            scheduled_ns=self._scheduled_at_ns - self._zero_ns,
            connection_reused=self.connection_reused,
            failure=self.failure,
            lost=self.is_lost,
            has_surplus=self.has_surplus,
            **self.connect_times,
        )


class Deadlines:
    """One timer for all exchanges of a client, set for the earliest moment at which a limit of one of them may be met.

    A deadline moves with every sign of progress at the cost of one assignment: a timer that goes off too early because
    there was progress is set again.
    """

    def __init__(self) -> None:
        self._watched: set[ActiveExchange] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0

    def watch(self, exchange: ActiveExchange) -> None:
        """Watch an exchange, whose deadline may have come nearer, until :meth:`leave`."""
        self._watched.add(exchange)
        due_ns = exchange.due_ns()
        if self._timer is None or due_ns < self._timer_ns:
            self._set(due_ns)

    def leave(self, exchange: ActiveExchange) -> None:
        """Watch an exchange no longer."""
        self._watched.discard(exchange)

    def close(self) -> None:
        """Set no more timers."""
        self._watched.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, due_ns: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ns = due_ns
        left_ns = max(0, due_ns - time.perf_counter_ns())
        self._timer = asyncio.get_running_loop().call_later(left_ns / 1e9 + 0.0005, self._look)

    def _look(self) -> None:
        self._timer = None
        now_ns = time.perf_counter_ns()
        for late in [each for each in self._watched if each.due_ns() <= now_ns]:
            self._watched.discard(late)
            late.end_late()
        if self._watched:
            self._set(min(each.due_ns() for each in self._watched))


class ActiveExchange(Answer):
    """One exchange over an :class:`HttpConnection`, whose handler it is; ``deadlines`` watch its limits."""

    def __init__(self, limits: Limits, sending: Sending, deadlines: Deadlines) -> None:
        super().__init__(limits, sending)
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._deadlines = deadlines
        self._connection: HttpConnection | None = None

    async def connect(
        self, origin: Origin, context: Callable[[], ssl.SSLContext], proxy: Proxy | None = None
    ) -> HttpConnection | None:
        """A new connection to ``origin``, through ``proxy``; None with the failure set when there is none."""
        limit_s = min(self._total_s, self._limits.connect_s)
        tunnel = None
        try:
            async with asyncio.timeout(limit_s):
                tunnel = None if proxy is None else await connect_through(proxy, origin)
                connected = await connect(origin, HttpConnection, context, tunnel)
        except (ProxyRefused, TimeoutError) as error:
            if proxy is not None and tunnel is None:
                # Not the vendor's failure: it has not received the request.
                words = str(error) or "it did not answer in time"
                self.failure = Failure.of("proxy", f"{proxy.words} does not let us through: {words}")
                return None
            kind: FailureKind = "timeout_total" if self._total_s < self._limits.connect_s else "timeout_connect"
            self.failure = Failure.of(kind, str(error) or f"not connected within {limit_s:g} s", phase="connect")
        except OSError as error:
            kind = _not_connected(error)
            self.failure = Failure.of(kind, policy.advised(kind, str(error) or type(error).__name__))
        else:
            connected.protocol.round_trip_ns = connected.tcp_ns
            self.connect_times = {
                "connect_ns": time.perf_counter_ns() - self._created_ns,
                "dns_ns": connected.dns_ns,
                "tcp_ns": connected.tcp_ns,
                "tls_ns": connected.tls_ns,
            }
            return connected.protocol
        return None

    async def talk(self, connection: HttpConnection, data: bytes, *, is_reused: bool) -> None:
        """Send ``data`` over ``connection`` and wait for the end of the answer."""
        self._connection = connection
        self.connection_reused = is_reused
        self._zero_ns = self._progress_ns = time.perf_counter_ns()
        connection.send(data, self)
        self._wait_for("timeout_first_token", self._limits.first_token_s)
        try:
            await self._done
        except BaseException:
            connection.abort()
            raise
        finally:
            self._deadlines.leave(self)

    def end_late(self) -> None:
        """End the exchange because the limit that applies now is met."""
        self.failure = self._timeout()
        self._leave(time.perf_counter_ns())

    def on_complete(self, at_ns: int, *, has_surplus: bool) -> None:
        self.has_surplus = has_surplus
        self._finish(at_ns)

    def on_error(self, at_ns: int, why: str, error: Exception | None) -> None:
        words = str(error) if error is not None and str(error) else "the server closed the connection"
        if why == "payload":
            self.failure = Failure.of("bad_payload", words, self.status, phase="stream")
        elif self.status is not None:
            self.failure = Failure.truncated(words, self.status)
        else:
            kind: FailureKind = "protocol" if why == "protocol" else "connection_reset"
            self.failure = Failure.of(kind, words)
            self.is_lost = why == "closed" and self._was_given_up(at_ns)
        self._finish(at_ns)

    def remaining(self) -> int:
        return self._cap - self._received

    def _was_given_up(self, at_ns: int) -> bool:
        """Whether a reused connection ended at once and without a byte: the server may not have read the request."""
        connection = self._connection
        if connection is None or not self.connection_reused or connection.has_answered:
            return False
        return at_ns - self._zero_ns <= policy.moment_ns(connection.round_trip_ns)

    def _leave(self, at_ns: int) -> None:
        if self._connection is not None:
            self._connection.abort()
        self._finish(at_ns)

    def _break(self, error: Exception) -> None:
        if self._connection is not None:
            self._connection.abort()
        if not self._done.done():
            self._done.set_exception(error)

    def _finish(self, at_ns: int) -> None:
        if self._end_ns is None:
            self._end_ns = at_ns - self._zero_ns
        if not self._done.done():
            self._done.set_result(None)

    def _wait_for(self, kind: FailureKind, seconds: float) -> None:
        super()._wait_for(kind, seconds)
        self._deadlines.watch(self)


def _not_connected(error: OSError) -> FailureKind:
    if isinstance(error, socket.gaierror):
        return "dns"
    if isinstance(error, (TlsFailed, ssl.SSLError)):
        return "tls"
    return "connect_refused" if isinstance(error, ConnectionRefusedError) else "connect"
