"""Keeps idle connections between requests; it opens none and sends nothing."""

from __future__ import annotations

import time

from vendor_verifier.run.closings import Closings
from vendor_verifier.run.http_connection import HttpConnection
from vendor_verifier.run.request_head import Origin

_KEEP_ALIVE_NS = 30 * 10**9


class KeptConnections:
    """Idle connections by origin."""

    def __init__(self) -> None:
        self._idle: dict[Origin, list[HttpConnection]] = {}
        self._closings = Closings()

    def take(self, origin: Origin) -> HttpConnection | None:
        """One that still stands as far as can be seen from here, or None. Tell :meth:`learn` how it went."""
        kept = self._idle.get(origin, [])
        oldest_ns = time.perf_counter_ns() - _KEEP_ALIVE_NS
        while kept:
            connection = kept.pop()
            if connection.idle_since_ns > oldest_ns:
                if connection.can_be_used():
                    return connection
                self._closings.learn(origin, was_open=False)
            connection.abort()
        return None

    def learn(self, origin: Origin, *, was_open: bool) -> None:
        """Whether a connection that was taken from here took one more request."""
        self._closings.learn(origin, was_open=was_open)

    def put(self, origin: Origin, connection: HttpConnection) -> None:
        """Keep ``connection``, which is idle, if that is worth while."""
        if self._closings.is_worth_keeping(origin):
            self._idle.setdefault(origin, []).append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Close all of them."""
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()
