"""What the fast transport does by itself, beside the promises it shares with the other one (test_transport)."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from pathlib import Path

import pytest
from asking import QUICK, Asked, ask
from fault_server import DONE, END, FaultServer, chunk, head, say, stream, text

from vendor_verifier.transport.client import FastTransport

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's own proxies are not part of these tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def fast(*urls: str) -> list[Asked]:
    """Ask each address in turn over one transport."""
    async with FastTransport(QUICK) as transport:
        return [await ask(url, transport, QUICK) for url in urls]


async def test_tls_is_spoken_verified_and_timed(
    server: FaultServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a trusted certificate the answer comes, with the handshake's time apart; the next one reuses the line."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.answer = lambda _: say(stream(text("hello"), DONE))
    tls = await asyncio.start_server(server._accept, "127.0.0.1", 0, ssl=context)
    async with tls:
        port = tls.sockets[0].getsockname()[1]
        first, second = await fast(*[f"https://localhost:{port}/v"] * 2)
    assert (first.kind, second.kind) == (None, None)
    assert (first.exchange.connection_reused, second.exchange.connection_reused) == (False, True)
    assert first.exchange.tls_ns is not None
    assert first.exchange.connect_ns is not None
    assert 0 < first.exchange.tls_ns < first.exchange.connect_ns
    assert (second.exchange.connect_ns, second.exchange.tls_ns) == (None, None)


async def test_only_a_name_is_looked_up(server: FaultServer) -> None:
    """A name's look-up is timed as a part of connecting; an address in figures takes none, so none is stated."""
    server.answer = lambda _: say(stream(text("hello"), DONE))
    named, stated = await fast(server.url().replace("127.0.0.1", "localhost"), server.url())
    assert (named.kind, stated.kind) == (None, None)
    assert named.exchange.connect_ns is not None
    assert named.exchange.dns_ns is not None
    assert 0 < named.exchange.dns_ns < named.exchange.connect_ns
    assert (stated.exchange.dns_ns, stated.exchange.connection_reused) == (None, False)
    assert stated.exchange.tcp_ns is not None


@pytest.mark.parametrize("host", ["a" * 64 + ".invalid", "a..invalid"])
async def test_a_name_that_no_host_can_have_does_not_resolve(host: str) -> None:
    """Python refuses to ask for such a name by an error of its own; for a user it is the same slip in the address."""
    (asked,) = await fast(f"http://{host}/v1")
    assert (asked.kind, asked.phase) == ("dns", "dns")


async def test_an_unknown_authority_is_refused(server: FaultServer, certificate: Path) -> None:
    """The same certificate, trusted by nobody: the failure is TLS, and nothing was sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    tls = await asyncio.start_server(server._accept, "127.0.0.1", 0, ssl=context)
    async with tls:
        (asked,) = await fast(f"https://localhost:{tls.sockets[0].getsockname()[1]}/v")
    assert (asked.kind, asked.phase) == ("tls", "tls")
    assert not server.seen


async def test_interim_answers_are_passed_over(server: FaultServer) -> None:
    """100 and 103 before the answer are not the answer, and their headers are not its headers."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx-request-id: early\r\n\r\n"
    server.answer = lambda _: say(interim, stream(text("hello"), DONE))
    first, second = await fast(server.url(), server.url())
    assert (first.kind, first.exchange.status, second.kind) == (None, 200, None)
    assert "x-request-id" not in first.exchange.headers


async def test_deflate_is_read_when_sent_all_the_same(server: FaultServer) -> None:
    """Unasked compression of the other kind is understood too."""
    packed = zlib.compress(text("hello") + DONE)
    server.answer = lambda _: say(head(content_encoding="deflate") + chunk(packed) + END)
    (asked,) = await fast(server.url())
    assert asked.attempt.response is not None
    assert (asked.kind, asked.attempt.response.text) == (None, "hello")
