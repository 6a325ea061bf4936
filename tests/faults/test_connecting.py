"""What goes wrong before a request can be sent, over our transport and through an SDK."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asking import CLIENTS, QUICK, Asked, OpenClient, ask
from certificates import Authority
from fault_server import FaultServer
from made_values import replace
from workbench import free_port

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


@contextmanager
def full() -> Iterator[int]:
    """The port of a host that never takes a connection."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
        yield int(listening.getsockname()[1])
        for one in waiting:
            one.close()


async def test_nobody_is_reached(transport: OpenClient) -> None:
    """No such name, a port where nobody listens, a handshake that never ends: named so, and worth another try."""
    with full() as silent:
        found = [await asked(transport, url) for url in ("http://nowhere.invalid", f"http://127.0.0.1:{free_port()}")]
        found.append(await asked(transport, f"http://127.0.0.1:{silent}", replace(QUICK, connect_s=0.1)))
    assert [(sent.kind, sent.phase) for sent in found] == [
        ("dns", "dns"), ("connect_refused", "connect"), ("timeout_connect", "connect"),
    ]  # fmt: skip
    assert all(should_retry(sent.attempt) and sent.timing.connect_ns is None for sent in found)


@pytest.mark.parametrize(
    ("host", "expired", "trusted", "words"),
    [
        ("127.0.0.1", False, False, "certificate verify failed"),
        ("127.0.0.1", True, True, "expired"),
        ("elsewhere.example", False, True, "mismatch"),
    ],
    ids=["unknown authority", "expired", "other host"],
)
async def test_certificates(
    transport: OpenClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    host: str, expired: bool, trusted: bool, words: str,
) -> None:  # fmt: skip
    """A certificate nobody vouches for, an old one and another host's are refused, with the way to mend it."""
    authority = Authority(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with FaultServer(tls=authority.server(host, expired=expired)) as server:
        sent = await asked(transport, server.url())
    assert (sent.kind, sent.phase) == ("tls", "tls")
    assert words in sent.message
    assert "SSL_CERT_FILE" in sent.message
    assert not should_retry(sent.attempt)


class PlainServer(FaultServer):
    """Speaks no TLS."""

    async def lets_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        return False


async def test_plain_http_behind_https(transport: OpenClient) -> None:
    """A server that does not speak TLS is named so."""
    async with PlainServer() as server:
        sent = await asked(transport, server.url().replace("http", "https"))
    assert (sent.kind, sent.phase) == ("tls", "tls")
