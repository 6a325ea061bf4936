"""The one reader of ``HTTPS_PROXY`` and its like: the proxy that the environment prescribes for an address.

``http_proxy``, ``https_proxy`` and ``all_proxy`` in either case, the lower one first; an empty value means none.
``no_proxy`` exempts hosts with their subdomains (``example.com`` and ``.example.com`` alike), addresses, networks
(``10.0.0.0/8``), any of them on one port only (``host:8080``), and by ``*`` everything. This machine's own addresses
are never asked for through a proxy. It connects nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from vendor_verifier.errors import UsageError


def is_loopback(host: str) -> bool:
    """Whether a host's name or address, in lower case, stands for this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


_PORTS = {"http": 80, "https": 443}
_KINDS = frozenset({"http", "socks5", "socks5h"})


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. ``url`` may hold a password; ``shown`` may be printed, ``variable`` is where it was found."""

    url: str = field(repr=False)
    shown: str
    variable: str

    @property
    def words(self) -> str:
        return f"the proxy {self.shown} (from {self.variable})"


def proxy_for(address: str, environ: Mapping[str, str] | None = None) -> Proxy | None:
    """The proxy for ``address`` by ``environ`` (this process's own), or None for a direct connection."""
    environ = os.environ if environ is None else environ
    parts = urlsplit(address)
    host = (parts.hostname or "").lower()
    port = parts.port or _PORTS.get(parts.scheme)
    if parts.scheme not in _PORTS or is_loopback(host):
        return None
    name, stated = _read(f"{parts.scheme}_proxy", environ)
    if not stated:
        name, stated = _read("all_proxy", environ)
    rules = _read("no_proxy", environ)[1].split(",")
    if not stated or any(_exempts(rule.strip().lower(), host, port) for rule in rules if rule.strip()):
        return None
    url = stated if "://" in stated else f"http://{stated}"
    return Proxy(url, _without_credentials(url), name)


def require_proxies(addresses: Iterable[str], environ: Mapping[str, str] | None = None) -> None:
    """Check that the proxies for ``addresses`` can be used, before anything is sent.

    Raises:
        UsageError: a proxy's address is none, or its kind is unknown.
    """
    for address in addresses:
        proxy = proxy_for(address, environ)
        if proxy is not None:
            _require(proxy)


def _require(proxy: Proxy) -> None:
    if urlsplit(proxy.url).scheme.lower() not in _KINDS:
        raise UsageError(
            f"{proxy.variable} names a proxy of an unknown kind ({proxy.shown}); "
            "expected http://host:port or socks5://host:port"
        )
    if "(" in proxy.shown:
        raise UsageError(f"{proxy.variable} is no proxy's address ({proxy.shown}); expected http://host:port")


def _read(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The variable's name as it is set, and its value."""
    if name in environ:
        return name, environ[name].strip()
    if name == "http_proxy" and "REQUEST_METHOD" in environ:
        # Under CGI the upper-case name can be set by anyone who sends a header of that name.
        return name, ""
    return name.upper(), environ.get(name.upper(), "").strip()


def _exempts(rule: str, host: str, port: int | None) -> bool:
    if rule == "*":
        return True
    rule = rule.partition("://")[2] or rule
    bare, only_port = _split_port(rule)
    if only_port is not None and only_port != port:
        return False
    try:
        return ip_address(host) in ip_network(bare, strict=False)
    except ValueError:
        name = bare.removeprefix("*").removeprefix(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))


def _split_port(rule: str) -> tuple[str, int | None]:
    """Host and port of a rule; a bare IPv6 address or network has colons and no port."""
    host, colon, port = rule.rpartition(":")
    if colon and port.isdecimal() and (host.endswith("]") or ":" not in host):
        return host.strip("[]"), int(port)
    return rule.strip("[]"), None


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ":(no port)"
    host = parts.hostname or "(no host)"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
