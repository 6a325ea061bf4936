"""Which clusters may be used: an unencrypted connection that leaves this machine is refused unless it is asked for."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from vendor_verifier.errors import UsageError

_ENCRYPTED = frozenset({"tls"})
_PLAIN = frozenset({"tcp"})


def scheduler_address(text: str) -> str:
    """The address with its scheme; without one it is ``tcp``.

    Raises:
        UsageError: another scheme, or no host and port.
    """
    address = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname and parts.port)
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in _ENCRYPTED | _PLAIN:
        raise UsageError(f"--dask-scheduler {text}: expected tls://HOST:PORT, or tcp://HOST:PORT on this machine")
    return address


def is_loopback(address: str) -> bool:
    """Whether a connection to ``scheme://host:port`` stays on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_insecure(addresses: Iterable[str], *, insecure_cluster: bool) -> None:
    """Prompts, answers and code would cross the network in the clear, and anyone there could run code on the workers.

    Raises:
        UsageError: an address is neither encrypted nor on this machine, and that was not asked for.
    """
    if insecure_cluster:
        return
    for address in addresses:
        if urlsplit(address).scheme not in _ENCRYPTED and not is_loopback(address):
            raise UsageError(
                f"{address} is neither encrypted nor on this machine: whoever reaches it could read everything and run "
                "code on the workers; use tls:// (docs/distributed.md), or --insecure-cluster in a network of your own"
            )
