"""The files that hold the records of a run, in the order in which they were written, and the lines in them.

::

    records.jsonl            the only one, unless their size is bounded; records.jsonl.zst where they are compressed
    records-0002.jsonl.zst   the next one, and so on

A compressed file is a row of zstd frames of about a mebibyte of lines each, and every batch that is written ends with a
flush: what was written can be read at once, also where the last frame has no end because the writer was killed. Any
tool that knows zstd reads and writes such files, too.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from vendor_verifier.errors import RunFolderError

RECORDS = "records.jsonl"
PACKED = ".zst"
_NAME = re.compile(r"records(?:-(\d{4,9}))?\.jsonl(?:\.zst)?")
_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE = 256 * 1024
# A packed file may unpack to so many times its size, and in any case to so many bytes. Rows that repeat their tools
# shrink a hundredfold; what shrinks more than this was made to fill a disk.
_MOST_TIMES = 500
_ALWAYS_BYTES = 64 * 1024**2
_MOST_LINE_BYTES = 256 * 1024**2


class Line(msgspec.Struct, frozen=True):
    """A line as it was written, newline included where it has one, and its place: see :func:`line_at`.

    ``number`` counts from 1 within the file. ``damage`` says why what follows could not be unpacked, ``text`` is empty
    then.
    """

    number: int
    text: bytes
    begin: int
    skip: int
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


def file_number(name: str) -> int | None:
    """The place of a file of records in their order, from 1; ``None`` for the name of another file."""
    found = _NAME.fullmatch(name)
    return found and int(found[1] or 1)


def file_name(number: int, *, packed: bool) -> str:
    """The name of the file of records that is the ``number``-th."""
    stem = RECORDS if number == 1 else f"records-{number:04d}.jsonl"
    return stem + PACKED if packed else stem


def record_files(folder: Path) -> list[Path]:
    """The files of a run's records in their order; empty where there are none.

    Raises:
        RunFolderError: the folder cannot be read, or holds one part plain and compressed: which one counts?
    """
    found: dict[int, Path] = {}
    try:
        names = sorted(file.name for file in folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunFolderError(f"{folder} cannot be read: {error}") from None
    for name in names:
        number = file_number(name)
        if number is None:
            continue
        if number in found:
            raise RunFolderError(f"{folder} holds {found[number].name} and {name}; move one of them away")
        found[number] = folder / name
    return [found[number] for number in sorted(found)]


def lines_in(file: Path) -> Iterator[Line]:
    """The lines of a file of records, read lazily.

    Raises:
        RunFolderError: it cannot be read, or unpacks to more than records do.
    """
    try:
        with file.open("rb") as source:
            yield from _packed_lines(source) if file.suffix == PACKED else _plain_lines(source)
    except OSError as error:
        raise RunFolderError(f"{file} cannot be read: {error}") from None
    except _TooLargeError:
        raise RunFolderError(f"{file} unpacks to more than records do; it was made to fill a disk") from None


def line_at(file: Path, begin: int, skip: int, length: int) -> bytes:
    """The ``length`` bytes of a line ``skip`` bytes behind what stands at byte ``begin`` of the file.

    Raises:
        RunFolderError: it cannot be read.
    """
    try:
        with file.open("rb") as source:
            source.seek(begin)
            if file.suffix != PACKED:
                source.seek(skip, os.SEEK_CUR)
                return source.read(length)
            read = b""
            for piece in _pieces(source):
                read += piece.text
                drop = min(skip, len(read))
                read, skip = read[drop:], skip - drop
                if piece.damage or len(read) >= length:
                    break
            return read[:length]
    except OSError as error:
        raise RunFolderError(f"{file} cannot be read: {error}") from None


def torn_at(file: Path) -> int | None:
    """The 1-based number of the line at which a packed file breaks off; None where its last frame has its end.

    Raises:
        OSError: it cannot be read.
    """
    lines, last = 0, _Piece(0, b"", is_end=True)
    with file.open("rb") as source:
        for last in _pieces(source):
            lines += last.text.count(b"\n")
    return None if last.is_end and not last.damage else lines + 1


class _TooLargeError(Exception):
    """More comes out of a packed file than of any records."""


class _Piece(NamedTuple):
    """Bytes out of the frame that begins at byte ``frame`` of the file; ``is_end``: they are its last."""

    frame: int
    text: bytes
    is_end: bool = False
    damage: str = ""


def _plain_lines(source: BinaryIO) -> Iterator[Line]:
    begin = 0
    for number, text in enumerate(source, 1):
        yield Line(number, text, begin, 0)
        begin += len(text)


def _packed_lines(source: BinaryIO) -> Iterator[Line]:
    number, total, most = 1, 0, most_unpacked(os.fstat(source.fileno()).st_size)
    frame = inside = 0  # the bytes of the frame so far
    begin = skip = 0  # where the line that is being read began
    rest: list[bytes] = []
    held = 0
    for piece in _pieces(source):
        total += len(piece.text)
        if total > most or (rest and held > _MOST_LINE_BYTES):
            raise _TooLargeError
        if piece.frame != frame:
            frame, inside = piece.frame, 0
        *whole, last = piece.text.split(b"\n")
        for text in whole:
            if not rest:
                begin, skip = frame, inside
            yield Line(number, b"".join((*rest, text, b"\n")), begin, skip)
            number, rest, inside = number + 1, [], inside + len(text) + 1
        if last:
            if not rest:
                begin, skip = frame, inside
            held = len(last) + (held if rest else 0)
            rest.append(last)
            inside += len(last)
        if piece.damage:
            yield Line(number, b"", frame, 0, f"the zstd data is damaged ({piece.damage})")
            number, rest = number + 1, []
    if rest:
        yield Line(number, b"".join(rest), begin, skip)


def _pieces(source: BinaryIO) -> Iterator[_Piece]:
    """The content of all frames from here on, piece by piece; damage costs its frame, not those behind it."""
    frame: int | None = source.tell()
    while frame is not None:
        source.seek(frame)
        stopped, damage = yield from _frames(source)
        # A damaged length may have reached over all that follows: what seems to be the last frame need not be it.
        frame = None if damage is None else _next_frame(source, stopped + 1)
        if damage or frame is not None:
            yield _Piece(stopped, b"", damage=damage or "a frame has no end")


def _frames(source: BinaryIO) -> Generator[_Piece, None, tuple[int, str | None]]:
    """The frames up to the end or to damage; returns where the last one begins and why it is not whole: ``None`` where
    it is, "" where the file ends within it."""
    zstd = zstd_module()
    frame, data, decoder = source.tell(), b"", zstd.ZstdDecompressor()
    while True:
        if decoder.needs_input and not data:
            data = source.read(_PIECE)
            if not data:
                return frame, None if source.tell() == frame else ""
        try:
            text = decoder.decompress(data, _PIECE)
        except zstd.ZstdError as error:
            return frame, str(error)
        yield _Piece(frame, text, decoder.eof)
        data = b""
        if decoder.eof:
            data = decoder.unused_data
            frame, decoder = source.tell() - len(data), zstd.ZstdDecompressor()


def _next_frame(source: BinaryIO, begin: int) -> int | None:
    """The byte from ``begin`` on where a frame may begin."""
    source.seek(begin)
    seen = b""
    while data := source.read(_PIECE):
        seen += data
        if (at := seen.find(_MAGIC)) >= 0:
            return source.tell() - len(seen) + at
        seen = seen[1 - len(_MAGIC) :]
    return None
