"""Takes secrets out of anything that leaves the process; it knows the secrets, and nobody can print it."""

from __future__ import annotations

import base64
import urllib.parse
from collections.abc import Iterable

MASK = "[secret]"
_MIN_LENGTH = 6
_TAIL = 8


class Scrubber:
    """Replaces every known secret, and its usual disguises, by ``[secret]``.

    Disguises: URL-encoded, base64, and the last eight characters (vendors echo ``sk-…abcd1234``) of secrets long enough
    that the tail cannot be an ordinary word. Secrets shorter than six characters are too common to replace and are
    refused by the configuration instead.
    """

    __slots__ = ("_bytes", "_texts")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found: set[str] = set()
        for secret in secrets:
            if len(secret) < _MIN_LENGTH:
                continue
            found.add(secret)
            found.add(urllib.parse.quote(secret, safe=""))
            found.add(base64.b64encode(secret.encode()).decode().rstrip("="))
            if len(secret) >= 2 * _TAIL:
                found.add(secret[-_TAIL:])
        # Longest first, so that a tail never leaves the rest of its secret behind.
        self._texts = tuple(sorted(found, key=len, reverse=True))
        self._bytes = tuple(text.encode() for text in self._texts)

    def text(self, text: str) -> str:
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def bytes(self, data: bytes) -> bytes:
        for secret in self._bytes:
            if secret in data:
                data = data.replace(secret, MASK.encode())
        return data

    def __repr__(self) -> str:
        return f"Scrubber({len(self._texts)} patterns)"
