"""The header fields of an answer as the parser found them, read as headers; pure."""

from __future__ import annotations

from collections.abc import Sequence


def headers_of(fields: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header fields with lower-case names; several of one name are joined by commas."""
    try:
        read = [(name.decode().lower(), value.decode()) for name, value in fields]
    except UnicodeDecodeError:
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
