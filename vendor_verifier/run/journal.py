"""The append-only journal of a run: a record is on disk the moment it is finished, and is never changed.

One line is one ``write`` to a descriptor opened for appending, so a crash can lose at most the line being written. A
torn last line is moved to ``records.jsonl.corrupt`` when the journal is next opened. A lock beside it keeps a second
writer out; it names who holds it. About every second a thread has the disk keep what was written, which may take a disk
many milliseconds: on the event loop that would make every stream's moments late.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import filelock

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.redaction import Scrubber
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder, encode_record
from vendor_verifier.values.record import Record

_SYNC_EVERY_S = 1.0


class Journal:
    """The one writer of a run folder's records. Use as a context manager."""

    def __init__(self, folder: RunFolder, scrubber: Scrubber) -> None:
        self.written = 0
        self.repaired_line: int | None = None
        self._folder = folder
        self._scrubber = scrubber
        self._lock = filelock.FileLock(folder.path / ".lock", timeout=0, mode=FILE_MODE)
        self._descriptor = -1
        self._size = 0
        self._broken: StorageError | None = None
        self._synced_at = 0.0
        self._syncer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._syncing: Future[None] | None = None

    def __enter__(self) -> Journal:
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise RunFolderError(
                f"{self._folder.path} is being written by {self._holder()}; choose another folder"
            ) from None
        except OSError as error:
            raise StorageError(f"cannot lock {self._folder.path}: {error}") from error
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise
        return self

    def _open(self) -> None:
        self._folder.write(self._owner.name, f"process {os.getpid()} on {socket.gethostname()}\n")
        try:
            self.repaired_line = self._repair()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
            self._descriptor = os.open(self._folder.records_file, flags, FILE_MODE)
            self._size = os.fstat(self._descriptor).st_size
        except OSError as error:
            raise StorageError(f"cannot open {self._folder.records_file}: {error}") from error

    @property
    def _owner(self) -> Path:
        return self._folder.path / ".lock-owner"

    def _holder(self) -> str:
        try:
            return self._owner.read_text(encoding="utf-8").strip()
        except OSError:
            return "another process"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._syncer.shutdown()
            if self._broken is None and self._is_kept():  # else the first refusal is the one to report
                self._sync()
        finally:
            os.close(self._descriptor)
            self._owner.unlink(missing_ok=True)
            self._lock.release()

    def append(self, records: Sequence[Record]) -> None:
        """Write finished records.

        Raises:
            StorageError: the disk refused, now or before, or did not keep what it took; what was written until then
                stays readable.
        """
        if self._broken is not None:
            raise self._broken
        for record in records:
            self._write(self._scrubber.bytes(encode_record(record)))
            self.written += 1
        now = time.monotonic()
        if now - self._synced_at >= _SYNC_EVERY_S and self._is_kept():
            self._synced_at = now
            self._syncing = self._syncer.submit(self._sync)

    def _write(self, line: bytes) -> None:
        written = 0
        while written < len(line):
            try:
                written += os.write(self._descriptor, line[written:])
            except OSError as error:
                # A half line would swallow the next one. What cannot be cut off now is repaired on opening.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._size)
                self._broken = StorageError(
                    f"cannot write {self._folder.records_file}: {error}; {self.written} records just written are safe"
                )
                raise self._broken from error
        self._size += written

    def _is_kept(self) -> bool:
        """Whether the disk has done what it was last asked to.

        Raises:
            StorageError: it could not.
        """
        if self._syncing is None:
            return True
        if not self._syncing.done():
            return False
        self._syncing.result()
        return True

    def _sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise StorageError(f"cannot write {self._folder.records_file}: {error}") from error

    def _repair(self) -> int | None:
        """Move a torn last line to a file of its own; its 1-based number, or None when there was none."""
        path = self._folder.records_file
        if path.is_symlink() or not path.exists():
            return None
        content = path.read_bytes()
        if not content or content.endswith(b"\n"):
            return None
        keep = content.rfind(b"\n") + 1
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
        with os.fdopen(os.open(path.with_name(path.name + ".corrupt"), flags, FILE_MODE), "wb") as aside:
            aside.write(content[keep:] + b"\n")
        os.truncate(path, keep)
        return content.count(b"\n") + 1
