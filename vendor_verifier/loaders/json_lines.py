"""JSON lines, read strictly one object a line; what the objects mean is not its business, and it opens no file.

A line is UTF-8 (a byte order mark is tolerated), ends in LF or CRLF, and holds one object whose keys are all different.
Blank lines are skipped but counted, so that a line number is always the one an editor shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import kind_of, shortened
from vendor_verifier.wire.payload import PayloadError, parse_json

MAX_LINE_BYTES = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_POSITION = re.compile(r":? line \d+ column (\d+) \(char (\d+)\)")
_SURROGATE = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One object. ``repeated`` are keys that occur twice inside a nested object, where the last one counts."""

    line: int
    fields: dict[str, Any]
    repeated: tuple[str, ...] = ()


class _Unreadable(ValueError):
    """Why a line is not a row; ``key`` names the offending one if it is about a key."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def read_rows(lines: Iterable[bytes], file: Path) -> Iterator[Row | Problem]:
    """Every non-blank line as a row, or as the problem it has. Line numbers are physical and start at 1."""
    pairs = _Pairs()
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(_BOM)
        if not content.strip():
            continue
        try:
            yield _row(number, content, pairs)
        except _Unreadable as problem:
            yield Problem(str(problem), file, number, problem.key)


def _row(number: int, content: bytes, pairs: _Pairs) -> Row:
    if len(content) > MAX_LINE_BYTES:
        raise _Unreadable(
            f"the line is longer than {MAX_LINE_BYTES // 2**20} MB; expected one request, not a whole file"
        )
    text = _decoded(content)
    pairs.forget()
    try:
        value = parse_json(text, object_pairs_hook=pairs.take)
    except PayloadError as error:
        raise _Unreadable(_explained(str(error), text)) from None
    if not isinstance(value, dict):
        raise _Unreadable(
            f"expected a JSON object, read {kind_of(value)}; write one object per line, without a surrounding array"
        )
    # The hook sees inner objects first, so what it saw last is the row itself.
    if pairs.last:
        raise _Unreadable("the key occurs twice on this line; keep the one that is meant", pairs.last[0])
    half = half_character(value) if _SURROGATE.search(text) else None
    if half:
        raise _Unreadable(f"half a character, {half}, which cannot be sent; complete the pair or remove it")
    return Row(number, value, tuple(pairs.inner))


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        utf16 = (
            "it looks like UTF-16; " if b"\x00" in content[:100] or content[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        )
        raise _Unreadable(
            f"not UTF-8: byte 0x{byte:02x} at position {error.start + 1}; {utf16}save the file as UTF-8"
        ) from None


def _explained(reason: str, text: str) -> str:
    """A parser's words with the column and what stands there."""
    found = _POSITION.search(reason)
    if found is None:
        return f"not usable JSON: {reason}"
    position = int(found[2])
    what = _POSITION.sub("", reason)
    read = shortened(text[position : position + 30].strip(), 30) if text[position:].strip() else "the end of the line"
    hint = "; write each object on one line" if text.strip() in ("{", "[", "}", "]", "},") else ""
    return f"not JSON at column {found[1]}: {what}, read {read}{hint}"


class _Pairs:
    """Collects repeated keys while the parser builds objects from the inside out."""

    def __init__(self) -> None:
        self.last: tuple[str, ...] = ()
        self.inner: dict[str, None] = {}

    def forget(self) -> None:
        """Begin with another row."""
        self.last = ()
        self.inner = {}

    def take(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        # Nearly no object repeats a key, and this is asked of every one.
        if self.last or len(built) != len(pairs):
            self._note(pairs)
        return built

    def _note(self, pairs: list[tuple[str, Any]]) -> None:
        self.inner.update(dict.fromkeys(self.last))
        seen: set[str] = set()
        self.last = tuple(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]


def half_character(value: object) -> str | None:
    r"""The first half of a surrogate pair inside ``value``, spelled out, or None.

    ``\ud83d`` without its partner is legal JSON, yet text that nobody can be sent: it has no UTF-8 form.
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, str):
            half = next((character for character in item if "\ud800" <= character <= "\udfff"), None)
            if half is not None:
                return f"\\u{ord(half):04x}"
    return None
