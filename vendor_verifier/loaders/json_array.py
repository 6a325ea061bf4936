"""A JSON array of objects, read strictly as a whole; it opens no file and does not know what the objects mean."""

from __future__ import annotations

import re
from pathlib import Path

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import data_error, kind_of, shortened
from vendor_verifier.loaders.json_lines import Row, half_character
from vendor_verifier.wire.payload import PayloadError, parse_json

MAX_ARRAY_BYTES = 256 * 1024 * 1024
_POSITION = re.compile(r":? line (\d+) column (\d+) \(char (\d+)\)")
_SURROGATE = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


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
        raise data_error([_explained(str(error), text, file)]) from None
    if not isinstance(value, list):
        raise data_error([Problem(f"expected a JSON array, read {kind_of(value)}", file)])
    check_halves = _SURROGATE.search(text) is not None
    return [_row(number, item, file, check_halves) for number, item in enumerate(value, 1)]


def _row(number: int, item: object, file: Path, check_halves: bool) -> Row | Problem:
    key = f"row {number}"
    if not isinstance(item, dict):
        return Problem(f"expected an object, read {kind_of(item)}", file, None, key)
    half = half_character(item) if check_halves else None
    if half:
        message = f"half a character, {half}, which cannot be sent; complete the pair or remove it"
        return Problem(message, file, None, key)
    return Row(number, item)


def _explained(reason: str, text: str, file: Path) -> Problem:
    """A parser's words with the line, the column and what stands there."""
    found = _POSITION.search(reason)
    if found is None:
        return Problem(f"not usable JSON: {reason}", file)
    rest = text[int(found[3]) :].strip()
    read = shortened(rest[:30], 30) if rest else "the end of the file"
    return Problem(f"not JSON at column {found[2]}: {_POSITION.sub('', reason)}, read {read}", file, int(found[1]))
