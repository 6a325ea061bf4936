"""What surrounds a nightly check: one at a time, old run folders that are deleted, and a webhook."""

from __future__ import annotations

import html
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import filelock
import httpx2
import msgspec
import pandas as pd

from vendor_verifier.errors import RunFolderError, StorageError, UsageError
from vendor_verifier.features.history.check import CheckResult
from vendor_verifier.store import FILE_MODE, FOLDER_MODE, RunFolder
from vendor_verifier.transport.proxies import is_loopback, proxy_for


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
        parts = httpx2.URL(address)
    except httpx2.InvalidURL:
        parts = httpx2.URL("")
    if not parts.host or parts.userinfo:
        raise UsageError(f"{name} is no web address; expected https://… without a user name")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.host)):
        raise UsageError(f"{name} must begin with https:// (or http:// on loopback)")


def post(address: str, result: CheckResult) -> str | None:
    """Send the result to a webhook; None, or one sentence on the failure, without the address.

    Slack takes a text, in which a stranger's can neither mention anybody nor be a link; others the whole as JSON. No
    redirect is followed, nothing is sent twice, and only the status of the answer is read.
    """
    # They would log the address, which often holds a token.
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    url, proxy = httpx2.URL(address), proxy_for(address)
    text = html.escape("\n".join([result.headline, *result.lines]), quote=False)
    is_slack = url.host == "hooks.slack.com"
    who = f"the webhook at {url.scheme}://{url.host}"
    try:
        with httpx2.stream(
            "POST",
            url,
            content=msgspec.json.encode({"text": text, "mrkdwn": False} if is_slack else result),
            headers={"content-type": "application/json"},
            proxy=None if proxy is None else proxy.url,
            trust_env=False,
            verify=httpx2.create_ssl_context(),
            timeout=10,
        ) as answer:
            return None if answer.is_success else f"{who} answered {answer.status_code}"
    except Exception as error:  # noqa: BLE001 - it must not change the exit code, and some messages quote the address
        return f"{who} cannot be reached ({type(error).__name__})"
