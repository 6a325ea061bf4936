"""What goes wrong before a request can be sent, over our transport and through an SDK."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

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
    """Speaks no TLS, but ``words``."""

    words = b""

    async def lets_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.read(100)
        writer.write(self.words)
        return False


@pytest.mark.parametrize(("words", "kind"), [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "tls"), (b"", "connection_reset")])
async def test_who_speaks_no_tls(transport: OpenClient, words: bytes, kind: str) -> None:
    """A server that answers in plain HTTP is named so; one that hangs up may speak TLS on the next try."""
    async with PlainServer() as server:
        server.words = words
        sent = await asked(transport, server.url().replace("http", "https"))
    assert (sent.kind, sent.phase, should_retry(sent.attempt)) == (kind, "tls", kind != "tls")


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
async def test_what_this_machine_lacks_is_no_vendors(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file left: the failure is ours, and no proxy's either."""
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setattr(socket, "socket", Mock(side_effect=OSError(errno.EMFILE, "none left")))
    sent = await asked(CLIENTS["direct"], "http://192.0.2.1/v")
    assert (sent.kind, "none left" in sent.message) == ("harness", True)
