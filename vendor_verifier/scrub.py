"""Takes secrets out of anything that leaves the process; it knows the secrets, and nobody can print it."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import AnyStr

MASK = "[secret]"
_MIN_LENGTH = 6
_TAIL = 8


class Scrubber:
    """Replaces every known secret, and its usual disguises, by ``[secret]``.

    Disguises: URL-encoded, escaped in JSON (once or twice), base64 alone or inside longer text (``user:secret``), and
    the last eight characters (vendors echo ``sk-…abcd1234``) of secrets long enough that the tail cannot be an ordinary
    word. Secrets shorter than six characters are too common to replace and are refused by the configuration instead.
    """

    __slots__ = ("_bytes", "_texts")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._texts: tuple[str, ...] = ()
        self._bytes: tuple[bytes, ...] = ()
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Learn further secrets, such as a key fetched while the run goes on."""
        found = {disguise for secret in secrets if len(secret) >= _MIN_LENGTH for disguise in _disguises(secret)}
        self._texts = tuple(sorted(found.union(self._texts)))
        self._bytes = tuple(text.encode() for text in self._texts)

    def text(self, text: str) -> str:
        return _masked(text, self._texts, MASK)

    def bytes(self, data: bytes) -> bytes:
        return _masked(data, self._bytes, MASK.encode())

    def __repr__(self) -> str:
        return f"Scrubber({len(self._texts)} patterns)"


def _disguises(secret: str) -> Iterator[str]:
    plain = [secret]
    if len(secret) >= 2 * _TAIL:
        plain.append(secret[-_TAIL:])
    for word in plain:
        yield word
        for ascii_only in (False, True):
            once = json.dumps(word, ensure_ascii=ascii_only)[1:-1]
            yield once
            yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
        for quoted in (urllib.parse.quote(word), urllib.parse.quote(word, safe=""), urllib.parse.quote_plus(word)):
            yield quoted
            yield _lower_hex(quoted)
    yield from _base64_disguises(secret.encode())


def _lower_hex(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _base64_disguises(secret: bytes) -> Iterator[str]:
    """What base64 makes of the secret after 0, 1 or 2 other bytes, without the characters shared with neighbours."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(secret).decode().rstrip("=")
        for before in range(3):
            whole = encode(bytes(before) + secret).decode()
            yield whole[-(-8 * before // 6) : 8 * (before + len(secret)) // 6]


def _masked(content: AnyStr, secrets: Sequence[AnyStr], mask: AnyStr) -> AnyStr:
    """``content`` with every stretch that any secret covers replaced once, also where secrets overlap."""
    spans = sorted(span for secret in secrets if secret in content for span in _spans(content, secret))
    pieces: list[AnyStr] = []
    kept_to = 0
    masked_to = -1
    for start, end in spans:
        if start > masked_to:
            pieces += [content[kept_to:start], mask]
        kept_to = masked_to = max(masked_to, end)
    if not pieces:
        return content
    pieces.append(content[kept_to:])
    return content[:0].join(pieces)


def _spans(content: AnyStr, secret: AnyStr) -> Iterator[tuple[int, int]]:
    start = content.find(secret)
    while start >= 0:
        yield start, start + len(secret)
        start = content.find(secret, start + 1)
