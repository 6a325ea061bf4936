"""Sample files: lines, plain or packed, and the samples that a run stores."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.base import MAX_LINE_BYTES

MAX_FILE_BYTES = 8 * 1024**3
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# A packed file may unpack to this multiple of its size, and in any case to this number of bytes. Rows that repeat
# their tools shrink a hundredfold; what shrinks more than this was made to fill a disk.
_MOST_TIMES = 500
_ALWAYS_BYTES = 64 * 1024**2


def zstd_module() -> Any:
    """The zstd of the standard library, or of older Pythons its twin."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


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
        most = min(max_file, max(_ALWAYS_BYTES, _MOST_TIMES * packed)) if packing else max_file
        try:
            while line := source.readline(max_line + 1):
                total += len(line)
                if not line.endswith(b"\n") and len(line) > max_line:
                    total += _skip_rest(source, most - total)
                if total > most:
                    words = f"its {packed} bytes hold more than {most}, as no data set does; unpack or split the file"
                    raise DataError([Problem(words, path)])
                yield line
        except damage as error:
            words = f"the {packing} data is damaged or cut off ({error}); copy it again"
            raise DataError([Problem(words, path)]) from None
        except OSError as error:
            raise _unreadable(path, error) from None


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
