"""The proxy that the environment prescribes for an address; it connects nowhere.

``http_proxy``, ``https_proxy``, ``all_proxy`` and ``no_proxy`` are read as Python's standard library does; ``no_proxy``
may name networks, too. This machine's own addresses are never asked for through a proxy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from vendor_verifier.errors import UsageError

_KINDS = frozenset({"http", "socks5", "socks5h"})


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine."""
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


def proxy_for(address: str) -> Proxy | None:
    """The proxy that this process's environment prescribes for ``address``, or None for a direct connection."""
    parts, proxies = urlsplit(address), getproxies()
    name = parts.scheme if parts.scheme in proxies else "all"
    host = (parts.hostname or "").lower()
    if name not in proxies or parts.scheme not in ("http", "https") or is_loopback(host):
        return None
    if proxy_bypass(parts.netloc) or _is_in_network(host, proxies.get("no", "")):
        return None
    stated = proxies[name]
    url = stated if "://" in stated else f"http://{stated}"
    return Proxy(url, re.sub("//.*@", "//", url), f"{name}_proxy")


def _is_in_network(host: str, rules: str) -> bool:
    """Whether one of the rules is a network (``10.0.0.0/8``) that ``host`` belongs to."""
    for rule in rules.split(","):
        with suppress(ValueError):
            if ip_address(host) in ip_network(rule.strip(), strict=False):
                return True
    return False


def require_proxies(addresses: Iterable[str]) -> None:
    """Check that the proxies for ``addresses`` can be used, before anything is sent.

    Raises:
        UsageError: a proxy's address is none, or its kind is unknown.
    """
    for proxy in filter(None, map(proxy_for, addresses)):
        try:
            parts = urlsplit(proxy.url)
            is_usable = parts.scheme in _KINDS and parts.hostname and parts.port
        except ValueError:
            is_usable = False
        if not is_usable:
            raise UsageError(
                f"{proxy.variable} names no proxy that can be used ({proxy.shown}); "
                "expected http://host:port or socks5://host:port"
            )
