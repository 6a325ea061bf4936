"""Vendors' values: JSON by RFC 8259 or not at all, fields of stated kinds, and text that can be written.

Reading raises nothing but PayloadError. Python's own reader accepts NaN and Infinity, recurses without bound and fails
on long integers with an error that is not a JSON error; here all of these are one refusal with a reason.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_UNPACKED_HERE = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


def packing(headers: Mapping[str, str], head: bytes) -> str | None:
    """The coding of a body that begins with ``head``, which is no text: by its first bytes, else as declared."""
    known = next((coding for magic, coding in _MAGIC.items() if head.startswith(magic)), None)
    if known is not None or not head:
        return known
    declared = (one.strip().lower() for one in headers.get("content-encoding", "").split(","))
    return next((coding[:40] for coding in declared if coding not in _UNPACKED_HERE), None)


def packed_message(coding: str) -> str:
    """The message for a body that cannot be read for its packing."""
    return (
        f"the body is still packed with {coding}: the request asked for none ('accept-encoding: identity'), "
        "and only a single gzip or deflate is unpacked"
    )


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
        value = _quickly(text) if object_pairs_hook is None else _slowly(text, object_pairs_hook)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # What the quick reader refuses is either no JSON, of which this says why, or has a half character in it.
        value = _slowly(text, object_pairs_hook)
    if may_be_deep(text) or (most is not None and len(text) > most):
        _refuse_excess(value, most)
    return value


# What it accepts it reads as :func:`_slowly` does; tests/wire/test_payload.py holds both against each other.
_quickly = msgspec.json.Decoder().decode


def _slowly(text: str | bytes, hook: Callable[[list[tuple[str, Any]]], Any] | None) -> Any:
    """The value that the standard library's reader finds in ``text``, made strict.

    Raises:
        PayloadError: as in :func:`parse_json`, but of depth only where the reader cannot bear it.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=hook)
    except RecursionError:
        raise PayloadError(f"nested deeper than {MAX_DEPTH} levels") from None
    except PayloadError:
        raise
    except ValueError as error:
        raise PayloadError(str(error)[:300]) from None


def may_be_deep(text: str | bytes) -> bool:
    """Whether there are brackets enough; nearly always there are not, and nothing need be walked."""
    # Nested so deep, it has two for each level.
    if len(text) <= 2 * MAX_DEPTH:
        return False
    if isinstance(text, str):
        return text.count("{") + text.count("[") > MAX_DEPTH
    # Bytes may be UTF-16, where a bracket is the same byte next to a zero.
    return text.count(b"{") + text.count(b"[") > MAX_DEPTH


def _refuse_constant(word: str) -> NoReturn:
    raise PayloadError(f"{word} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise PayloadError(f"number out of range: {text[:40]}")
    return value


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
    # Nearly always it is one of these two.
    if value is None:
        return None
    if type(value) is int:
        return value if 0 <= value <= MAX_COUNT else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_COUNT:
        return None
    return int(value) if value == int(value) else None


def as_amount(value: object) -> float | None:
    """``value`` as a float if it is a number from 0 to ``MAX_COUNT``, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_COUNT:
        return None
    return float(value)


def well_formed(text: str) -> str:
    """``text`` without lone surrogates, which JSON can spell but UTF-8 cannot write.

    Halves that stand next to each other (a pair split over two pieces of a stream) become their character, single ones
    U+FFFD.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("\ufffd", paired)
