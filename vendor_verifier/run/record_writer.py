"""Appends lines to the files of a run's records; compresses them if asked to, and begins new files.

What stands on the disk is never changed, but for the torn last line of a plain file, which is moved into a file beside
it. A compressed file that a killed writer left without an end is left as it is, and the records go on in the next one.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vendor_verifier.record_files import PACKED, file_name, file_number, record_files, torn_at, zstd_module
from vendor_verifier.store import FILE_MODE, NO_LINK
from vendor_verifier.values.steps import Steps, at_once

# Higher levels cost several times as much for a tenth less.
_LEVEL = 3
# Damage costs the rest of a frame, and to show one record is to unpack its frame up to there.
_FRAME_BYTES = 1024**2
# A millisecond of compressing, whatever the bytes are, or half of one of writing.
_STEP_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class RecordForm:
    """The form of new files of records: compressed or not, and from which size in bytes on another is begun.

    A run goes on in the form of its newest file, unless that is plain and ``compressed`` is asked for.
    """

    compressed: bool = False
    most_bytes: int | None = None

    @classmethod
    def of(cls, file_mb: float | None, *, compressed: bool) -> RecordForm:
        """The form with the size in MiB."""
        return cls(compressed, None if file_mb is None else int(file_mb * 1024**2))


class RecordWriter:
    """The newest file of a run's records. Its methods raise OSError where the disk refuses."""

    def __init__(self, folder: Path, form: RecordForm) -> None:
        self.descriptor = -1
        self.file = folder / file_name(1, packed=form.compressed)
        self._form = form
        # The bytes of all that is written to its end, and of what is not.
        self._size = self._half = 0
        self._waiting: deque[memoryview] = deque()
        # The bytes that were to be appended to any file, and those that were.
        self._told = self._kept = 0
        self._refusal: OSError | None = None
        self._packer: Any = None
        self._in_frame = 0

    def open(self) -> tuple[str, int] | None:
        """Find the place where the records go on; (file, line) of what was found torn there, ``None`` for nothing.

        Raises:
            RunFolderError: the files cannot be told apart.
        """
        files = record_files(self.file.parent)
        if not files:
            self._begin(1, packed=self._form.compressed)
            return None
        newest = files[-1]
        number, was_packed = file_number(newest.name) or 1, newest.suffix == PACKED
        torn = torn_at(newest) if was_packed else _set_torn_line_aside(newest)
        is_new = self._form.compressed and not was_packed
        self._begin(number + (is_new or (was_packed and torn is not None)), packed=was_packed or is_new)
        return None if torn is None else (newest.name, torn)

    def write_in_steps(self, lines: bytes) -> Steps[None]:
        """Append lines; they can be read as soon as it is over. Others may append between the steps: what comes first
        stands first, and whoever comes next goes on with it.
        """
        return self._append_in_steps(lines) if self._packer is None else self._pack_in_steps(lines)

    def _pack_in_steps(self, lines: bytes) -> Steps[None]:
        if len(lines) < _FRAME_BYTES:
            self._in_frame += len(lines)
            is_end = self._in_frame >= _FRAME_BYTES
            packed = self._packer.compress(lines, self._packer.FLUSH_FRAME if is_end else self._packer.FLUSH_BLOCK)
            self._in_frame = 0 if is_end else self._in_frame
            yield from self._append_in_steps(packed)
        else:
            frame = yield from _frame_in_steps(lines)
            # Together, so that nobody begins the next frame between the two.
            yield from self._append_in_steps(self._frame_end() + frame)

    def next_file(self) -> int | None:
        """Begin the next file where this one is full; the descriptor of the full one, which is to be closed, if so."""
        if self._form.most_bytes is None or self._size < self._form.most_bytes or self._waiting:
            return None
        full = self.descriptor
        self.end_frame()
        self._begin((file_number(self.file.name) or 1) + 1, packed=self._packer is not None)
        return full

    def end_frame(self) -> None:
        """Write what is left to be written, and the end of what is compressed, so that others can read it without
        complaint."""
        at_once(self._append_in_steps(self._frame_end()))

    def _frame_end(self) -> bytes:
        if not self._in_frame:
            return b""
        self._in_frame = 0
        end: bytes = self._packer.flush(self._packer.FLUSH_FRAME)
        return end

    def _begin(self, number: int, *, packed: bool) -> None:
        self.file = self.file.with_name(file_name(number, packed=packed))
        self._packer = _packer() if packed else None
        self.descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, FILE_MODE)
        self._size = os.fstat(self.descriptor).st_size

    def _append_in_steps(self, data: bytes) -> Steps[None]:
        if data:
            self._waiting.append(memoryview(data))
        self._told += len(data)
        last = self._told
        while self._kept < last:
            self._write_some()
            if self._kept < last:
                yield

    def _write_some(self) -> None:
        """Write the next bytes of what waits."""
        if self._refusal is not None:
            raise self._refusal
        data = self._waiting[0]
        try:
            count = os.write(self.descriptor, data[:_STEP_BYTES])
        except OSError as error:
            self._refusal = error
            # A half line would swallow the next one. What cannot be cut off now is repaired on opening.
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, self._size)
            raise
        self._kept += count
        self._half += count
        if count < len(data):
            self._waiting[0] = data[count:]
        else:
            self._waiting.popleft()
            self._size, self._half = self._size + self._half, 0


def _frame_in_steps(lines: bytes) -> Steps[bytes]:
    """Lines compressed into a frame of their own."""
    packer, packed = _packer(), []
    for start in range(0, len(lines), _STEP_BYTES):
        packed.append(packer.compress(lines[start : start + _STEP_BYTES]))
        yield
    return b"".join([*packed, packer.flush(packer.FLUSH_FRAME)])


def _packer() -> Any:
    zstd = zstd_module()
    parameter = zstd.CompressionParameter
    return zstd.ZstdCompressor(options={parameter.compression_level: _LEVEL, parameter.checksum_flag: 1})


def _set_torn_line_aside(file: Path) -> int | None:
    """Move a torn last line to a file of its own; its 1-based number, or None when there was none."""
    if file.is_symlink():
        return None
    content = file.read_bytes()
    if not content or content.endswith(b"\n"):
        return None
    keep = content.rfind(b"\n") + 1
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
    with os.fdopen(os.open(file.with_name(file.name + ".corrupt"), flags, FILE_MODE), "wb") as aside:
        aside.write(content[keep:] + b"\n")
    os.truncate(file, keep)
    return content.count(b"\n") + 1
