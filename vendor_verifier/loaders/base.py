"""The base of all loaders: their result, their errors, and the reading of JSON lines and arrays as rows; no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.declared_tools import QuickRows, quotes_in
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.text import counted
from vendor_verifier.wire.payload import PayloadError, parse_json

MAX_SHOWN = 20
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_ARRAY_BYTES = 256 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_POSITION = re.compile(r":? line (\d+) column (\d+) \(char (\d+)\)")
_SURROGATE = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
Keep = Callable[[Sample], None]
"""Takes the samples of a file one by one, in its order, so that a long file need not be held."""


class LoadedSamples(msgspec.Struct, frozen=True):
    """The usable samples of one file, in its order; empty where the caller took each as it was read.

    ``skipped`` are the lines left out at the user's wish; ``defects`` are sentences about what the data set itself has
    wrong or peculiar, for the report: never a vendor's fault. ``format`` names the loader that was used.
    """

    samples: tuple[Sample, ...]
    skipped: tuple[Problem, ...] = ()
    defects: tuple[str, ...] = ()
    format: str | None = None


class Question(msgspec.Struct, frozen=True):
    """The turn that a row asks. ``tags`` hold all control keys, ``expected`` those that state the right answer."""

    turn: Turn
    tags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    expected: Mapping[str, Any] = msgspec.field(default_factory=dict)
    defects: tuple[str, ...] = ()


class Loader(msgspec.Struct, frozen=True):
    """A row format by name, as ``--dataset-format`` takes it.

    ``read_row`` gives the question of a row and raises UnusableRequest; ``recognises`` tells the format by one row;
    ``row`` says in words what a row has.
    """

    name: str
    read_row: Callable[[Mapping[str, Any]], Question]
    recognises: Callable[[Mapping[str, Any]], bool]
    row: str


def data_error(problems: Sequence[Problem]) -> DataError:
    """All problems as one error: the first ``MAX_SHOWN`` in full, the others counted."""
    shown = list(problems[:MAX_SHOWN])
    hidden = len(problems) - len(shown)
    if hidden > 0:
        shown.append(Problem(f"and {counted(hidden, 'more problem')} like these", shown[-1].file))
    return DataError(shown)


def kind_of(value: object) -> str:
    """The kind of a JSON value, in words for an error message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {dict: "an object", list: "an array", str: "a string", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def shortened(text: str, limit: int = 60) -> str:
    """``text`` in quotes, cut so that a message stays one line."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


class Row(msgspec.Struct, frozen=True):
    """One object. ``repeated`` are keys that occur twice inside a nested object, where the last one counts."""

    line: int
    fields: dict[str, Any]
    repeated: tuple[str, ...] = ()


class _Unreadable(ValueError):
    """A line that is not a row; the message is the reason, ``key`` the offending key if there is one."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def read_rows(lines: Iterable[bytes], file: Path) -> Iterator[Row | Problem]:
    """Every non-blank line as a row, or as the problem it has. Line numbers are physical and start at 1."""
    quick = QuickRows()
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(_BOM)
        if not content.strip():
            continue
        fields = quick.read(content) if len(content) <= MAX_LINE_BYTES else None
        try:
            yield _row(number, content) if fields is None else Row(number, fields)
        except _Unreadable as problem:
            yield Problem(str(problem), file, number, problem.key)


def _row(number: int, content: bytes) -> Row:
    if len(content) > MAX_LINE_BYTES:
        raise _Unreadable(
            f"the line is longer than {MAX_LINE_BYTES // 2**20} MB; expected one request, not a whole file"
        )
    text = _decoded(content)
    pairs = _Pairs()
    try:
        value = parse_json(text)
        if _may_repeat_keys(content, value):
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
        raise _Unreadable(_HALF.format(half=half))
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
    position = int(found[3])
    what = _POSITION.sub("", reason)
    read = shortened(text[position : position + 30].strip(), 30) if text[position:].strip() else "the end of the line"
    hint = "; write each object on one line" if text.strip() in ("{", "[", "}", "]", "},") else ""
    return f"not JSON at column {found[2]}: {what}, read {read}{hint}"


def _may_repeat_keys(content: bytes, value: object) -> bool:
    """Whether a key may occur twice in one object of ``content``, whose ``value`` then has fewer texts than it."""
    try:
        return quotes_in(content) != quotes_in(msgspec.json.encode(value))
    except UnicodeEncodeError:
        # Half a character, of which nothing can be written.
        return True


class _Pairs:
    """Collects repeated keys while the parser builds objects from the inside out."""

    def __init__(self) -> None:
        self.last: tuple[str, ...] = ()
        self.inner: dict[str, None] = {}

    def take(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self.inner.update(dict.fromkeys(self.last))
        seen: set[str] = set()
        self.last = tuple(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return dict(pairs)


def half_character(value: object) -> str | None:
    r"""The first half of a surrogate pair inside ``value``, spelled out, or None.

    ``\ud83d`` without its partner is legal JSON, yet text that cannot be sent, because it has no UTF-8 form.
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


def read_array(content: bytes, file: Path) -> list[Row | Problem]:
    """Every member as a row, or as the problem it has. ``Row.line`` is the member's number, from 1.

    Of a key that occurs twice in an object the last one counts, as in every JSON reader.

    Raises:
        DataError: not UTF-8, not a JSON array, or larger than ``MAX_ARRAY_BYTES``.
    """
    if len(content) > MAX_ARRAY_BYTES:
        message = f"a JSON array of more than {MAX_ARRAY_BYTES // 2**20} MB; write its members as JSON lines"
        raise data_error([Problem(message, file)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{content[error.start]:02x} at byte {error.start + 1}; save the file as UTF-8"
        raise data_error([Problem(message, file)]) from None
    try:
        value = parse_json(text)
    except PayloadError as error:
        raise data_error([_unread_array(str(error), text, file)]) from None
    if not isinstance(value, list):
        raise data_error([Problem(f"expected a JSON array, read {kind_of(value)}", file)])
    check_halves = _SURROGATE.search(text) is not None
    return [_member(number, item, file, check_halves) for number, item in enumerate(value, 1)]


def read_objects(content: bytes, file: Path) -> list[Row | Problem]:
    """Every one of some pretty-printed objects, one after the other, as a row. ``Row.line`` is where it begins.

    Raises:
        DataError: not UTF-8, or not JSON; with the place.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{content[error.start]:02x} at byte {error.start + 1}; save the file as UTF-8"
        raise data_error([Problem(message, file)]) from None
    check_halves = _SURROGATE.search(text) is not None
    decoder, rows, position, line = json.JSONDecoder(), list[Row | Problem](), 0, 1
    while (found := _BEGIN.search(text, position)) is not None:
        begin = found.start()
        line += text.count("\n", position, begin)
        try:
            _, position = decoder.raw_decode(text, begin)
            value = parse_json(text[begin:position])
        except (ValueError, RecursionError) as error:
            raise data_error([_unread_array(str(error), text, file)]) from None
        if isinstance(value, dict):
            half = half_character(value) if check_halves else None
            rows.append(Problem(_HALF.format(half=half), file, line) if half else Row(line, value))
        else:
            rows.append(Problem(f"expected a JSON object, read {kind_of(value)}", file, line))
        line += text.count("\n", begin, position)
    return rows


_BEGIN = re.compile(r"\S")
_HALF = "half a character, {half}, which cannot be sent; complete the pair or remove it"


def _member(number: int, item: object, file: Path, check_halves: bool) -> Row | Problem:
    key = f"row {number}"
    if not isinstance(item, dict):
        return Problem(f"expected an object, read {kind_of(item)}", file, None, key)
    half = half_character(item) if check_halves else None
    if half:
        return Problem(_HALF.format(half=half), file, None, key)
    return Row(number, item)


def _unread_array(reason: str, text: str, file: Path) -> Problem:
    """A parser's words with the line, the column and what stands there."""
    found = _POSITION.search(reason)
    if found is None:
        return Problem(f"not usable JSON: {reason}", file)
    rest = text[int(found[3]) :].strip()
    read = shortened(rest[:30], 30) if rest else "the end of the file"
    return Problem(f"not JSON at column {found[2]}: {_POSITION.sub('', reason)}, read {read}", file, int(found[1]))
