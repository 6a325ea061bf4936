"""One sample ↔ one JSON line, and the only place that turns samples into JSON and back; it opens no file."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.base import MAX_LINE_BYTES
from vendor_verifier.values.bounded_cache import BoundedCache
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import MOST_TOOLS_BYTES, Sample, Source, Tools

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
            tools = self._read_tools(bytes(turn.tools))
        except msgspec.DecodeError:
            return replace(msgspec.convert(_slowly(line), Sample), id=sample_id)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        return Sample(
            sample_id,
            Turn(turn.messages, tools, turn.parameters, turn.stream, turn.thinking, turn.fixed),
            stored.expected,
            stored.tags,
            stored.source,
        )

    def _read_tools(self, written: bytes) -> Tools:
        tools = self._tools.get(written)
        if tools is None:
            tools = _decode_tools(written)
            self._tools.keep(written, tools, len(written))
        return tools
