"""Sample files as lines, and sequences of samples that stay in a file: in memory are their ids and offsets."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import msgspec

from vendor_verifier.errors import DataError, Problem, RunFolderError, StorageError
from vendor_verifier.loaders.base import MAX_LINE_BYTES
from vendor_verifier.records.sample import ChosenSamples, Sample, Samples

MAX_FILE_BYTES = 8 * 1024**3
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# A packed file may unpack to so many times its size, and in any case to so many bytes. Rows that repeat their tools
# shrink a hundredfold; what shrinks more than this was made to fill a disk.
_MOST_TIMES = 500
_ALWAYS_BYTES = 64 * 1024**2


def zstd_module() -> Any:
    """The zstd of the standard library, or of older Pythons its twin."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def most_unpacked(packed_bytes: int) -> int:
    """The bytes that a packed file of this size may unpack to."""
    return max(_ALWAYS_BYTES, _MOST_TIMES * packed_bytes)


def open_lines(path: Path, *, max_line: int = MAX_LINE_BYTES, max_file: int = MAX_FILE_BYTES) -> Iterator[bytes]:
    """The physical lines of a file, read lazily; gzip and zstd are recognised by their first bytes, whatever the name.

    A line beyond ``max_line`` bytes is cut just above that length, for the reader to refuse, so memory stays bounded.

    Raises:
        DataError: at once when the file is missing or unreadable; while reading when the disk fails, packed data is
            damaged, or more than ``max_file`` bytes, or far more than any data set packs into such a file, come out.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from None
    return _lines(raw, path, max_line=max_line, max_file=max_file)


def file_digest(path: Path) -> str:
    """SHA-256 of the file as it lies on disk, in hex (what ``sha256sum`` prints).

    Raises:
        DataError: missing or unreadable.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from None


def _unpacked(raw: io.BufferedReader) -> tuple[io.BufferedIOBase, str, tuple[type[Exception], ...]]:
    """The content of a file, the name of its packing ("" for none), and what is raised where that is damaged."""
    first = raw.peek(4)
    if first.startswith(_GZIP_MAGIC):
        return gzip.GzipFile(fileobj=raw), "gzip", (EOFError, zlib.error, gzip.BadGzipFile)
    if first.startswith(_ZSTD_MAGIC):
        zstd = zstd_module()
        return zstd.ZstdFile(raw), "zstd", (EOFError, zstd.ZstdError)
    return raw, "", ()


def _lines(raw: io.BufferedReader, path: Path, *, max_line: int, max_file: int) -> Iterator[bytes]:
    total = 0
    with raw:
        source, packing, damage = _unpacked(raw)
        packed = os.fstat(raw.fileno()).st_size
        most = min(max_file, most_unpacked(packed)) if packing else max_file
        try:
            while line := source.readline(max_line + 1):
                total += len(line)
                if not line.endswith(b"\n") and len(line) > max_line:
                    total += _skip_rest(source, most - total)
                if total > most:
                    raise DataError([Problem(_too_large(most, packed, max_file), path)])
                yield line
        except damage as error:
            words = f"the {packing} data is damaged or cut off ({error}); copy it again"
            raise DataError([Problem(words, path)]) from None
        except OSError as error:
            raise _unreadable(path, error) from None


def _too_large(most: int, packed: int, max_file: int) -> str:
    if most == max_file:
        return f"more than {max_file} bytes; split the file"
    return f"its {packed} bytes unpack to more than {most}, as no data set does; unpack it yourself if it is meant"


def _skip_rest(source: io.BufferedIOBase, budget: int) -> int:
    """Read on to the end of an oversize line without keeping it; the number of bytes passed over."""
    skipped = 0
    while skipped <= budget and (piece := source.readline(1024 * 1024)):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _unreadable(path: Path, error: OSError) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError([Problem("there is no such file; check the path", path)])
    if isinstance(error, IsADirectoryError):
        return DataError([Problem("this is a folder; name the .jsonl file in it", path)])
    return DataError([Problem(f"cannot be read: {error.strerror or error}", path)])


# Samples that are kept as objects: several vendors are asked the same one at about the same time.
_MOST_RECENT = 250
_PIECE_BYTES = 2**18

T = TypeVar("T")


