"""What goes wrong before a request can be sent, over every transport and through an SDK."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asking import CLIENTS, QUICK, Asked, OpenClient, ask
from certificates import Authority
from fault_server import DONE, FaultServer, stream, text
from made_values import replace

from vendor_verifier.records.plan import Limits
from vendor_verifier.run.conversation import should_retry

pytestmark = pytest.mark.anyio


@pytest.fixture(params=sorted(CLIENTS))
def transport(request: pytest.FixtureRequest) -> OpenClient:
    """Connecting fails the same whoever asks."""
    return CLIENTS[request.param]


async def asked(transport: OpenClient, url: str, limits: Limits = QUICK) -> Asked:
    async with transport(limits) as client:
        return await ask(url, client)


async def test_name_that_does_not_resolve(transport: OpenClient) -> None:
    """DNS failures are named so, and worth another try."""
    sent = await asked(transport, "http://nowhere.invalid")
    assert (sent.kind, sent.phase) == ("dns", "dns")
    assert should_retry(sent.attempt)


async def test_port_where_nobody_listens(transport: OpenClient) -> None:
    """A refused connection is named so, and worth another try."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    sent = await asked(transport, f"http://127.0.0.1:{port}")
    assert (sent.kind, sent.phase) == ("connect_refused", "connect")
    assert sent.attempt.timing is not None
    assert sent.attempt.timing.connect_ns is None
    assert should_retry(sent.attempt)


async def test_host_that_never_takes_the_connection(transport: OpenClient) -> None:
    """The connect limit ends the wait for a handshake."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(full.getsockname())
            sent = await asked(transport, f"http://127.0.0.1:{full.getsockname()[1]}", replace(QUICK, connect_s=0.2))
        finally:
            for one in waiting:
                one.close()
    assert (sent.kind, sent.phase) == ("timeout_connect", "connect")
    assert should_retry(sent.attempt)


@asynccontextmanager
async def tls_server(context: ssl.SSLContext) -> AsyncIterator[int]:
    """A server that would answer, if anyone trusted it; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(stream(text("fine"), DONE))
            await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize(
    ("host", "expired", "trusted", "words"),
    [
        ("127.0.0.1", False, False, "certificate verify failed"),
        ("127.0.0.1", True, True, "expired"),
        ("elsewhere.example", False, True, "mismatch"),
        ("127.0.0.1", False, True, None),
    ],
    ids=["unknown authority", "expired", "other host", "good"],
)
async def test_certificates(
    transport: OpenClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    expired: bool,
    trusted: bool,
    words: str | None,
) -> None:
    """A certificate nobody vouches for, an old one and another host's are refused, with the way to mend it; only a good
    one is spoken to. Nothing turns the check off."""
    authority = Authority(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with tls_server(authority.server(host, expired=expired)) as port:
        sent = await asked(transport, f"https://127.0.0.1:{port}")
    if words is None:
        assert sent.kind is None, sent.message
        return
    assert (sent.kind, sent.phase) == ("tls", "tls")
    assert words in sent.message
    assert "SSL_CERT_FILE" in sent.message
    assert not should_retry(sent.attempt)


async def test_plain_http_behind_https(transport: OpenClient, server: FaultServer) -> None:
    """A server that does not speak TLS is named so."""

    async def plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    plain = await asyncio.start_server(plainly, "127.0.0.1", 0)
    sent = await asked(transport, f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}")
    plain.close()
    await plain.wait_closed()
    assert (sent.kind, sent.phase) == ("tls", "tls")
