"""Unpacks what a server compressed unasked, a little at a time, so that a bomb is never unpacked at one go."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

SLICE_BYTES = 1024
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


def unpacker_of(headers: Mapping[str, str]) -> zlib._Decompress | None:
    """What unpacks the body under these headers; None for a body that is to be read as it is."""
    window = _WINDOWS.get(headers.get("content-encoding", "").strip().lower())
    return None if window is None else zlib.decompressobj(window)


def unpacked(unpacker: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What ``data`` says, in small pieces, unpacked as they are asked for.

    Raises:
        zlib.error: it is not what it was said to be.
    """
    while plain := unpacker.decompress(data, SLICE_BYTES):
        data = unpacker.unconsumed_tail
        yield plain
