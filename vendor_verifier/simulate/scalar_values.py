"""Numbers and strings within a schema's limits; limits that contradict each other get the lower one."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from vendor_verifier.simulate.pattern import UnsupportedPattern, matching_string
from vendor_verifier.wire.payload import as_count

_MAX_LENGTH = 4096
_USUAL_SPAN = 40
_MAX_BITS = 2048
_FORMATS: Mapping[str, tuple[str, ...]] = {
    "date": ("2026-03-14", "2025-11-02", "2026-07-30"),
    "date-time": ("2026-03-14T09:30:00Z", "2025-11-02T18:05:00+01:00"),
    "time": ("09:30:00Z", "18:05:00Z"),
    "duration": ("PT45M", "P2D"),
    "email": ("ana.silva@example.com", "j.doe@example.org"),
    "idn-email": ("ana.silva@example.com",),
    "hostname": ("status.example.com",),
    "idn-hostname": ("status.example.com",),
    "ipv4": ("192.0.2.17", "198.51.100.4"),
    "ipv6": ("2001:db8::17",),
    "uri": ("https://example.com/reports/17", "https://example.org/a?b=1"),
    "url": ("https://example.com/reports/17",),
    "iri": ("https://example.com/reports/17",),
    "uri-reference": ("/reports/17",),
    "iri-reference": ("/reports/17",),
    "uri-template": ("https://example.com/{id}",),
    "uuid": ("3f2b8c1e-5d47-4a09-9b6e-0c1d2e3f4a5b",),
    "json-pointer": ("/items/0",),
    "relative-json-pointer": ("1/items",),
    "regex": ("^[a-z]+$",),
}


def make_string(schema: Mapping[str, Any], dice: random.Random, words: Sequence[str]) -> str:
    """A string by ``format``, ``pattern`` and lengths, otherwise one to three of ``words``."""
    low = min(as_count(schema.get("minLength")) or 0, _MAX_LENGTH)
    high = as_count(schema.get("maxLength"))
    pattern = schema.get("pattern")
    known = _FORMATS.get(schema["format"]) if isinstance(schema.get("format"), str) else None
    if isinstance(pattern, str) and (known is None or dice.random() < 0.5):
        try:
            return matching_string(pattern, dice, low, high)
        except UnsupportedPattern:
            pass
    if known is not None:
        return dice.choice(known)
    text = " ".join(dice.choice(words) for _ in range(dice.randint(1, 3))) if words else "value"
    while len(text) < low:
        text += " " + (dice.choice(words) if words else "more")
    return text if high is None else text[: max(high, 0)]


def make_number(schema: Mapping[str, Any], dice: random.Random, *, whole: bool) -> int | float:
    """A number within the limits, a multiple of ``multipleOf``; near the lower limit where the range is open."""
    low, low_open = _limit(schema, "minimum", "exclusiveMinimum", max)
    high, high_open = _limit(schema, "maximum", "exclusiveMaximum", min)
    step = _fraction(schema.get("multipleOf"))
    if step is None or step <= 0:
        step = Fraction(1) if whole else _grid(low, high)
    elif whole and step.denominator != 1:
        step = Fraction(step.numerator)
    if low is None:
        low = (high if high is not None and high < 1 else Fraction(1)) - (_USUAL_SPAN * step if high is not None else 0)
    first = math.ceil(low / step)
    if low_open and first * step == low:
        first += 1
    last = first + _USUAL_SPAN
    if high is not None:
        last = min(last, math.floor(high / step))
        if high_open and last * step == high:
            last -= 1
    return _plain(dice.randint(first, max(first, last)) * step, whole=whole)


def _limit(schema: Mapping[str, Any], closed: str, strict: str, tighter: Any) -> tuple[Fraction | None, bool]:
    """The limit and whether it is exclusive; draft 4 spells "exclusive" as true beside the limit."""
    limit = _fraction(schema.get(closed))
    exclusive = schema.get(strict)
    if exclusive is True:
        return limit, True
    bound = _fraction(exclusive)
    if bound is None:
        return limit, False
    return (bound, True) if limit is None or tighter(limit, bound) == bound else (limit, False)


def _grid(low: Fraction | None, high: Fraction | None) -> Fraction:
    """The spacing of candidates for a number: halves, or finer where the range is narrow."""
    usual = Fraction(1, 2)
    if low is None or high is None or high <= low:
        return usual
    return min(usual, (high - low) / 4)


def _fraction(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return Fraction(value) if value.bit_length() <= _MAX_BITS else None
    # Through text, so that 0.1 is a tenth and its multiples come out as written.
    return Fraction(repr(value)) if math.isfinite(value) else None


def _plain(value: Fraction, *, whole: bool) -> int | float:
    if whole or (value.denominator == 1 and abs(value) > 2**53):
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return int(value)
