"""Opens connections and times name look-up, TCP and TLS; raises the limit of open files where a run needs more."""

from __future__ import annotations

import asyncio
import contextlib
import errno
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


# This process, or its machine, has no file, port or memory left.
OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
# HTTP's refusals, and the one of SOCKS by its rules.
_REFUSALS = frozenset({401, 403, 407, 2})


class ProxyFailed(OSError):
    """Raised when a proxy, or the host behind it, makes no connection; the message has the reason and no password."""


class ProxyRefused(ProxyFailed):
    """Raised when a proxy is not there or refuses us, which no other try changes."""


async def connect_through(proxy: Proxy, origin: Origin) -> socket.socket:
    """A connection to ``origin`` through an HTTP (``CONNECT``) or SOCKS proxy, which looks the name up.

    Raises:
        ProxyFailed, ProxyRefused: there is no connection.
    """
    # Slow to load, and hardly ever needed.
    from python_socks import ProxyConnectionError, ProxyError
    from python_socks.async_.asyncio import Proxy as Tunnel

    try:
        tunnel = Tunnel.from_url(proxy.url.replace("socks5h://", "socks5://", 1), rdns=True)
        # The caller's time limit holds; the library's own would be shorter.
        return await tunnel.connect(origin.host, origin.port, timeout=3600)
    except (ProxyError, OSError, ValueError) as error:
        if getattr(error, "errno", None) in OURS:
            raise
        words, code = str(error) or type(error).__name__, getattr(error, "error_code", None)
        if code == 407 or "authentication" in words.lower():
            raise ProxyRefused(f"{words}; check the user name and password in {proxy.variable}") from error
        is_final = code in _REFUSALS or isinstance(error, (ProxyConnectionError, ValueError))
        raise (ProxyRefused if is_final else ProxyFailed)(words) from error


async def connect(
    origin: Origin, context: Callable[[], ssl.SSLContext], tunnel: socket.socket | None = None
) -> tuple[HttpConnection, dict[str, int | None]]:
    """Connect to ``origin``, or take the ``tunnel`` to it; ``context`` is asked for TLS settings only when needed.

    Returns also the times of its parts: ``dns_ns``, None for an IP address; ``tcp_ns``; ``tls_ns``, None without TLS.

    Raises:
        ssl.SSLError, ConnectionResetError: the handshake failed, or the connection ended in it.
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
        if is_tls and isinstance(error, (ConnectionError, EOFError, ssl.SSLEOFError)):
            raise ConnectionResetError("the server closed the connection in the TLS handshake") from error
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
