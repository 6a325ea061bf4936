"""The append-only journal of a run: a record is written the moment it is finished, and is never changed.

Records are plain lines while a run goes on, and are compressed once, at its end, if asked for. A crash of the process
loses at most what is being written: an incomplete last line is dropped when the journal is next opened.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import filelock

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.records.record import Record
from vendor_verifier.store import FILE_MODE, NO_LINK, PACKED, RECORDS, RunFolder, encode_record


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
        who = "another process"
        with contextlib.suppress(OSError):
            who = owner.read_text(encoding="utf-8").strip()
        raise RunFolderError(f"{folder.path} is being written by {who}; choose another folder") from None
    except OSError as error:
        raise StorageError(f"cannot lock {folder.path}: {error}") from error
    try:
        folder.write(owner.name, f"process {os.getpid()} on {socket.gethostname()}\n")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


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

    def __enter__(self) -> Journal:
        """Open the records.

        Raises:
            StorageError: the folder cannot be written.
        """
        try:
            if self._folder.records_file.suffix == PACKED:
                self._folder.unpack()
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
            if self._broken is None:
                try:
                    os.fsync(self._descriptor)
                except OSError as refused:
                    self._broken = StorageError(f"cannot write {self._file}: {refused}")
            if self._broken is None and self._compress and self._size:
                self._folder.pack()
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
        if self._broken is not None:
            raise self._broken
        lines = b"".join(map(encode_record, records))
        left = memoryview(lines)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            # A half line would swallow the next one. What cannot be cut off now is dropped on opening. Nothing is
            # written after it, even if the disk recovers.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            words = f"cannot write {self._file}: {error}; {self.written} records just written are safe"
            self._broken = StorageError(words)
            raise self._broken from error
        self._size += len(lines)
        self.written += len(records)


def _end_of_lines(descriptor: int) -> int:
    """The byte behind the last newline of a file."""
    size = os.fstat(descriptor).st_size
    if not size:
        return 0
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as content:
        return content.rfind(b"\n") + 1
