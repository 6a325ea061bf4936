"""The due times of a replayed schedule's requests, one a line: JSON objects, or numbers as a spreadsheet saves them.

    {"at_s": 1.25, "sample": "weather-3"}        at_s,sample           0.0
                                                 1.25,weather-3        1.25

Times are seconds after the start, in rising order; a sample may be named. Blank lines and lines after ``#`` are
skipped. It opens no file and knows no samples.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import data_error, kind_of, shortened
from vendor_verifier.values.plan import Due
from vendor_verifier.wire.payload import parse_json

_KEYS = ("at_s", "sample")
_SHAPE = 'expected seconds after the start: a number such as 1.25, "1.25,sample-id", or {"at_s": 1.25}'


class _Unreadable(ValueError):
    """A line without a readable time; the message is the reason."""


def read_schedule(lines: Iterable[bytes], file: Path) -> tuple[Due, ...]:
    """The due times in the order of the file.

    Raises:
        DataError: lines that say no time or go back in time, all at once; or no time at all.
    """
    found: list[Due] = []
    problems: list[Problem] = []
    last: tuple[float, int] | None = None
    for number, line in enumerate(lines, 1):
        try:
            due = _due(line, number, is_first=not found and not problems)
        except _Unreadable as error:
            problems.append(Problem(str(error), file, number))
            continue
        if due is None:
            continue
        if last is not None and due.at_s < last[0]:
            words = f"{due.at_s:g} s comes before the {last[0]:g} s of line {last[1]}; sort the file by time"
            problems.append(Problem(words, file, number))
        last = (due.at_s, number)
        found.append(due)
    if not found and not problems:
        problems.append(Problem(f"holds no time; {_SHAPE}", file))
    if problems:
        raise data_error(problems)
    return tuple(found)


def _due(line: bytes, number: int, *, is_first: bool) -> Due | None:
    """None for a line without content, and for the titles of columns."""
    try:
        text = line.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise _Unreadable("is not UTF-8 text") from None
    if not text or text.startswith("#"):
        return None
    if text.startswith("{"):
        return _from_object(text, number)
    try:
        words = [word.strip() for word in next(csv.reader([text]))]
    except csv.Error as error:
        raise _Unreadable(f"read {shortened(text)}, no row of a table ({error}); {_SHAPE}") from None
    if is_first and words[0].casefold() == _KEYS[0]:
        return None
    if len(words) > len(_KEYS):
        raise _Unreadable(f"read {shortened(text)}, {len(words)} columns; {_SHAPE}")
    try:
        at_s = float(words[0])
    except ValueError:
        raise _Unreadable(f"read {shortened(words[0])}; {_SHAPE}") from None
    return Due(_checked(at_s), (words[1] or None) if len(words) > 1 else None, number)


def _from_object(text: str, number: int) -> Due:
    try:
        row: Any = parse_json(text)
    except ValueError as error:
        raise _Unreadable(f"not JSON ({error}); {_SHAPE}") from None
    other = [key for key in row if key not in _KEYS]
    if "at_s" not in row or other:
        read = ", ".join(row) or "no key"
        raise _Unreadable(f"read the keys {shortened(read)}; expected at_s (seconds) and, if one is meant, sample")
    at_s, sample = row["at_s"], row.get("sample")
    if isinstance(at_s, bool) or not isinstance(at_s, int | float):
        raise _Unreadable(f"at_s: read {kind_of(at_s)}; expected a number of seconds")
    if sample is not None and not isinstance(sample, str):
        raise _Unreadable(f"sample: read {kind_of(sample)}; expected a sample's id in quotes")
    return Due(_checked(at_s), sample, number)


def _checked(stated: float) -> float:
    try:
        at_s = float(stated)
    except OverflowError:
        at_s = math.inf
    if not math.isfinite(at_s) or at_s < 0:
        raise _Unreadable(f"read {at_s:g}; expected seconds after the start, from 0 on")
    return at_s
