"""Finds out by one connection that a scheduler speaks TLS where it was not asked so, or the other way round."""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import urlsplit

_PROBE_S = 3.0


async def other_protocol(address: str) -> str | None:
    """The advice for an address ``scheme://host:port`` whose scheduler speaks TLS if it is ``tcp``, or none if it is
    ``tls``; None if that is not the trouble."""
    parts = urlsplit(address)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(_PROBE_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context)
        writer.close()
        speaks_tls = True
    except ssl.SSLError as error:
        # An alert is TLS: it wants a certificate.
        speaks_tls = "ALERT" in (error.reason or "")
    except (OSError, TimeoutError):
        return None
    if speaks_tls == (parts.scheme == "tls"):
        return None
    if speaks_tls:
        return f"it speaks TLS; write tls://{parts.netloc}, with the certificates that docs/distributed.md names"
    return f"it speaks no TLS; write tcp://{parts.netloc}, or start it with certificates (docs/distributed.md)"
