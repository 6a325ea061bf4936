"""Posts one small JSON document to a webhook within bounded time. It follows no redirect, retries nothing, reads no
answer but its status, and never says an address: many of them hold a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import anyio
import httpx2

from vendor_verifier import __version__
from vendor_verifier.errors import UsageError
from vendor_verifier.run.foreign_logs import HTTP_LOGGERS, silence

TOTAL_S = 10.0
_HEADERS = {"content-type": "application/json", "user-agent": f"agent-vendor-verifier/{__version__}"}


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where to post. ``origin`` is what may be shown; ``is_slack`` says which document it takes."""

    address: str
    origin: str
    is_slack: bool

    def __repr__(self) -> str:
        return f"Webhook({self.origin}/…)"


def read_webhook(address: str, name: str) -> Webhook:
    """The webhook at ``address``, which was found under ``name``.

    Raises:
        UsageError: it is not https (or http on loopback), or holds a user name; the message does not repeat it.
    """
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise UsageError(f"{name} is no web address; expected https://…") from None
    host = parts.hostname or ""
    if not address.isascii() or not address.isprintable() or " " in address or not host:
        raise UsageError(f"{name} is no web address; expected https://…")
    if "@" in parts.netloc:
        raise UsageError(f"{name} holds a user name or password before the host; a webhook has none")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise UsageError(f"{name} must begin with https:// (or http:// on loopback)")
    return Webhook(address, f"{parts.scheme}://{host}{port}", host == "hooks.slack.com")


def post(webhook: Webhook, document: bytes, *, total_s: float = TOTAL_S) -> str | None:
    """Send ``document``; ``None``, or in one sentence why it may not have arrived. Takes ``total_s`` at the most."""
    silence(*HTTP_LOGGERS)
    return anyio.run(_post, webhook, document, total_s)


async def _post(webhook: Webhook, document: bytes, total_s: float) -> str | None:
    where = f"the webhook at {webhook.origin}"
    try:
        with anyio.fail_after(total_s):
            # A proxy of the environment is for the outside world only.
            outside = webhook.address.startswith("https://")
            async with (
                httpx2.AsyncClient(follow_redirects=False, timeout=total_s, trust_env=outside) as client,
                client.stream("POST", webhook.address, content=document, headers=_HEADERS) as answer,
            ):
                status = answer.status_code
    except TimeoutError:
        return f"{where} did not answer within {total_s:g} s"
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        # The message of some of these quotes the address.
        return f"{where} cannot be reached ({type(error).__name__})"
    return None if 200 <= status < 300 else f"{where} answered {status}"


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
