"""Opens connections and times name look-up, TCP and TLS; raises the limit of open files where a run needs more."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

from aiohappyeyeballs import start_connection

from vendor_verifier.errors import UsageError
from vendor_verifier.transport.connection import HttpConnection, Origin
from vendor_verifier.transport.proxies import Proxy

# Files of the run, the event loop, idle connections that are being replaced, name look-ups.
_RESERVE = 96
_UNLIMITED = 1_000_000


def _open_files() -> tuple[int, int]:
    """This process's soft and hard limit of open files."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return _UNLIMITED, _UNLIMITED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    return _UNLIMITED if soft == unlimited else soft, _UNLIMITED if hard == unlimited else hard


def most_connections() -> int:
    """The most connections this process can have at once."""
    return max(1, _open_files()[1] - _RESERVE)


def ensure_descriptors(connections: int) -> None:
    """Raise this process's soft limit of open files if it is too low for ``connections``.

    Raises:
        UsageError: the hard limit is too low for ``connections``.
    """
    (soft, hard), needed = _open_files(), connections + _RESERVE
    if soft >= needed:
        return
    if hard >= needed:
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            return
    raise UsageError(
        f"{connections} requests at a time may need {needed} open files, and this system allows {soft} "
        f"(hard limit {hard}); raise it (`ulimit -n {needed}`), or lower --request-concurrency or `concurrency:`"
    )


class TlsFailed(OSError):
    """Raised when the TCP connection stood and the handshake failed; the cause has the reason."""


class ProxyRefused(OSError):
    """Raised when a proxy is not there or does not let us through; the message has the reason and no password."""


async def connect_through(proxy: Proxy, origin: Origin) -> socket.socket:
    """A connection to ``origin`` through an HTTP (``CONNECT``) or SOCKS proxy, which looks the name up.

    Raises:
        ProxyRefused: it is not there, or does not let us through.
    """
    # Slow to load, and hardly ever needed.
    from python_socks import ProxyError
    from python_socks.async_.asyncio import Proxy as Tunnel

    try:
        tunnel = Tunnel.from_url(proxy.url.replace("socks5h://", "socks5://", 1), rdns=True)
        # The caller's time limit holds; the library's own would be shorter.
        return await tunnel.connect(origin.host, origin.port, timeout=3600)
    except (ProxyError, OSError, ValueError) as error:
        words = str(error) or type(error).__name__
        if getattr(error, "error_code", None) == 407 or "authentication" in words.lower():
            words += f"; check the user name and password in {proxy.variable}"
        raise ProxyRefused(words) from error


async def connect(
    origin: Origin, context: Callable[[], ssl.SSLContext], tunnel: socket.socket | None = None
) -> tuple[HttpConnection, dict[str, int | None]]:
    """Connect to ``origin``, or take the ``tunnel`` to it; ``context`` is asked for TLS settings only when needed.

    Returns also the times of its parts: ``dns_ns``, None for an IP address; ``tcp_ns``; ``tls_ns``, None without TLS.

    Raises:
        TlsFailed: the handshake failed.
        OSError: no address (``socket.gaierror``), or none that answers.
    """
    dns_ns, begun_ns, stream = None, time.perf_counter_ns(), tunnel
    if stream is None:
        addresses, dns_ns = await _addresses(origin)
        try:
            # Families alternate; the next address is tried after the delay of RFC 8305, or when one fails.
            stream = await start_connection(addresses, happy_eyeballs_delay=0.25, interleave=1)
        except RuntimeError as error:
            # What uvloop raises where others raise OSError.
            raise OSError(str(error)) from error
    connected_ns = time.perf_counter_ns()
    took_ns = {"dns_ns": dns_ns, "tcp_ns": connected_ns - begun_ns - (dns_ns or 0)}
    is_tls = origin.scheme == "https"
    try:
        tls, name = (context(), origin.host) if is_tls else (None, None)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(HttpConnection, sock=stream, ssl=tls, server_hostname=name)
    except BaseException as error:
        stream.close()
        if is_tls and isinstance(error, (OSError, EOFError)):
            raise TlsFailed(str(error) or "the server hung up in the TLS handshake") from error
        raise
    return connection, took_ns | {"tls_ns": time.perf_counter_ns() - connected_ns if is_tls else None}


async def _addresses(origin: Origin) -> tuple[Sequence[Any], int | None]:
    """The origin's addresses, and how long the look-up took; None where the address is given in figures."""
    with contextlib.suppress(socket.gaierror, UnicodeError):
        stated = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return stated, None
    begun_ns = time.perf_counter_ns()
    try:
        found = await asyncio.get_running_loop().getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        # A label that is empty or too long: it is not even looked up.
        raise socket.gaierror(socket.EAI_NONAME, "no host can have this name") from error
    return found, time.perf_counter_ns() - begun_ns
