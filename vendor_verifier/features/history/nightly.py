"""What surrounds a nightly check: one at a time, old run folders that are deleted, and a webhook.

The POST follows no redirect, is not repeated, and reads only the status. Many addresses hold a token, so messages name
the host alone.
"""

from __future__ import annotations

import html
import shutil
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import filelock
import httpx2
import msgspec

from vendor_verifier import __version__
from vendor_verifier.errors import Problem, ProblemsError, RunFolderError, StorageError, UsageError, VerifierError
from vendor_verifier.features.history.check import CheckResult
from vendor_verifier.store import FILE_MODE, FOLDER_MODE, RunFolder
from vendor_verifier.transport.policy import HTTP_LOGGERS, silence
from vendor_verifier.transport.proxies import is_loopback, proxy_for

TOTAL_S = 10.0
_HEADERS = {"content-type": "application/json", "user-agent": f"agent-vendor-verifier/{__version__}"}


@contextmanager
def only_check(runs: Path) -> Iterator[None]:
    """Hold the lock under ``runs`` that keeps a second check out while one is running.

    Raises:
        RunFolderError: another check is running.
        StorageError: the folder cannot be written.
    """
    try:
        runs.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        lock = filelock.FileLock(runs / ".check.lock", timeout=0, mode=FILE_MODE)
        lock.acquire()
    except filelock.Timeout:
        raise RunFolderError(f"another check is running in {runs}/; this one sent nothing") from None
    except OSError as error:
        raise StorageError(f"cannot lock {runs}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()


def read_days(text: str) -> int:
    """The number of days in a text such as ``90d``.

    Raises:
        ProblemsError: anything else, and no day at all.
    """
    days = text.removesuffix("d")
    if not (days.isascii() and days.isdigit() and 0 < int(days) < 100_000):
        raise ProblemsError([Problem(f"read {text!r}; expected a number of days, such as 90d", key="--keep")])
    return int(days)


def clear_old_runs(runs: Path, limit: datetime, *, keep: Path, known: Collection[str] | None) -> list[str]:
    """Delete run folders directly under ``runs`` that began before ``limit``; a sentence on each that could not be.

    Only folders whose manifest shows a finished or interrupted run of this tool: no links, no imports, not ``keep``.
    With the ids of the ``known`` runs of a history only those, whose figures therefore stay.
    """
    troubles: list[str] = []
    for file in sorted(runs.glob("*/manifest.json")):
        folder = file.parent
        if folder.is_symlink() or folder.resolve() == keep.resolve():
            continue
        try:
            manifest = RunFolder(folder).read_manifest()
            began = datetime.fromisoformat(str(manifest.created_at))
        except (VerifierError, ValueError):
            continue
        ours = manifest.tool is not None and manifest.tool.name == "agent-vendor-verifier"
        ended = manifest.status in ("finished", "interrupted")
        is_old = (began if began.tzinfo else began.replace(tzinfo=UTC)) < limit
        if not (ours and ended and is_old and (known is None or manifest.run in known)):
            continue
        try:
            shutil.rmtree(folder)
        except OSError as error:
            troubles.append(f"the old run {folder} cannot be deleted: {error.strerror or error}")
    return troubles


@dataclass(frozen=True)
class Webhook:
    """An address to post to. Only its ``origin`` may be shown; ``is_slack`` selects the document it takes."""

    address: str = field(repr=False)
    origin: str
    is_slack: bool

    def document(self, result: CheckResult) -> bytes:
        """The result as JSON; for Slack its text, in which a stranger's can neither mention anybody nor be a link."""
        if not self.is_slack:
            return msgspec.json.encode(result)
        text = html.escape("\n".join([result.headline, *result.lines]), quote=False)
        return msgspec.json.encode({"text": text, "mrkdwn": False})


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
