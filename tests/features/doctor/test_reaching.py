"""Names and TLS, looked up beside the requests."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import contextmanager
from typing import Any

import pytest
from costs import PATIENCE_S

from vendor_verifier.features.doctor import examine as reaching
from vendor_verifier.features.doctor.examine import reach

pytestmark = pytest.mark.anyio


async def test_a_local_vendor_resolves_and_needs_no_tls() -> None:
    """Plain http on loopback: addresses and the origin, nothing else."""
    found = await reach("http://127.0.0.1:8000/v1", {})
    assert (found.origin, found.local, found.addresses) == ("http://127.0.0.1:8000", True, ("127.0.0.1",))
    assert (found.tls_version, found.tls_error, found.proxy) == (None, None, None)


async def test_a_name_that_does_not_resolve_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver's own words, and no TLS attempt."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(reaching.socket, "getaddrinfo", unknown)
    found = await reach("https://nowhere.test/v1", {})
    assert "not known" in (found.dns_error or "")
    assert found.addresses == ()
    assert found.tls_error is None


async def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds although the thread cannot be stopped."""
    freed, ended = threading.Event(), threading.Event()

    def hanging(*_: object, **__: object) -> None:
        freed.wait(PATIENCE_S)
        ended.set()
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(reaching, "_LIMIT_S", 0.05)
    monkeypatch.setattr(reaching.socket, "getaddrinfo", hanging)
    found = await reach("https://slow.test/v1", {})
    assert not ended.is_set()
    freed.set()
    assert "no answer" in (found.dns_error or "")


async def test_behind_a_proxy_nothing_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy resolves and connects; we must not do it beside it."""
    monkeypatch.setattr(reaching.socket, "getaddrinfo", lambda *_, **__: pytest.fail("looked up"))
    found = await reach("https://api.test/v1", {"https_proxy": "http://proxy.test:1"})
    assert found.proxy == "http://proxy.test:1 (from https_proxy)"
    assert found.dns_error is None


async def test_a_port_that_speaks_no_tls_is_told() -> None:
    """A plain server under an https address fails the handshake, in words."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        found = await reach(f"https://127.0.0.1:{listening.getsockname()[1]}/v1", {})
        thread.join()
    assert found.tls_error is not None
    assert found.tls_version is None


async def test_version_and_expiry_are_read_from_the_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten days from now is ten days left."""
    expiry = time.strftime("%b %d %H:%M:%S %Y GMT", time.gmtime(time.time() + 10 * 86400))

    class Secure:
        def getpeercert(self) -> dict[str, str]:
            return {"notAfter": expiry}

        def version(self) -> str:
            return "TLSv1.3"

    @contextmanager
    def wrapped(*_: object, **__: object) -> Any:
        yield Secure()

    context = ssl.create_default_context()
    monkeypatch.setattr(context, "wrap_socket", wrapped, raising=False)
    monkeypatch.setattr(reaching.ssl, "create_default_context", lambda: context)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found = await reach(f"https://127.0.0.1:{listening.getsockname()[1]}/v1", {})
    assert found.tls_version == "TLSv1.3"
    assert found.tls_days_left == pytest.approx(10, abs=0.01)
