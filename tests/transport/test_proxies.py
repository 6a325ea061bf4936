"""Proxies of the environment: which applies, by one reader for all, and what one in the way comes to."""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode

import pytest
from asking import QUICK, ask, entry, run
from fault_server import FaultServer
from made_values import replace
from workbench import free_port

from vendor_verifier.errors import UsageError
from vendor_verifier.features.history import check
from vendor_verifier.features.history.check import CheckResult
from vendor_verifier.run.conversation import should_retry
from vendor_verifier.transport.client import require_network
from vendor_verifier.transport.proxies import proxy_for


class ProxyServer(FaultServer):
    """A proxy that answers in place of every host, so that names need not resolve. It refuses with ``refusal`` where
    that is set, and who has no ``login`` (``user:password``) if there is one; ``asked`` are the request lines."""

    scheme = "http"

    def __init__(self, refusal: int | None = None, login: str | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.refusal, self.login = refusal, login

    def address(self, login: str = "") -> str:
        return f"{self.scheme}://{login}127.0.0.1:{self.port}"

    async def lets_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line, _, rest = (await reader.readuntil(b"\r\n\r\n")).decode().partition("\r\n")
        self.asked.append(line)
        is_known = self.login is None or b64encode(self.login.encode()).decode() in rest
        refusal = self.refusal if is_known else 407
        writer.write(b"HTTP/1.1 %d Whatever\r\n%s\r\n" % (refusal or 200, b"Content-Length: 0\r\n" if refusal else b""))
        if refusal is not None:
            # Until the client has read it; leaving what it sent unread would be a reset.
            await reader.read()
        return refusal is None


class SocksServer(ProxyServer):
    """The same for SOCKS 5; ``asked`` are the hosts."""

    scheme = "socks5"

    async def lets_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00" if self.login is None else b"\x05\x02")
        if self.login is not None:
            name = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_right = name + b":" + password == self.login.encode()
            writer.write(b"\x01\x00" if is_right else b"\x01\x01")
            if not is_right:
                await reader.read()
                return False
        *_, length = await reader.readexactly(5)
        self.asked.append((await reader.readexactly(length)).decode())
        await reader.readexactly(2)
        writer.write(bytes([5, self.refusal or 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        return self.refusal is None


VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
PROXY = "http://user:canary-password@proxy.test:3128"
SHOWN = "http://proxy.test:3128"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's own proxies are not part of these tests."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environ", "address", "expected"),
    [
        ({}, "https://api.test/v1", None),
        ({"HTTPS_PROXY": PROXY}, "https://api.test/v1", "https_proxy"),
        ({"HTTPS_PROXY": PROXY, "https_proxy": ""}, "https://api.test/v1", None),
        ({"http_proxy": PROXY}, "https://api.test/v1", None),
        ({"http_proxy": PROXY}, "http://api.test/v1", "http_proxy"),
        ({"ALL_PROXY": PROXY}, "http://api.test/v1", "all_proxy"),
        ({"ALL_PROXY": PROXY}, "http://127.8.9.1:8080/v1", None),
        ({"ALL_PROXY": PROXY}, "http://[::1]:8080/v1", None),
        ({"ALL_PROXY": PROXY}, "http://api.LOCALHOST/v1", None),
    ],
)
def test_which_proxy_applies(
    environ: dict[str, str], address: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables in both cases; this machine is never asked for through a proxy."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    found = proxy_for(address)
    assert (None if found is None else found.variable) == expected
    assert found is None or found.shown == SHOWN


@pytest.mark.parametrize(
    ("rules", "address", "is_exempt"),
    [
        ("*", "https://api.test/v1", True), ("other.test, api.test", "https://eu.api.test/v1", True),
        (".api.test", "https://eu.api.test/v1", True), ("pi.test", "https://api.test/v1", False),
        ("10.0.0.0/8", "https://10.1.2.3/v1", True), ("10.0.0.0/8", "https://11.1.2.3/v1", False),
        ("192.0.2.1", "https://192.0.2.1/v1", True), ("api.test:8443", "https://api.test:8443/v1", True),
    ],
)  # fmt: skip
def test_exemptions_of_every_usual_form(
    rules: str, address: str, is_exempt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names with their subdomains, addresses, networks and ports."""
    monkeypatch.setenv("https_proxy", PROXY)
    monkeypatch.setenv("no_proxy", rules)
    assert (proxy_for(address) is None) is is_exempt


def test_a_proxy_that_cannot_be_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown kind or no address: the variable is named. So is that of certificates, where they are needed."""
    for stated in ("ftp://proxy.test", "https://proxy.test:3128", "http://proxy.test:none", "http://[::1:canary@h:1"):
        monkeypatch.setenv("all_proxy", stated)
        with pytest.raises(UsageError, match="all_proxy"):
            require_network(["https://api.test"])
    monkeypatch.setenv("all_proxy", "socks5://u:canary@proxy.test:1080")
    require_network(["https://api.test"])
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    require_network(["http://api.test"])
    with pytest.raises(UsageError, match="SSL_CERT_FILE cannot be used"):
        require_network(["https://api.test"])


@pytest.mark.anyio
@pytest.mark.parametrize("proxy", [ProxyServer(login="user:canary"), SocksServer(login="user:canary")])
async def test_a_proxy_with_a_login_accepts_the_right_password(
    proxy: ProxyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP and SOCKS carry the answer; a wrong password or none is named, charged to nobody, and not shown."""
    made = []
    async with proxy:
        for login in ("user:canary@", "user:canary-false@", ""):
            monkeypatch.setenv("ALL_PROXY", proxy.address(login))
            made.append(await ask("http://vendor.invalid/v"))
    assert [asked.kind for asked in made] == [None, "proxy", "proxy"]
    assert all("all_proxy" in asked.message and "canary" not in asked.message for asked in made[1:])
    assert "check the user name and password in all_proxy" in made[1].message
    assert len(proxy.seen) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("refusal", [403, 407, 502, 503, "gone", "silent"])
async def test_a_proxy_that_does_not_let_us_through_is_nobodys_failure(
    refusal: int | str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it refuses with, and where nobody listens or answers: the variable is named. What the host behind it may
    have caused is worth another try."""
    status = refusal if isinstance(refusal, int) else None
    limits = replace(QUICK, connect_s=0.1) if refusal == "silent" else QUICK
    async with ProxyServer(status) as proxy:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            ports = {"gone": free_port(), "silent": silent.getsockname()[1]}
            monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{ports.get(str(refusal), proxy.port)}")
            asked = await ask(f"{scheme}://vendor.invalid/v", limits=limits)
    is_final = refusal in (403, 407, "gone")
    assert (asked.kind, asked.phase) == ("proxy" if is_final else "proxy_failed", "connect")
    assert should_retry(asked.attempt) is not is_final
    assert "all_proxy" in asked.message
    assert status is None or str(status) in asked.message


@pytest.mark.anyio
@pytest.mark.parametrize(("code", "kind"), [(2, "proxy"), (4, "proxy_failed"), (5, "proxy_failed")])
async def test_what_a_socks_proxy_says(code: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbidden by its rules, host unreachable, refused by the host: only the first is its last word."""
    async with SocksServer(code) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.address())
        assert (await ask("http://vendor.invalid/v")).kind == kind


@pytest.mark.anyio
async def test_a_webhook_goes_through_the_same_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks the proxy that the one reader names, and none for a host that is exempt."""
    hook, result = "https://hooks.invalid/x", CheckResult(status="passed", exit_code=0, headline="check passed")
    async with ProxyServer(403) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address())
        said = await asyncio.to_thread(check.post, hook, result)
        monkeypatch.setenv("no_proxy", ".invalid")
        await asyncio.to_thread(check.post, hook, result)
    assert said is not None
    assert len(proxy.asked) == 1


@pytest.mark.anyio
async def test_a_proxy_in_the_way_stops_the_vendor_and_every_sample(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not asked again and again, no sample counts as skipped by the vendor, and other vendors finish."""
    behind = entry(server, "a")
    behind = replace(behind, endpoint=replace(behind.endpoint, base_url="https://vendor.invalid/a"))
    async with ProxyServer(407) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.address())
        ran = await run([behind, entry(server, "b")], 30, request_concurrency=3)
    assert 1 <= len(proxy.asked) <= 3
    assert set(ran.kinds("a")) == {"proxy"}
    assert ran.kinds("b") == [None] * 30
    assert "all_proxy" in ran.end.stopped["a"]
    assert all(record.succeeded or len(record.turns[0].attempts) == 1 for record in ran.records)
