"""The file of a run's records: ``records.jsonl`` while it is written, ``records.jsonl.zst`` where it was compressed
at the end of the run. Any tool that knows zstd reads and writes such files, too.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from vendor_verifier.errors import RunFolderError

RECORDS = "records.jsonl"
PACKED = ".zst"
# A packed file may unpack to so many times its size, and in any case to so many bytes. Rows that repeat their tools
# shrink a hundredfold; what shrinks more than this was made to fill a disk.
_MOST_TIMES = 500
_ALWAYS_BYTES = 64 * 1024**2
_MOST_LINE_BYTES = 256 * 1024**2
_FILE_MODE = 0o600


class Line(msgspec.Struct, frozen=True):
    """A line as it was written, newline included where it has one, and its number from 1.

    ``damage`` says why the rest of the file could not be unpacked; ``text`` is empty then.
    """

    number: int
    text: bytes
    damage: str = ""


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


def records_file(folder: Path) -> Path:
    """The file of a run's records. A plain one counts: it is removed only when the compressed one is whole."""
    plain, packed = folder / RECORDS, folder / (RECORDS + PACKED)
    return packed if packed.exists() and not plain.exists() else plain


def lines_in(file: Path) -> Iterator[Line]:
    """The lines of a file of records, read lazily.

    Raises:
        RunFolderError: it cannot be read, or unpacks to more than records do.
    """
    number, unpacked = 1, 0
    damage = (EOFError, zstd_module().ZstdError) if file.suffix == PACKED else ()
    try:
        most = most_unpacked(file.stat().st_size) if file.suffix == PACKED else sys.maxsize
        with zstd_module().open(file, "rb") if file.suffix == PACKED else file.open("rb") as source:
            while text := source.readline(_MOST_LINE_BYTES):
                unpacked += len(text)
                if unpacked > most or len(text) == _MOST_LINE_BYTES:
                    raise RunFolderError(f"{file} unpacks to more than records do; it was made to fill a disk")
                yield Line(number, text)
                number += 1
    except damage as error:
        yield Line(number, b"", f"the zstd data is damaged ({error}); the rest of the file is lost")
    except OSError as error:
        raise RunFolderError(f"{file} cannot be read: {error}") from None


def pack(folder: Path) -> None:
    """Replace the plain file of records by a compressed one; where the disk refuses (OSError) the plain one stays."""
    plain, zstd = folder / RECORDS, zstd_module()
    options = {zstd.CompressionParameter.checksum_flag: 1}
    with (
        plain.open("rb") as source,
        _new(folder / (RECORDS + PACKED)) as out,
        zstd.ZstdFile(out, "wb", options=options) as compressed,
    ):
        shutil.copyfileobj(source, compressed)
    plain.unlink()


def unpack(folder: Path) -> None:
    """Replace the compressed file of records by a plain one, as far as it can be read; OSError as :func:`pack`."""
    packed = folder / (RECORDS + PACKED)
    with _new(folder / RECORDS) as out:
        out.writelines(line.text for line in lines_in(packed))
    packed.unlink()


@contextmanager
def _new(target: Path) -> Iterator[BinaryIO]:
    """A file that appears whole or not at all."""
    draft = target.with_name(target.name + ".part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), _FILE_MODE)
    with os.fdopen(descriptor, "wb") as out:
        yield out
        out.flush()
        os.fsync(descriptor)
    draft.replace(target)
