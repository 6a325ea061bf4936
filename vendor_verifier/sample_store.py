"""Samples as lines of JSON, and stores of them that decode one by one: in memory are only ids and offsets of lines.

A store is filled through an unnamed temporary file, or opened over a stored one. Only recently read samples are kept
as objects, because several vendors are asked the same sample at about the same time.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeGuard

import msgspec
from msgspec import structs

from vendor_verifier.errors import DataError, Problem, RunFolderError, StorageError
from vendor_verifier.loaders.base import MAX_LINE_BYTES
from vendor_verifier.record_files import most_unpacked, zstd_module
from vendor_verifier.records.bounded_cache import BoundedCache
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import MOST_TOOLS_BYTES, ChosenSamples, Sample, Samples, Source, Tools

MAX_FILE_BYTES = 8 * 1024**3
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


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


_decode_tools = msgspec.json.Decoder(Tools).decode


class _StoredTurn(msgspec.Struct):
    """A turn whose tools are not read yet: a data set repeats a few sets of them thousands of times."""

    messages: tuple[Mapping[str, Any], ...]
    tools: msgspec.Raw = msgspec.Raw(b"[]")
    parameters: Mapping[str, Any] = {}
    stream: bool = True
    thinking: Literal["on", "off"] | None = None
    fixed: tuple[str, ...] = ()


class _StoredSample(msgspec.Struct):
    turn: _StoredTurn
    expected: Mapping[str, Any] = {}
    tags: Mapping[str, Any] = {}
    source: Source | None = None


class _Named(msgspec.Struct):
    id: str


_TOO_DEEP = "nested too deeply to be a sample"
_decode_stored = msgspec.json.Decoder(_StoredSample).decode
_decode_named = msgspec.json.Decoder(_Named).decode


def encode_sample(sample: Sample) -> bytes:
    """Without newline, as it was sent: a lone surrogate stays the escape it came as."""
    try:
        return msgspec.json.encode(sample)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(sample), ensure_ascii=True, separators=(",", ":")).encode()


def id_in(line: bytes) -> str:
    """The id of the sample on a line, of which nothing else is read.

    Raises:
        ValueError: no JSON, or nothing with an id.
    """
    try:
        return _decode_named(line).id
    except msgspec.DecodeError:
        # The fast reader refuses lone surrogates; any other error is raised here again.
        return msgspec.convert(_slowly(line), _Named).id
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _slowly(line: bytes) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


class SampleReader:
    """Reads samples from lines; equal tools are one shared object, which must not be changed."""

    def __init__(self) -> None:
        self._tools: BoundedCache[bytes, Tools] = BoundedCache(MOST_TOOLS_BYTES)

    def read(self, line: bytes, sample_id: str) -> Sample:
        """The sample of a line whose id is known; it shares the caller's text of the id.

        Raises:
            ValueError: the line is no sample.
        """
        try:
            stored = _decode_stored(line)
            turn = stored.turn
            written = bytes(turn.tools)
            tools = self._tools.get(written)
            if tools is None:
                tools = _decode_tools(written)
                self._tools.keep(written, tools, len(written))
        except msgspec.DecodeError:
            return structs.replace(msgspec.convert(_slowly(line), Sample), id=sample_id)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        return Sample(
            sample_id,
            Turn(turn.messages, tools, turn.parameters, turn.stream, turn.thinking, turn.fixed),
            stored.expected,
            stored.tags,
            stored.source,
        )


# Bytes of JSON; the shortest line is an object of some size too.
_MOST_RECENT_BYTES = 4 * 2**20
_LEAST_BYTES = 2**13
_PIECE_BYTES = 2**18
# A system call costs as much as decoding a sample, so blocks of the file are cached, small files whole.
_BLOCK_BYTES = 2**14
_MOST_BLOCKS_BYTES = 16 * 2**20


class Shelf(Samples):
    """A sequence of samples in a file that grows by ``append``; it is not thread-safe."""

    def __init__(self, stored: Path | None = None) -> None:
        """Make an empty shelf, or one over the ``stored`` file, whose ids are read.

        Raises:
            RunFolderError: the stored file cannot be read, or a line of it is no sample.
        """
        self._stored = stored
        self._ids: list[str] = []
        self._starts = array("Q", [0])
        self._reader = SampleReader()
        self._recent: BoundedCache[int, Sample] = BoundedCache(_MOST_RECENT_BYTES)
        self._blocks: BoundedCache[int, bytes] = BoundedCache(_MOST_BLOCKS_BYTES)
        self._waiting = bytearray()
        if stored is None:
            self._file = _nameless()
        else:
            try:
                self._file = stored.open("rb", buffering=0)
                lines = io.BufferedReader(self._file)
                for line in lines:
                    self._note(id_in(line), line)
                lines.detach()
            except (OSError, ValueError) as error:
                raise self._unreadable(error) from None

    def __del__(self) -> None:
        file: io.FileIO | None = getattr(self, "_file", None)
        if file is not None:
            file.close()

    @property
    def ids(self) -> Sequence[str]:
        return self._ids

    def append(self, sample: Sample) -> None:
        """Append a sample.

        Raises:
            StorageError: the disk refused.
        """
        line = encode_sample(sample) + b"\n"
        self._waiting += line
        self._note(sample.id, line)
        if len(self._waiting) >= _PIECE_BYTES:
            self._write_waiting()

    def at(self, place: int) -> Sample:
        """The sample at a place from 0 on.

        Raises:
            RunFolderError: its line cannot be read or is no sample.
        """
        found = self._recent.get(place)
        if found is None:
            line = self.line(place)
            try:
                found = self._reader.read(line, self._ids[place])
            except ValueError as error:
                raise self._unreadable(error) from None
            self._recent.keep(place, found, max(len(line), _LEAST_BYTES))
        return found

    def line(self, place: int) -> bytes:
        """The sample at a place as JSON, with its newline; by way of cached blocks, because reads come in any order."""
        begin, end = self._starts[place], self._starts[place + 1]
        first = begin // _BLOCK_BYTES
        found = self._block(first)
        begin, end = begin - first * _BLOCK_BYTES, end - first * _BLOCK_BYTES
        if end > _BLOCK_BYTES:
            found += b"".join(map(self._block, range(first + 1, first + 1 + (end - 1) // _BLOCK_BYTES)))
        return found[begin:end]

    def pieces(self) -> Iterator[bytes]:
        """The bytes of all lines, in large pieces."""
        for begin in range(0, self._starts[-1], _PIECE_BYTES):
            yield self._read(begin, min(_PIECE_BYTES, self._starts[-1] - begin))

    def _block(self, number: int) -> bytes:
        found = self._blocks.get(number)
        if found is None:
            found = self._read(number * _BLOCK_BYTES, _BLOCK_BYTES)
            # The last one may still grow.
            if len(found) == _BLOCK_BYTES or self._stored is not None:
                self._blocks.keep(number, found, _BLOCK_BYTES)
        return found

    def _read(self, begin: int, size: int) -> bytes:
        if self._waiting:
            self._write_waiting()
        try:
            self._file.seek(begin)
            return self._file.read(size)
        except OSError as error:
            raise self._unreadable(error) from None

    def _write_waiting(self) -> None:
        try:
            self._file.seek(0, io.SEEK_END)
            while self._waiting:
                del self._waiting[: self._file.write(self._waiting)]
        except OSError as error:
            raise _refused(error) from error

    def _note(self, sample_id: str, line: bytes) -> None:
        self._ids.append(sample_id)
        self._starts.append(self._starts[-1] + len(line))

    def _unreadable(self, error: Exception) -> RunFolderError:
        return RunFolderError(f"{self._stored or 'a temporary file of samples'} cannot be read: {error}")


def lines_of(samples: Iterable[Sample]) -> Iterator[bytes]:
    """The content of a file with these samples, piece by piece; samples on a shelf are copied undecoded."""
    if isinstance(samples, Shelf):
        return samples.pieces()
    if isinstance(samples, ChosenSamples) and isinstance(samples.whole, Shelf):
        return map(samples.whole.line, samples.places)
    return (encode_sample(sample) + b"\n" for sample in samples)


def is_shelved(samples: Iterable[Sample]) -> TypeGuard[Samples]:
    """Whether a file with these samples, read again, gives the same as they do: they are read from the same lines."""
    return isinstance(samples, Shelf) or (isinstance(samples, ChosenSamples) and isinstance(samples.whole, Shelf))


def _nameless() -> io.FileIO:
    try:
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:
        raise _refused(error) from error


def _refused(error: OSError) -> StorageError:
    return StorageError(f"samples cannot be kept in a temporary file (TMPDIR): {error}")
