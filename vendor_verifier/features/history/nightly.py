"""What surrounds a nightly check: one at a time, old run folders that are deleted, and a webhook."""

from __future__ import annotations

import html
import logging
import shutil
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import filelock
import httpx2
import msgspec
import pandas as pd

from vendor_verifier import __version__
from vendor_verifier.errors import RunFolderError, StorageError, UsageError
from vendor_verifier.features.history.check import CheckResult
from vendor_verifier.store import FILE_MODE, FOLDER_MODE, RunFolder
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


def clear_old_runs(history: pd.DataFrame, runs: Path, limit: datetime, *, keep: Path) -> list[str]:
    """Delete the folders of runs of the history that began before ``limit``; a sentence on each that could not be.

    Their figures stay in the history. Only folders directly under ``runs``, no imported ones, and not ``keep``.
    """
    troubles = []
    for run, folder in set(history.loc[history["at"] < limit, ["run", "folder"]].itertuples(index=False, name=None)):
        path = Path(folder)
        if path.parent == runs.resolve() and path != keep.resolve():
            try:
                manifest = RunFolder(path).read_manifest()
                if manifest.run == run and manifest.status in ("finished", "interrupted"):
                    shutil.rmtree(path)
            except RunFolderError:
                continue
            except OSError as error:
                troubles.append(f"the old run {path} cannot be deleted: {error.strerror or error}")
    return troubles


def check_webhook(address: str, name: str) -> None:
    """Refuse an address, found under ``name``, that is not https (or http on loopback), or holds a user name.

    Raises:
        UsageError: the message does not repeat the address, because many hold a token.
    """
    try:
        parts = urlsplit(address)
        is_one = parts.port != 0 and address.isascii() and address.isprintable() and " " not in address
    except ValueError:
        is_one = False
    if not is_one or "@" in parts.netloc or not parts.hostname:
        raise UsageError(f"{name} is no web address; expected https://… without a user name")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
        raise UsageError(f"{name} must begin with https:// (or http:// on loopback)")


def post(address: str, result: CheckResult, *, total_s: float = TOTAL_S) -> str | None:
    """Send the result to a webhook within ``total_s``; None, or one sentence on the failure, without the address.

    Slack takes its text, in which a stranger's can neither mention anybody nor be a link; others the whole as JSON. No
    redirect is followed, nothing is sent twice, and only the status of the answer is read.
    """
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    parts = urlsplit(address)
    text = html.escape("\n".join([result.headline, *result.lines]), quote=False)
    is_slack = parts.hostname == "hooks.slack.com"
    document = msgspec.json.encode({"text": text, "mrkdwn": False} if is_slack else result)
    who = f"the webhook at {parts.scheme}://{parts.netloc}"
    sent: Future[int] = Future()
    # A name lookup can neither be timed nor cancelled, so it runs in a thread that may hang without being waited for.
    Thread(target=_send, args=(address, document, total_s, sent), daemon=True).start()
    try:
        status = sent.result(total_s)
    except (TimeoutError, httpx2.TimeoutException):
        return f"{who} did not answer within {total_s:g} s"
    except Exception as error:  # noqa: BLE001 - it must not change the exit code, and some messages quote the address
        return f"{who} cannot be reached ({type(error).__name__})"
    return None if 200 <= status < 300 else f"{who} answered {status}"


def _send(address: str, document: bytes, total_s: float, sent: Future[int]) -> None:
    try:
        proxy, context = proxy_for(address), httpx2.create_ssl_context()
        url = None if proxy is None else proxy.url
        with (
            httpx2.Client(verify=context, timeout=total_s, trust_env=False, proxy=url) as client,
            client.stream("POST", address, content=document, headers=_HEADERS) as answer,
        ):
            sent.set_result(answer.status_code)
    except Exception as error:  # noqa: BLE001 - handed over to the caller
        if not sent.done():
            sent.set_exception(error)
