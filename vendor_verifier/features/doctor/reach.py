"""Finds out how a vendor is reached: name resolution and TLS, on a connection that carries no request; bounded time."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from vendor_verifier.config.credentials import read_address
from vendor_verifier.features.doctor.values import Reach
from vendor_verifier.transport.proxies import proxy_for

_LIMIT_S = 6.0
_CONNECT_S = 4.0
_DAY_S = 86400.0
_PORTS = {"http": 80, "https": 443}


async def reach(base_url: str, environ: Mapping[str, str]) -> Reach:
    """What the network says of an address, in at most twelve seconds. Behind a proxy nothing is looked up here.

    Raises:
        AddressError: the address is none; configuration has refused it long before.
    """
    address = read_address(base_url, allow_http=True)
    parts = urlsplit(address.url)
    proxy = proxy_for(address.url, environ)
    shown = None if proxy is None else f"{proxy.shown} (from {proxy.variable})"
    known = Reach(address.origin, address.host, parts.scheme, address.local, shown)
    if proxy is not None:
        return known
    port = parts.port or _PORTS[parts.scheme]
    found = replace(known, dns_error=f"no answer within {_LIMIT_S:g} s")
    with anyio.move_on_after(_LIMIT_S):
        # A resolver cannot be told to hurry; its thread is left behind when time is up.
        found = await anyio.to_thread.run_sync(_resolved, known, port, abandon_on_cancel=True)
    if not found.addresses or parts.scheme != "https":
        return found
    with anyio.move_on_after(_LIMIT_S):
        return await anyio.to_thread.run_sync(_secured, found, port, abandon_on_cancel=True)
    return replace(found, tls_error=f"no answer within {_LIMIT_S:g} s")


def _resolved(reach: Reach, port: int) -> Reach:
    try:
        found = socket.getaddrinfo(reach.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return replace(reach, dns_error=str(error) or type(error).__name__)
    return replace(reach, addresses=tuple(dict.fromkeys(str(item[4][0]) for item in found)))


def _secured(reach: Reach, port: int) -> Reach:
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((reach.host, port), timeout=_CONNECT_S) as plain,
            context.wrap_socket(plain, server_hostname=reach.host) as secure,
        ):
            expiry = (secure.getpeercert() or {}).get("notAfter")
            version = secure.version()
    except (OSError, ValueError) as error:
        return replace(reach, tls_error=str(error) or type(error).__name__)
    days = (ssl.cert_time_to_seconds(expiry) - time.time()) / _DAY_S if isinstance(expiry, str) else None
    return replace(reach, tls_version=version, tls_days_left=days)
