"""The append-only journal of a run: a record is on disk the moment it is finished, and is never changed.

One line (where they are compressed, one batch of lines) is one ``write`` to a descriptor opened for appending, a very
long one some in a row, so a crash can lose at most what is being written; :mod:`vendor_verifier.run.record_writer`
mends a torn end when the journal is next opened. A lock beside the files keeps a second writer out; it names who holds
it. About every second a thread has the disk keep what was written, which may take a disk many milliseconds: on the
event loop that would make every stream's moments late.
"""

from __future__ import annotations

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
from vendor_verifier.run.record_writer import RecordForm, RecordWriter
from vendor_verifier.store import FILE_MODE, RunFolder, encode_record_in_steps
from vendor_verifier.values.record import Record
from vendor_verifier.values.steps import Steps, at_once

_SYNC_EVERY_S = 1.0
# A longer one is a millisecond or more of work by itself.
_LONG_LINE = 256 * 1024


class Journal:
    """The one writer of a run folder's records. Use as a context manager."""

    def __init__(self, folder: RunFolder, scrubber: Scrubber, form: RecordForm | None = None) -> None:
        self.written = 0
        # (file, 1-based line) of what an earlier session left torn.
        self.torn: tuple[str, int] | None = None
        self._folder = folder
        self._scrubber = scrubber
        self._lock = filelock.FileLock(folder.path / ".lock", timeout=0, mode=FILE_MODE)
        self._files = RecordWriter(folder.path, form or RecordForm())
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
            self.torn = self._files.open()
        except OSError as error:
            raise StorageError(f"cannot open {self._files.file}: {error}") from error

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
            os.close(self._files.descriptor)
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
            full = self._files.next_file()
            if full is not None:
                self._syncing = self._syncer.submit(_keep_and_close, full, self._syncing)
            yield from self._files.write_in_steps(b"".join(lines))
        except OSError as error:
            self._broken = StorageError(
                f"cannot write {self._files.file}: {error}; {self.written} records just written are safe"
            )
            raise self._broken from error
        self.written += len(lines)
        now = time.monotonic()
        if now - self._synced_at >= _SYNC_EVERY_S and self._is_kept():
            self._synced_at = now
            self._syncing = self._syncer.submit(self._sync)

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
            os.fsync(self._files.descriptor)
        except OSError as error:
            raise StorageError(f"cannot write {self._files.file}: {error}") from error

    def _end(self) -> None:
        try:
            self._files.end_frame()
        except OSError as error:
            raise StorageError(f"cannot write {self._files.file}: {error}") from error
        self._sync()


def _keep_and_close(descriptor: int, before: Future[None] | None) -> None:
    """Have the disk keep a file that is full; what it refused ``before`` is raised again.

    Raises:
        StorageError: it could not.
    """
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise StorageError(f"cannot keep what was written: {error}") from error
    finally:
        os.close(descriptor)
    if before is not None:
        before.result()
