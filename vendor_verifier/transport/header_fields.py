"""The header fields of an answer as the parser found them, read as headers; pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain


def headers_of(fields: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header fields with lower-case names; several of one name are joined by commas."""
    try:
        # Decoded together, which a line feed in one of them would show.
        texts = b"\n".join(chain.from_iterable(fields)).decode().split("\n")
        read = list(zip(map(str.lower, texts[::2]), texts[1::2], strict=True))
    except ValueError:
        read = []
    if len(read) != len(fields):
        read = [(_text(name).lower(), _text(value)) for name, value in fields]
    found = dict(read)
    if len(found) == len(read):
        return found
    several: dict[str, list[str]] = {}
    for name, value in read:
        several.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in several.items()}


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
