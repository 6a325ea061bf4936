"""Looks whether something lies unread on a connection; it reads nothing and waits for nothing."""

from __future__ import annotations

import asyncio
import select


def has_waiting_bytes(transport: asyncio.BaseTransport) -> bool:
    """Whether bytes or the connection's end have arrived that the loop has not read yet, or nobody can read any more.

    The loop looks at its sockets once a round; a request that is sent within the round would be sent over a connection
    that is known to be closed.
    """
    if transport.is_closing():
        return True
    connected = transport.get_extra_info("socket")
    if connected is None:
        return False
    number = connected.fileno()
    if number < 0:
        return True
    if not hasattr(select, "poll"):
        # Windows, where select takes any socket however many there are.
        return bool(select.select([number], [], [], 0)[0])
    looking = select.poll()
    looking.register(number, select.POLLIN)
    return bool(looking.poll(0))
