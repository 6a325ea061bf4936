"""The proxy that the environment prescribes for an address; it connects nowhere.

``http_proxy``, ``https_proxy`` and ``all_proxy`` in either case, the lower one first; an empty value means none.
``no_proxy`` exempts hosts with their subdomains, addresses, networks (``10.0.0.0/8``), any of them on one port only
(``host:8080``), and by ``*`` everything. This machine's own addresses are never asked for through a proxy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from vendor_verifier.errors import UsageError

_PORTS = {"http": 80, "https": 443}
_KINDS = frozenset({"http", "socks5", "socks5h"})


def is_loopback(host: str) -> bool:
    """Whether a host's name or address stands for this machine."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. ``url`` may hold a password; ``shown`` may be printed, ``variable`` is where it was found."""

    url: str = field(repr=False)
    shown: str
    variable: str


def proxy_for(address: str, environ: Mapping[str, str] | None = None) -> Proxy | None:
    """The proxy for ``address`` by ``environ`` (this process's own), or None for a direct connection."""
    environ = os.environ if environ is None else environ
    parts = urlsplit(address)
    host = (parts.hostname or "").lower()
    if parts.scheme not in _PORTS or is_loopback(host):
        return None
    variable = stated = ""
    for name in (f"{parts.scheme}_proxy", "all_proxy"):
        variable = name if name in environ else name.upper()
        stated = environ.get(variable, "").strip()
        if stated:
            break
    rules = environ.get("no_proxy", environ.get("NO_PROXY", "")).lower().split(",")
    port = parts.port or _PORTS[parts.scheme]
    if not stated or any(_exempts(rule.strip(), host, port) for rule in rules):
        return None
    url = stated if "://" in stated else f"http://{stated}"
    return Proxy(url, re.sub("//.*@", "//", url), variable)


def require_proxies(addresses: Iterable[str], environ: Mapping[str, str] | None = None) -> None:
    """Check that the proxies for ``addresses`` can be used, before anything is sent.

    Raises:
        UsageError: a proxy's address is none, or its kind is unknown.
    """
    for proxy in filter(None, (proxy_for(address, environ) for address in addresses)):
        parts = urlsplit(proxy.url)
        try:
            is_usable = parts.scheme in _KINDS and parts.hostname and parts.port
        except ValueError:
            is_usable = False
        if not is_usable:
            raise UsageError(
                f"{proxy.variable} names no proxy that can be used ({proxy.shown}); "
                "expected http://host:port or socks5://host:port"
            )


def _exempts(rule: str, host: str, port: int) -> bool:
    if rule == "*":
        return True
    rule = rule.partition("://")[2] or rule
    try:
        return ip_address(host) in ip_network(rule.strip("[]"), strict=False)
    except ValueError:
        # A name, or a rule for one port.
        bare, _, only_port = rule.rpartition(":")
    if bare and only_port.isdecimal():
        if int(only_port) != port:
            return False
        rule = bare
    name = rule.strip("[]").removeprefix("*").removeprefix(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))
