"""The base of all loaders: their result, their errors, and the reading of JSON lines and arrays; no I/O."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.text import counted
from vendor_verifier.wire.payload import PayloadError, parse_json

MAX_SHOWN = 20
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_ARRAY_BYTES = 256 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
Found = TypeVar("Found")


class LoadedSamples(msgspec.Struct, frozen=True):
    """The usable samples of one file, in its order.

    ``skipped`` are the lines left out at the user's wish; ``defects`` are sentences about what the data set itself has
    wrong or peculiar, for the report: never a vendor's fault.
    """

    samples: tuple[Sample, ...]
    skipped: tuple[Problem, ...] = ()
    defects: tuple[str, ...] = ()


class Question(msgspec.Struct, frozen=True):
    """The turn that a row asks. ``tags`` hold all control keys, ``expected`` those that state the right answer.

    ``digest`` is that of its identity, where this is not the content of the turn.
    """

    turn: Turn
    tags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    expected: Mapping[str, Any] = msgspec.field(default_factory=dict)
    defects: tuple[str, ...] = ()
    digest: str | None = None


class Loader(msgspec.Struct, frozen=True):
    """A row format by name, as ``--dataset-format`` takes it.

    ``read_row`` gives the question of a row and raises UnusableRequest; ``recognises`` tells the format by one row;
    ``row`` describes what a row has.
    """

    name: str
    read_row: Callable[[Mapping[str, Any]], Question]
    recognises: Callable[[Mapping[str, Any]], bool]
    row: str


class Row(msgspec.Struct, frozen=True):
    """One object, and its line or its number in an array."""

    line: int
    fields: dict[str, Any]


class UnusableRequest(ValueError):
    """The row is not a question; the message says what was read, what was expected and how to fix it.

    ``line`` counts from 1 in the text that was read.
    """

    def __init__(self, message: str, key: str | None = None, line: int = 1) -> None:
        super().__init__(message)
        self.key = key
        self.line = line


def data_error(problems: Sequence[Problem]) -> DataError:
    """All problems as one error: the first ``MAX_SHOWN`` in full, the others counted."""
    shown = list(problems[:MAX_SHOWN])
    hidden = len(problems) - len(shown)
    if hidden > 0:
        shown.append(Problem(f"and {counted(hidden, 'more problem')} like these", shown[-1].file))
    return DataError(shown)


def place_in(file: Path, place: str, number: int, key: str | None, message: str) -> Problem:
    """A problem of a row, on a line or in an array."""
    if place == "line":
        return Problem(message, file, number, key)
    return Problem(message, file, None, f"{place} {number}" + (f", {key}" if key else ""))


def usable(
    rows: Iterable[Row | Problem],
    read: Callable[[Row], Found],
    file: Path,
    problems: list[Problem],
    place: str = "line",
) -> Iterator[tuple[Row, Found]]:
    """Each row with what is read of it. What is wrong with the others is added to the ``problems``."""
    for row in rows:
        if isinstance(row, Problem):
            problems.append(row)
            continue
        try:
            found = read(row)
        except UnusableRequest as reason:
            problems.append(place_in(file, place, row.line, reason.key, str(reason)))
        else:
            yield row, found


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


def refuse_half_characters(value: object, key: str | None = None) -> None:
    r"""Refuse the first half of a surrogate pair anywhere in a JSON value.

    ``\ud83d`` without its partner is legal JSON, yet text that cannot be sent, because it has no UTF-8 form.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        message = f"half a character, {half}, which cannot be sent; complete the pair or remove it"
        raise UnusableRequest(message, key) from None


def unpacked(value: object, key: str, expected: str = "") -> object:
    """The value, read once more if it is text, which must be JSON."""
    if not isinstance(value, str):
        return value
    try:
        found = parse_json(value)
    except PayloadError as error:
        raise UnusableRequest(f"{expected}text that is not JSON: {error}", key) from None
    refuse_half_characters(found, key)
    return found


def read_rows(lines: Iterable[bytes], file: Path) -> Iterator[Row | Problem]:
    """Every non-blank line as a row, or as the problem it has. Line numbers are physical and start at 1."""
    for number, line in enumerate(lines, 1):
        if line.removeprefix(BOM).strip():
            try:
                yield Row(number, _row(line))
            except UnusableRequest as problem:
                yield Problem(str(problem), file, number, problem.key)


def _row(line: bytes) -> dict[str, Any]:
    """The object on a line, which must be sendable and name each of its keys once."""
    if len(line) > MAX_LINE_BYTES:
        most = MAX_LINE_BYTES // 2**20
        raise UnusableRequest(f"the line is longer than {most} MB; expected one request, not a whole file")
    repeated: list[str] = []

    def note_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # The reader ends inner objects first, so the last call is about the row itself.
        repeated[:] = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        return dict(pairs)

    text = _decoded(line)
    value = _parsed(text, note_repeated_keys)
    if not isinstance(value, dict):
        raise UnusableRequest(f"expected a JSON object, read {kind_of(value)}; write one object per line")
    if repeated:
        raise UnusableRequest("the key occurs twice on this line; keep the one that is meant", repeated[0])
    if "\\u" in text:
        refuse_half_characters(value)
    return value


def read_array(content: bytes, file: Path) -> Iterator[Row | Problem]:
    """The members of a JSON array as rows or problems; ``Row.line`` is a member's number from 1.

    Of a key that occurs twice in an object the last one counts, as in every JSON reader.

    Raises:
        DataError: not UTF-8, or not JSON; with the place.
    """
    try:
        text = _decoded(content)
        values = _parsed(text)
    except UnusableRequest as problem:
        raise data_error([Problem(str(problem), file, problem.line)]) from None
    for number, value in enumerate(values, 1):
        try:
            if not isinstance(value, dict):
                raise UnusableRequest(f"expected an object, read {kind_of(value)}")
            if "\\u" in text:
                refuse_half_characters(value)
            yield Row(number, value)
        except UnusableRequest as problem:
            yield Problem(str(problem), file, None, f"row {number}")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte 0x{content[error.start]:02x} at position {error.start + 1}"
        raise UnusableRequest(f"not UTF-8: {where}; save the file as UTF-8, not as UTF-16 or another one") from None


def _parsed(text: str, hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value; what is not JSON is refused with the parser's message, the place and the text there."""
    text = text.rstrip()  # the end is that of the last line that holds something
    try:
        return parse_json(text, object_pairs_hook=hook)
    except PayloadError as error:
        reason, fault = str(error), error.__cause__
    if not isinstance(fault, json.JSONDecodeError):
        raise UnusableRequest(f"not usable JSON: {reason}")
    rest = text[fault.pos :].strip()
    read = shortened(rest[:30]) if rest else "the end; write each object on one line"
    raise UnusableRequest(f"not JSON at column {fault.colno}: {fault.msg}, read {read}", line=fault.lineno)
