"""Which address of a name is tried when: families in turns, so that dead ones of one family cost one delay in all."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from fault_server import FaultServer

from vendor_verifier.transport.connect import connect
from vendor_verifier.transport.connection import Origin

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not socket.has_ipv6, reason="without IPv6 there is one family only"),
]


@pytest.mark.parametrize("dead", [1, 2, 4, 8])
async def test_dead_addresses_of_one_family_are_not_all_waited_for(
    dead: int, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many IPv6 addresses answer nothing, the one of IPv4 is the second that is tried; the parts are timed."""
    loop, port = asyncio.get_running_loop(), server.port
    kind = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    silent = [(socket.AF_INET6, *kind, (f"100::{n + 1:x}", port, 0, 0)) for n in range(dead)]
    tried: list[str] = []
    sock_connect = loop.sock_connect

    async def looked_up(*_: Any, **__: Any) -> list[Any]:
        return [*silent, (socket.AF_INET, *kind, ("127.0.0.1", port))]

    async def connecting(sock: socket.socket, address: Any) -> None:
        tried.append(address[0])
        if sock.family == socket.AF_INET6:
            await asyncio.Event().wait()
        await sock_connect(sock, address)

    monkeypatch.setattr(loop, "getaddrinfo", looked_up)
    monkeypatch.setattr(loop, "sock_connect", connecting)
    connection, took_ns = await connect(Origin("http", "vendor.invalid", port), lambda: pytest.fail("no TLS"))
    connection.abort()
    assert tried[:2] == ["100::1", "127.0.0.1"]
    assert took_ns["dns_ns"] is not None
    assert (took_ns["tcp_ns"] or 0) > 0
    assert took_ns["tls_ns"] is None
