"""A scheduler behind the other kind of address is named as what it is."""

from __future__ import annotations

import asyncio

import pytest
from clusters import free_port

from vendor_verifier.run.cluster.protocol_probe import other_protocol

pytestmark = pytest.mark.anyio


async def _greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As a plain scheduler does: it speaks first, and not TLS."""
    writer.write(b"\x00" * 64)
    await writer.drain()
    writer.close()


async def test_a_plain_scheduler_behind_tls_and_the_other_way_round() -> None:
    """Asked with TLS, a plain one is said to speak none; asked as it speaks, or with nobody there, nothing is said."""
    async with await asyncio.start_server(_greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        told = await other_protocol(f"tls://127.0.0.1:{port}")
        assert told is not None
        assert told.startswith(f"it speaks no TLS; write tcp://127.0.0.1:{port}")
        assert await other_protocol(f"tcp://127.0.0.1:{port}") is None
    assert await other_protocol(f"tls://127.0.0.1:{free_port()}") is None
