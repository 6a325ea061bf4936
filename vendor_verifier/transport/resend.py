"""Sends once more what met a connection that was closing; for those who ask a few questions and keep no books."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from vendor_verifier.values.record import Exchange


async def sent_to_the_end(send: Callable[[bool], Awaitable[Exchange]]) -> Exchange:
    """What became of ``send(False)``, or where a kept connection ended under it of ``send(True)``: over a new one."""
    exchange = await send(False)
    return await send(True) if exchange.lost else exchange
