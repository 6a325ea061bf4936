"""Idle connections kept between requests, and what became of those kept before; it opens none and sends nothing."""

from __future__ import annotations

import time
from collections.abc import Hashable

from vendor_verifier.transport.connection import HttpConnection, Origin

# Kept connections that a server closed, one after the other, before it counts as one that keeps none.
_CLOSED_IN_A_ROW = 8
# Of such a server's connections every so many-th is kept all the same, to learn when it keeps them again.
_TRIED = 16


class Closings:
    """What became of kept connections, by server.

    A request that crosses the closing of its connection on the way has to be sent twice, so that connections of a
    server that closes them again and again are hardly ever used again.
    """

    def __init__(self) -> None:
        self._in_a_row: dict[Hashable, int] = {}
        self._passed_over: dict[Hashable, int] = {}

    def learn(self, server: Hashable, *, was_open: bool) -> None:
        """Whether a kept connection of ``server`` took one more request."""
        self._in_a_row[server] = 0 if was_open else self._in_a_row.get(server, 0) + 1

    def is_worth_keeping(self, server: Hashable) -> bool:
        """Whether the next connection to ``server`` is to be kept; ask once for each."""
        if self._in_a_row.get(server, 0) < _CLOSED_IN_A_ROW:
            return True
        self._passed_over[server] = passed = (self._passed_over.get(server, 0) + 1) % _TRIED
        return passed == 0


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
