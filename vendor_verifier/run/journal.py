"""The append-only journal of a run: a record is written the moment it is finished, and is never changed.

Records are plain lines while a run goes on, and are compressed once, at its end, if asked for. A crash loses at most
what is being written: an incomplete last line is dropped when the journal is next opened. About once a second a thread
has the disk keep what was written, which may take many milliseconds: on the event loop that would make every stream's
times late.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import filelock

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.records.record import Record
from vendor_verifier.store import (
    FILE_MODE,
    NO_LINK,
    PACKED,
    RECORDS,
    RunFolder,
    encode_record,
    pack,
    records_file,
    unpack,
)

_SYNC_EVERY_S = 1.0


@contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """Keep every other writer out of a run folder, created if need be, until the block ends.

    Raises:
        RunFolderError: another process writes this run.
        StorageError: the folder cannot be written.
    """
    folder.create()
    owner = folder.path / ".lock-owner"
    lock = filelock.FileLock(folder.path / ".lock", timeout=0, mode=FILE_MODE)
    try:
        lock.acquire()
    except filelock.Timeout:
        words = f"{folder.path} is being written by {_written(owner)}; choose another folder"
        raise RunFolderError(words) from None
    except OSError as error:
        raise StorageError(f"cannot lock {folder.path}: {error}") from error
    try:
        folder.write(owner.name, f"process {os.getpid()} on {socket.gethostname()}\n")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _written(owner: Path) -> str:
    try:
        return owner.read_text(encoding="utf-8").strip()
    except OSError:
        return "another process"


class Journal:
    """The one writer of the records of a run folder that is :func:`locked`. Use as a context manager.

    Records that were compressed stay so when a run is resumed.
    """

    def __init__(self, folder: RunFolder, *, compress: bool = False) -> None:
        self.written = 0
        # Whether an earlier session left an incomplete last line, which is dropped.
        self.torn = False
        self._folder = folder
        self._compress = compress
        self._file = folder.path / RECORDS
        self._descriptor = -1
        self._size = 0
        self._broken: StorageError | None = None
        self._synced_at = 0.0
        self._syncing: Future[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")

    def __enter__(self) -> Journal:
        """Open the records.

        Raises:
            StorageError: the folder cannot be written.
        """
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
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._thread.shutdown()
            if self._broken is None:
                self._sync()
            if self._broken is None and self._compress and self._size:
                try:
                    pack(self._folder.path)
                except OSError as refused:
                    words = f"cannot compress {self._file}: {refused}; it is whole as it is"
                    raise StorageError(words) from refused
            # An error that ends the block is the first one, and the one to report.
            if self._broken is not None and error is None:
                raise self._broken
        finally:
            os.close(self._descriptor)

    def append(self, records: Sequence[Record]) -> None:
        """Write finished records, several of them in one go.

        Raises:
            StorageError: the disk refused, now or before; what was written until then stays readable.
        """
        if self._broken is None:
            self._write(b"".join(map(encode_record, records)))
        if self._broken is not None:
            raise self._broken
        self.written += len(records)
        now = time.monotonic()
        if now - self._synced_at >= _SYNC_EVERY_S and (self._syncing is None or self._syncing.done()):
            self._synced_at = now
            self._syncing = self._thread.submit(self._sync)

    def _write(self, lines: bytes) -> None:
        left = memoryview(lines)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            # A half line would swallow the next one. What cannot be cut off now is dropped on opening.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            self._break(error, f"; {self.written} records just written are safe")
        else:
            self._size += len(lines)

    def _sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            self._break(error)

    def _break(self, error: OSError, more: str = "") -> None:
        """Remember the first refusal: nothing is written after it, even if the disk recovers."""
        if self._broken is None:
            self._broken = StorageError(f"cannot write {self._file}: {error}{more}")


def _end_of_lines(descriptor: int) -> int:
    """The byte behind the last newline of a file."""
    size = os.fstat(descriptor).st_size
    if not size:
        return 0
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as content:
        return content.rfind(b"\n") + 1
