"""Vendors' values: JSON by RFC 8259 or not at all, fields of stated kinds, and text that can be written.

Python's own reader accepts NaN and Infinity, recurses without bound and has other errors for long integers; here all
of these are a :class:`PayloadError` with a reason.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

MAX_DEPTH = 200
MAX_COUNT = 2**53
# Of a body.
MAX_BYTES = 1024 * 1024
# Of an event or body; no answer has nearly as many, and each may cost its reader a microsecond.
MAX_VALUES = 10_000
_SURROGATE = re.compile("[\ud800-\udfff]")


class PayloadError(ValueError):
    """The text is not JSON that anyone should act on; the message says why."""


def parse_json(
    text: str | bytes,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    most: int | None = None,
) -> Any:
    """Parse strictly. ``object_pairs_hook`` is the standard library's: it sees every object with its repeated keys.
    ``most`` is how many values there may be in it.

    Raises:
        PayloadError: not JSON, NaN or infinite, nested deeper than ``MAX_DEPTH``, a number beyond reason, or more
            values than ``most``.
    """
    try:
        value = _read_quickly(text) if object_pairs_hook is None else _read_slowly(text, object_pairs_hook)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # What the quick reader refuses is either no JSON, and this says why, or has a half character in it.
        value = _read_slowly(text, object_pairs_hook)
    if may_be_deep(text) or (most is not None and len(text) > most):
        _refuse_excess(value, most)
    return value


# What it accepts it reads as :func:`_read_slowly` does; tests/wire/test_payload.py holds both against each other.
_read_quickly = msgspec.json.Decoder().decode


def _read_slowly(text: str | bytes, hook: Callable[[list[tuple[str, Any]]], Any] | None) -> Any:
    """The value that the standard library's reader finds in ``text``, made strict.

    Raises:
        PayloadError: as in :func:`parse_json`, but for depth only where the reader gives up.
    """
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=hook)
    except RecursionError:
        raise PayloadError(f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise PayloadError(str(error)[:300]) from error


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise PayloadError(f"{text[:40]} is not JSON: not a finite number")
    return value


def may_be_deep(text: str | bytes) -> bool:
    """Whether there are brackets enough; nearly always there are not, and nothing need be walked."""
    # Nested so deep, it has two for each level.
    if len(text) <= 2 * MAX_DEPTH:
        return False
    if isinstance(text, str):
        return text.count("{") + text.count("[") > MAX_DEPTH
    # Bytes may be UTF-16, where a bracket is the same byte next to a zero.
    return text.count(b"{") + text.count(b"[") > MAX_DEPTH


def _refuse_excess(value: object, most: int | None) -> None:
    """Walk breadth-first, so that depth costs no stack.

    Raises:
        PayloadError: there are too many levels or values.
    """
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        held: list[object] = []
        for item in level:
            if isinstance(item, (dict, list)):
                held.extend(item.values() if isinstance(item, dict) else item)
            if most is not None and count + len(held) > most:
                raise PayloadError(f"more than {most} values")
        level, count = [item for item in held if isinstance(item, (dict, list))], count + len(held)
        if not level:
            return
    raise PayloadError(f"nested deeper than {MAX_DEPTH} levels")


def as_dict(value: object) -> dict[str, Any]:
    """``value`` if it is a JSON object, else an empty one: null and nonsense read as absent."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """``value`` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    """``value`` if it is a string, else None."""
    return value if isinstance(value, str) else None


def as_word(value: object) -> str | None:
    """``value`` if it is a string with something in it, else None."""
    return as_text(value) or None


def as_whole(value: object) -> int | None:
    """``value`` if it is a whole number of either sign, else None (booleans are not numbers)."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_count(value: object) -> int | None:
    """``value`` if it is a whole number from 0 to ``MAX_COUNT``, else None (booleans are not numbers)."""
    amount = as_amount(value)
    return int(amount) if amount is not None and amount == int(amount) else None


def as_amount(value: object) -> float | None:
    """``value`` as a float if it is a number from 0 to ``MAX_COUNT``, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_COUNT:
        return None
    return float(value)


def well_formed(text: str) -> str:
    """``text`` without lone surrogates, which JSON can spell but UTF-8 cannot write. Halves of a pair that was split
    over two pieces of a stream become their character, single ones U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("\ufffd", paired)
