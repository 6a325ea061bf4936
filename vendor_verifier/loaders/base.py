"""The base of all loaders: their result, their errors, and the reading of JSON lines and arrays as rows; no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vendor_verifier.errors import DataError, Problem
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
    """Text that is no row; the message is the reason, ``key`` the offending key, ``line`` counts from 1 in the text."""

    def __init__(self, message: str, key: str | None = None, line: int = 1) -> None:
        super().__init__(message)
        self.key = key
        self.line = line


def read_rows(lines: Iterable[bytes], file: Path) -> Iterator[Row | Problem]:
    """Every non-blank line as a row, or as the problem it has. Line numbers are physical and start at 1."""
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(_BOM)
        if not content.strip():
            continue
        try:
            if len(content) > MAX_LINE_BYTES:
                most = MAX_LINE_BYTES // 2**20
                raise _Unreadable(f"the line is longer than {most} MB; expected one request, not a whole file")
            yield _row(number, _decoded(content))
        except _Unreadable as problem:
            yield Problem(str(problem), file, number, problem.key)


def _row(number: int, text: str) -> Row:
    """The object in ``text``, which must be sendable and name each of its keys once."""
    repeated: list[tuple[str, ...]] = []

    def note_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        seen: set[str] = set()
        twice = (key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        repeated.append(tuple(twice) if len(found) < len(pairs) else ())
        return found

    try:
        value = parse_json(text, object_pairs_hook=note_repeated_keys)
    except PayloadError as error:
        raise _explained(str(error), text) from None
    if not isinstance(value, dict):
        raise _Unreadable(
            f"expected a JSON object, read {kind_of(value)}; write one object per line, without a surrounding array"
        )
    # The reader ends inner objects first, so the last one is the row itself.
    *inner, outer = repeated
    if outer:
        raise _Unreadable("the key occurs twice on this line; keep the one that is meant", outer[0])
    if _SURROGATE.search(text):
        _refuse_half_characters(value)
    return Row(number, value, tuple(dict.fromkeys(key for keys in inner for key in keys)))


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        looks = b"\x00" in content[:100] or content[:2] in (b"\xff\xfe", b"\xfe\xff")
        where = f"byte 0x{content[error.start]:02x} at position {error.start + 1}"
        raise _Unreadable(f"not UTF-8: {where}; {'it looks like UTF-16; ' * looks}save the file as UTF-8") from None


def _explained(reason: str, text: str) -> _Unreadable:
    """A parser's words with the place and the text there."""
    found = _POSITION.search(reason)
    if found is None:
        return _Unreadable(f"not usable JSON: {reason}")
    line, column, position = (int(number) for number in found.groups())
    rest = text[position:].strip()
    read = shortened(rest[:30], 30) if rest else f"the end of the {'file' if line > 1 else 'line'}"
    hint = "; write each object on one line" if text.strip() in ("{", "[", "}", "]", "},") else ""
    return _Unreadable(f"not JSON at column {column}: {_POSITION.sub('', reason)}, read {read}{hint}", line=line)


def _refuse_half_characters(value: object) -> None:
    half = half_character(value)
    if half:
        raise _Unreadable(f"half a character, {half}, which cannot be sent; complete the pair or remove it")


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


def read_document(content: bytes, file: Path) -> list[Row | Problem]:
    """The members of a JSON array, or pretty-printed objects one after the other, as rows or problems.

    ``Row.line`` is a member's number from 1, or the line where an object begins. Of a key that occurs twice in an
    object the last one counts, as in every JSON reader.

    Raises:
        DataError: not UTF-8, or not JSON; with the place.
    """
    try:
        text = _decoded(content)
        if text.lstrip().startswith("["):
            may_be_half = _SURROGATE.search(text) is not None
            members = enumerate(_parsed(text, 1), 1)
            return [_member(number, None, item, file, may_be_half) for number, item in members]
        rows: list[Row | Problem] = []
        decoder, position, line = json.JSONDecoder(), 0, 1
        while (found := _BEGIN.search(text, position)) is not None:
            begin = found.start()
            line += text.count("\n", position, begin)
            try:
                position = decoder.raw_decode(text, begin)[1]
            except (ValueError, RecursionError):
                # What is no JSON by itself is refused below, with the reason.
                position = len(text)
            value = _parsed(text[begin:position], line)
            rows.append(_member(line, line, value, file, may_be_half=True))
            line += text.count("\n", begin, position)
        return rows
    except _Unreadable as problem:
        raise data_error([Problem(str(problem), file, problem.line)]) from None


_BEGIN = re.compile(r"\S")


def _parsed(text: str, first_line: int) -> Any:
    try:
        return parse_json(text)
    except PayloadError as error:
        problem = _explained(str(error), text)
        problem.line += first_line - 1
        raise problem from None


def _member(number: int, line: int | None, value: object, file: Path, may_be_half: bool) -> Row | Problem:
    """The row that is ``value``; a member of an array is named by its number, an object by its line."""
    key = f"row {number}" if line is None else None
    if not isinstance(value, dict):
        return Problem(f"expected an object, read {kind_of(value)}", file, line, key)
    try:
        if may_be_half:
            _refuse_half_characters(value)
    except _Unreadable as problem:
        return Problem(str(problem), file, line, key)
    return Row(number, value)
