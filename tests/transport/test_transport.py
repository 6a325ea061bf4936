"""The transport tells the truth about time, and survives and names whatever a server does."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import anyio
import pytest
from asking import QUICK, Asked, ask
from certificates import Authority
from costs import least_of
from fault_server import DONE, END, FaultServer, Script, chunk, head, say, stream, text

from vendor_verifier.transport import connect
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.connection import Origin

pytestmark = pytest.mark.anyio

TOLERANCE_NS = 20_000_000


async def test_ttft_and_gaps_are_the_servers(server: FaultServer) -> None:
    """First token, each gap and the end are those of the server, within 20 ms of its clock and never early."""
    words = [chunk(text("a", None)), chunk(text("b", None)), chunk(text("c")) + chunk(DONE) + END]
    server.answer = lambda _: Script([(0.02, head()), *zip((0.08, 0.05, 0.12), words, strict=True)], "keep")

    async def furthest_off_ns() -> float:
        measured = (await ask(server.url())).timing
        sent = [at - server.seen[-1].at_ns for at in server.seen[-1].sent_ns]
        assert measured.headers_ns is not None
        assert measured.first_token_ns is not None
        assert measured.last_token_ns is not None
        assert sum(measured.gaps_ns) == measured.last_token_ns - measured.first_token_ns
        assert measured.headers_ns >= sent[0]
        assert measured.first_token_ns >= sent[1] > 95_000_000
        assert measured.last_token_ns >= sent[3]
        found = (measured.headers_ns, measured.first_token_ns, *measured.gaps_ns, measured.last_token_ns)
        true = (sent[0], sent[1], sent[2] - sent[1], sent[3] - sent[2], sent[3])
        return max(abs(one - other) for one, other in zip(found, true, strict=True))

    assert await least_of(furthest_off_ns, TOLERANCE_NS) < TOLERANCE_NS


async def test_connecting_is_not_latency(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero is the request on a connected socket: a slow connection shows in connect_ns and nowhere else."""
    start_connection = connect.start_connection

    async def slow(*args: Any, **kwargs: Any) -> Any:
        await anyio.sleep(0.15)
        return await start_connection(*args, **kwargs)

    monkeypatch.setattr(connect, "start_connection", slow)

    async def first_token_ns() -> float:
        measured = (await ask(server.url())).timing
        assert measured.connect_ns is not None
        assert measured.connect_ns >= 150_000_000
        assert measured.scheduled_ns is not None
        assert measured.scheduled_ns <= -150_000_000
        assert measured.first_token_ns is not None
        return measured.first_token_ns

    assert await least_of(first_token_ns, 100_000_000) < 100_000_000


async def fast(*urls: str) -> list[Asked]:
    """Ask each address in turn over one transport."""
    async with FastTransport(QUICK) as transport:
        return [await ask(url, transport, QUICK) for url in urls]


async def test_tls_is_spoken_verified_and_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a trusted certificate the answer comes, and the handshake's time is known; the next one reuses the line."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with FaultServer(tls=authority.server()) as server:
        first, second = await fast(*[server.url()] * 2)
    assert (first.kind, second.kind) == (None, None)
    assert (first.exchange.connection_reused, second.exchange.connection_reused) == (False, True)
    assert first.exchange.tls_ns is not None
    assert first.exchange.connect_ns is not None
    assert 0 < first.exchange.tls_ns < first.exchange.connect_ns
    assert (second.exchange.connect_ns, second.exchange.tls_ns) == (None, None)


async def test_only_a_name_is_looked_up(server: FaultServer) -> None:
    """A name's look-up is timed as a part of connecting; an address in figures takes none, so none is stated."""
    named, stated = await fast(server.url().replace("127.0.0.1", "localhost"), server.url())
    assert (named.kind, stated.kind) == (None, None)
    assert named.exchange.connect_ns is not None
    assert named.exchange.dns_ns is not None
    assert 0 < named.exchange.dns_ns < named.exchange.connect_ns
    assert (stated.exchange.dns_ns, stated.exchange.connection_reused) == (None, False)
    assert stated.exchange.tcp_ns is not None


async def test_a_control_character_in_a_header_is_flagged(server: FaultServer) -> None:
    """The answer is read all the same, and the character reaches no record."""
    server.answer = lambda _: say(stream(text("hello"), DONE).replace(b"\r\n", b"\r\nx-request-id: a\x1bb\r\n", 1))
    (asked,) = await fast(server.url())
    assert (asked.kind, asked.exchange.headers["x-request-id"]) == (None, "a\ufffdb")
    assert asked.attempt.response is not None
    assert "invalid_header" in asked.attempt.response.anomalies


@pytest.mark.skipif(not socket.has_ipv6, reason="without IPv6 there is one family only")
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
    connection, took_ns = await connect.connect(Origin("http", "vendor.invalid", port), lambda: pytest.fail("no TLS"))
    connection.abort()
    assert tried[:2] == ["100::1", "127.0.0.1"]
    assert took_ns["dns_ns"] is not None
    assert (took_ns["tcp_ns"] or 0) > 0
    assert took_ns["tls_ns"] is None
