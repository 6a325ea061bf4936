"""Opens sample and result files, plain or gzip, and hands out their lines; it does not know what a line means."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.json_lines import MAX_LINE_BYTES

MAX_FILE_BYTES = 8 * 1024**3
_GZIP_MAGIC = b"\x1f\x8b"


def open_lines(path: Path, *, max_line: int = MAX_LINE_BYTES, max_file: int = MAX_FILE_BYTES) -> Iterator[bytes]:
    """The physical lines of a file, read lazily; gzip is recognised by its first bytes, whatever the name.

    A line beyond ``max_line`` bytes is cut just above that length, for the reader to refuse, so memory stays bounded.

    Raises:
        DataError: at once when the file is missing or unreadable; while reading when the disk fails, the gzip data is
            damaged, or more than ``max_file`` bytes come out of it.
    """
    try:
        raw = path.open("rb")
        compressed = raw.peek(2)[:2] == _GZIP_MAGIC
    except OSError as error:
        raise _unreadable(path, error) from None
    return _lines(raw, path, compressed=compressed, max_line=max_line, max_file=max_file)


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


def _lines(raw: io.BufferedReader, path: Path, *, compressed: bool, max_line: int, max_file: int) -> Iterator[bytes]:
    total = 0
    with raw:
        source: io.BufferedIOBase = gzip.GzipFile(fileobj=raw) if compressed else raw
        try:
            while line := source.readline(max_line + 1):
                total += len(line)
                if not line.endswith(b"\n") and len(line) > max_line:
                    total += _skip_rest(source, max_file - total)
                if total > max_file:
                    raise DataError([Problem(f"more than {max_file} bytes; split the file", path)])
                yield line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError([Problem(f"the gzip data is damaged or cut off ({error}); copy it again", path)]) from None
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
