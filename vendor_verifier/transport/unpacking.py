"""Unpacks compressed bodies a little at a time, so that a bomb is never unpacked at one go.

gzip and deflate are unpacked, in several layers where the header declares several. Any other coding is left as it is:
:mod:`vendor_verifier.wire.payload` names it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence

SLICE_BYTES = 1024
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_MAX_LAYERS = 4
# Members cost far more than the few bytes that an empty one takes.
_MAX_MEMBERS = 100
_GZIP = b"\x1f\x8b"


class Unpacker:
    """The layers in which one body is packed, the outermost first."""

    def __init__(self, codings: Sequence[str]) -> None:
        # The header names them in the order in which they were applied.
        self.layers = tuple(_Layer(_WINDOWS[coding]) for coding in reversed(codings))


class _Layer:
    def __init__(self, window: int) -> None:
        self._window = window
        self._inner = zlib.decompressobj(window)
        self._members = 1

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while True:
            plain = self._inner.decompress(data, SLICE_BYTES)
            data = self._inner.unconsumed_tail
            if plain:
                yield plain
            if self._inner.eof:
                data = self._inner.unused_data
                if not data.startswith(_GZIP):
                    return
                # Members in a row are one body; anything else behind the end is padding.
                self._members += 1
                if self._members > _MAX_MEMBERS:
                    raise zlib.error(f"more than {_MAX_MEMBERS} gzip members")
                self._inner = zlib.decompressobj(self._window)
            elif not plain:
                return


def unpacker_of(headers: Mapping[str, str]) -> Unpacker | None:
    """The unpacker for a body under these headers; None for one that is not packed, or cannot be unpacked."""
    stated = headers.get("content-encoding")
    declared = [one.strip().lower() for one in stated.split(",")] if stated else []
    codings = [coding for coding in declared if coding not in ("", "identity")]
    if not codings or len(codings) > _MAX_LAYERS or not _WINDOWS.keys() >= set(codings):
        return None
    return Unpacker(codings)


def unpacked(unpacker: Unpacker, data: bytes) -> Iterator[bytes]:
    """The content of ``data`` in small pieces, unpacked as they are asked for; an empty piece where a layer gave none.

    Raises:
        zlib.error: it is not in the declared coding.
    """
    return _through(unpacker.layers, data)


def _through(layers: Sequence[_Layer], data: bytes) -> Iterator[bytes]:
    first, *further = layers
    for piece in first.pieces(data):
        if further:
            yield b""
            yield from _through(further, piece)
        else:
            yield piece
