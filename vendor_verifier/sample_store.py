"""Samples kept in a file and decoded one by one; in memory are only their ids and the offsets of their lines.

A shelf is filled through an unnamed temporary file, or opened over a stored one. Only recently read samples are kept
as objects, because several vendors are asked the same sample at about the same time.
"""

from __future__ import annotations

import io
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.samples_file import SampleReader, encode_sample, id_in
from vendor_verifier.values.bounded_cache import BoundedCache
from vendor_verifier.values.sample import ChosenSamples, Sample, Samples

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
        """The sample at a place as JSON, with its newline."""
        begin = self._starts[place]
        return self._line(begin, self._starts[place + 1] - begin)

    def pieces(self) -> Iterator[bytes]:
        """The bytes of all lines, in large pieces."""
        for begin in range(0, self._starts[-1], _PIECE_BYTES):
            yield self._read(begin, min(_PIECE_BYTES, self._starts[-1] - begin))

    def _line(self, begin: int, size: int) -> bytes:
        """``size`` bytes of the file from ``begin``, by way of cached blocks, because reads come in any order."""
        first, last = begin // _BLOCK_BYTES, (begin + size - 1) // _BLOCK_BYTES
        block = self._block(first)
        if first < last:
            block += b"".join(map(self._block, range(first + 1, last + 1)))
        start = begin - first * _BLOCK_BYTES
        return block[start : start + size]

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


def _nameless() -> io.FileIO:
    try:
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:
        raise _refused(error) from error


def _refused(error: OSError) -> StorageError:
    return StorageError(f"samples cannot be kept in a temporary file (TMPDIR): {error}")
