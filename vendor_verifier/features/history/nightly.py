"""What surrounds a nightly check: one check at a time, and old run folders that are deleted."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import filelock

from vendor_verifier.errors import Problem, ProblemsError, RunFolderError, StorageError, VerifierError
from vendor_verifier.store import FILE_MODE, FOLDER_MODE, RunFolder


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
