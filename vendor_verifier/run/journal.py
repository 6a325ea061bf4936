"""The append-only journal of a run: a record is on disk the moment it is finished, and is never changed.

Records are written as plain lines, and compressed once, at the end of the run, if asked to. One batch of lines is one
``write`` to a descriptor opened for appending, so a crash can lose at most what is being written; the incomplete last
line is dropped when the journal is next opened. A lock file keeps a second writer out and names who holds it. About
every second a thread has the disk keep what was written, which may take a disk many milliseconds: on the event loop
that would make every stream's times late.
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
from vendor_verifier.record_files import PACKED, RECORDS, pack, records_file, unpack
from vendor_verifier.records.record import Record
from vendor_verifier.records.steps import Steps, at_once
from vendor_verifier.redaction import Scrubber
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder, encode_record_in_steps

_SYNC_EVERY_S = 1.0
# A longer one is a millisecond or more of work by itself.
_LONG_LINE = 256 * 1024
_BLOCK = 64 * 1024


class Journal:
    """The one writer of a run folder's records. Use as a context manager.

    Records that were compressed stay so when a run is resumed.
    """

    def __init__(self, folder: RunFolder, scrubber: Scrubber, *, compress: bool = False) -> None:
        self.written = 0
        # Whether an earlier session left an incomplete last line, which is dropped.
        self.torn = False
        self._folder = folder
        self._compress = compress
        self._file = folder.path / RECORDS
        self._descriptor = -1
        self._size = 0
        self._scrubber = scrubber
        self._lock = filelock.FileLock(folder.path / ".lock", timeout=0, mode=FILE_MODE)
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
            if records_file(self._folder.path).suffix == PACKED:
                unpack(self._folder.path)
                self._compress = True
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_LINK, FILE_MODE)
            self._size = _end_of_lines(self._descriptor)
            self.torn = os.fstat(self._descriptor).st_size > self._size
            if self.torn:
                os.ftruncate(self._descriptor, self._size)
        except OSError as error:
            raise StorageError(f"cannot open {self._file}: {error}") from error

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
                self._end()
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
        at_once(self.appending(records))

    def appending(self, records: Sequence[Record]) -> Steps[None]:
        """As :meth:`append`, in steps, and raises the same; others may append between them."""
        lines: list[bytes] = []
        for record in records:
            line = yield from encode_record_in_steps(record)
            if len(line) > _LONG_LINE:
                yield
            lines.append((yield from self._scrubber.bytes_in_steps(line)))
        if self._broken is not None:
            raise self._broken
        try:
            self._write(b"".join(lines))
        except OSError as error:
            words = f"cannot write {self._file}: {error}; {self.written} records just written are safe"
            self._broken = StorageError(words)
            raise self._broken from error
        self.written += len(lines)
        now = time.monotonic()
        if now - self._synced_at >= _SYNC_EVERY_S and self._is_kept():
            self._synced_at = now
            self._syncing = self._syncer.submit(self._sync)

    def _write(self, lines: bytes) -> None:
        left = memoryview(lines)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            # A half line would swallow the next one. What cannot be cut off now is dropped on opening.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(lines)

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
            raise StorageError(f"cannot write {self._file}: {error}") from error

    def _end(self) -> None:
        self._sync()
        if self._compress:
            try:
                pack(self._folder.path)
            except OSError as error:
                raise StorageError(f"cannot compress {self._file}: {error}; it is whole as it is") from error


def _end_of_lines(descriptor: int) -> int:
    """The byte behind the last newline of a file."""
    end = os.fstat(descriptor).st_size
    while end:
        begin = max(0, end - _BLOCK)
        place = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        end = begin
    return 0
