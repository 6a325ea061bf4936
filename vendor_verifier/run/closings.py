"""Remembers which servers close the connections that they promised to keep; it holds no connection itself."""

from __future__ import annotations

from collections.abc import Hashable

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
