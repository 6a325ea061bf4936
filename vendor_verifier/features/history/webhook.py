"""A POST to a webhook: no redirect, no retry, only the status of the answer is read, and the address is never shown.

Many addresses hold a token, so messages name the host alone.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Thread
from urllib.parse import urlsplit

import httpx2

from vendor_verifier import __version__
from vendor_verifier.errors import UsageError
from vendor_verifier.transport.policy import HTTP_LOGGERS, silence
from vendor_verifier.transport.proxies import is_loopback, proxy_for

TOTAL_S = 10.0
_HEADERS = {"content-type": "application/json", "user-agent": f"agent-vendor-verifier/{__version__}"}


@dataclass(frozen=True)
class Webhook:
    """An address to post to. Only its ``origin`` may be shown; ``is_slack`` selects the document it takes."""

    address: str = field(repr=False)
    origin: str
    is_slack: bool


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
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise UsageError(f"{name} must begin with https:// (or http:// on loopback)")
    return Webhook(address, f"{parts.scheme}://{host}{port}", host == "hooks.slack.com")


def post(webhook: Webhook, document: bytes, *, total_s: float = TOTAL_S) -> str | None:
    """Send ``document`` within ``total_s``; None, or one sentence on the failure."""
    silence(*HTTP_LOGGERS)
    sent: Future[int] = Future()
    # A name lookup can neither be timed nor cancelled, so it runs in a thread that may hang without being waited for.
    Thread(target=_send, args=(webhook, document, total_s, sent), daemon=True).start()
    try:
        status = sent.result(total_s)
    except (TimeoutError, httpx2.TimeoutException):
        return f"the webhook at {webhook.origin} did not answer within {total_s:g} s"
    except Exception as error:  # noqa: BLE001 - it must not change the exit code, and some messages quote the address
        return f"the webhook at {webhook.origin} cannot be reached ({type(error).__name__})"
    return None if 200 <= status < 300 else f"the webhook at {webhook.origin} answered {status}"


def _send(webhook: Webhook, document: bytes, total_s: float, sent: Future[int]) -> None:
    proxy = proxy_for(webhook.address)
    try:
        with (
            httpx2.Client(
                verify=httpx2.create_ssl_context(),
                follow_redirects=False,
                timeout=total_s,
                trust_env=False,
                proxy=None if proxy is None else proxy.url,
            ) as client,
            client.stream("POST", webhook.address, content=document, headers=_HEADERS) as answer,
        ):
            sent.set_result(answer.status_code)
    except Exception as error:  # noqa: BLE001 - handed over to the caller
        if not sent.done():
            sent.set_exception(error)