class _Named(msgspec.Struct):
    id: str


class Shelf(Samples):
    """A sequence of samples in a file, which grows by ``append``; it is not thread-safe."""

    def __init__(self, stored: Path | None = None) -> None:
        """Make an empty one in a temporary file, or one over the ``stored`` file, whose ids are read.

        Raises:
            RunFolderError: the stored file cannot be read, or a line of it has no id.
            StorageError: there is no room for a temporary file.
        """
        self._stored = stored
        self._ids: list[str] = []
        self._starts = array("Q", [0])
        self._recent: dict[int, Sample] = {}
        try:
            self._file = tempfile.TemporaryFile() if stored is None else stored.open("rb")  # noqa: SIM115 as long as this
            for line in self._file:
                self._note(_decode(line, _Named).id, line)
        except (OSError, ValueError) as error:
            raise self._failure(error) from None

    def __del__(self) -> None:
        if (file := getattr(self, "_file", None)) is not None:
            file.close()

    @property
    def ids(self) -> Sequence[str]:
        return self._ids

    def append(self, sample: Sample) -> None:
        """Append a sample.

        Raises:
            StorageError: the disk refused.
        """
        line = _encode(sample) + b"\n"
        try:
            self._file.seek(0, io.SEEK_END)
            self._file.write(line)
        except OSError as error:
            raise self._failure(error) from None
        self._note(sample.id, line)

    def at(self, place: int) -> Sample:
        """The sample at a place from 0 on.

        Raises:
            RunFolderError: its line cannot be read or is no sample.
        """
        found = self._recent.get(place)
        if found is None:
            try:
                found = _decode(self.line(place), Sample)
            except ValueError as error:
                raise self._failure(error) from None
            if len(self._recent) >= _MOST_RECENT:
                self._recent.clear()
            self._recent[place] = found
        return found

    def line(self, place: int) -> bytes:
        """The sample at a place as JSON, with its newline."""
        begin, end = self._starts[place], self._starts[place + 1]
        return self._read(begin, end - begin)

    def pieces(self) -> Iterator[bytes]:
        """The bytes of all lines, in large pieces."""
        for begin in range(0, self._starts[-1], _PIECE_BYTES):
            yield self._read(begin, min(_PIECE_BYTES, self._starts[-1] - begin))

    def _read(self, begin: int, size: int) -> bytes:
        try:
            self._file.seek(begin)
            return self._file.read(size)
        except OSError as error:
            raise self._failure(error) from None

    def _note(self, sample_id: str, line: bytes) -> None:
        self._ids.append(sample_id)
        self._starts.append(self._starts[-1] + len(line))

    def _failure(self, error: Exception) -> RunFolderError | StorageError:
        if self._stored is not None:
            return RunFolderError(f"{self._stored} cannot be read: {error}")
        return StorageError(f"samples cannot be kept in a temporary file (TMPDIR): {error}")


def lines_of(samples: Iterable[Sample]) -> Iterator[bytes]:
    """The content of a file with these samples, piece by piece; samples of a file are copied undecoded."""
    if isinstance(samples, Shelf):
        return samples.pieces()
    if isinstance(samples, ChosenSamples) and isinstance(samples.whole, Shelf):
        return map(samples.whole.line, samples.places)
    return (_encode(sample) + b"\n" for sample in samples)


def is_shelved(samples: Iterable[Sample]) -> TypeGuard[Samples]:
    """Whether a file with these samples, read again, gives the same as they do: they are read from the same lines."""
    return isinstance(samples, Shelf) or (isinstance(samples, ChosenSamples) and isinstance(samples.whole, Shelf))


def _encode(sample: Sample) -> bytes:
    """Without newline. A lone surrogate, which UTF-8 cannot write, stays the escape it came as."""
    try:
        return msgspec.json.encode(sample)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(sample), ensure_ascii=True, separators=(",", ":")).encode()


def _decode(line: bytes, kind: type[T]) -> T:
    """What is on a line.

    Raises:
        ValueError: it is not JSON, or not of this ``kind``.
    """
    try:
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError:
            # The fast reader refuses lone surrogates; any other error is raised here again.
            return msgspec.convert(json.loads(line), kind)
    except RecursionError:
        raise ValueError("nested too deeply to be a sample") from None
