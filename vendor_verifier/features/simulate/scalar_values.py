"""Numbers and strings within a schema's limits, patterns included; of contradicting limits the lower one counts.

Theory of operation: the pattern is parsed into alternatives of repeated atoms (a set of characters, or a group), then
walked once with a generator. Anchors are dropped: what is produced is exactly one match, so they hold by
themselves, but for word boundaries within a word. Steps are counted, so that nested repetitions cannot run away.
"""

from __future__ import annotations

import math
import random
import string
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from vendor_verifier.wire.payload import as_count

_MAX_PATTERN = 1000
_MAX_NESTING = 40
_MAX_STEPS = 4000
_LETTERS = string.ascii_letters
_PRINTABLE = string.digits + string.ascii_letters + string.punctuation + " "
_CLASSES = {
    "d": string.digits,
    "w": string.ascii_lowercase + string.digits + "_",
    "s": " ",
    "D": _LETTERS,
    "W": "-. ",
    "S": string.ascii_lowercase + string.digits,
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_DIGITS_OF_CODE = {"x": 2, "u": 4}


class UnsupportedPattern(ValueError):
    """The pattern uses something this module does not produce."""


class _Repeat(msgspec.Struct, frozen=True):
    """``low`` to ``high`` (None = unbounded) times a character out of ``chars`` or one of the ``group``'s branches."""

    chars: str
    group: tuple[tuple[_Repeat, ...], ...] | None
    low: int
    high: int | None


def matching_string(pattern: str, dice: random.Random, min_length: int = 0, max_length: int | None = None) -> str:
    """A match of ``pattern``, within the lengths when a few tries find one.

    Raises:
        UnsupportedPattern: look-around, back-references, unknown escapes, or a pattern too large to walk.
    """
    if len(pattern) > _MAX_PATTERN:
        raise UnsupportedPattern("pattern too long")
    tree = _Parser(pattern).parse()
    text = ""
    for slack in (3, 0, 1, min_length, min_length, 2 * min_length, 2, 4):
        text = _Walk(dice, slack).branches(tree)
        if len(text) >= min_length and (max_length is None or len(text) <= max_length):
            break
    return text


class _Walk:
    """One production. ``slack`` is how far an unbounded repetition may go beyond its minimum."""

    def __init__(self, dice: random.Random, slack: int) -> None:
        self._dice = dice
        self._slack = slack
        self._steps = 0

    def branches(self, tree: tuple[tuple[_Repeat, ...], ...]) -> str:
        return "".join(self._repeat(item) for item in self._dice.choice(tree))

    def _repeat(self, item: _Repeat) -> str:
        high = item.low + self._slack if item.high is None else min(item.high, item.low + max(self._slack, 3))
        count = self._dice.randint(item.low, max(item.low, high))
        self._steps += count
        if self._steps > _MAX_STEPS:
            raise UnsupportedPattern("repetitions run away")
        if item.group is None:
            return "".join(self._dice.choice(item.chars) for _ in range(count))
        return "".join(self.branches(item.group) for _ in range(count))


class _Parser:
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def parse(self) -> tuple[tuple[_Repeat, ...], ...]:
        tree = self._alternatives(0)
        if self._at < len(self._text):
            raise UnsupportedPattern("unbalanced parenthesis")
        return tree

    def _alternatives(self, nesting: int) -> tuple[tuple[_Repeat, ...], ...]:
        if nesting > _MAX_NESTING:
            raise UnsupportedPattern("nested too deep")
        branches: list[tuple[_Repeat, ...]] = []
        branch: list[_Repeat] = []
        while self._at < len(self._text) and self._text[self._at] != ")":
            if self._text[self._at] == "|":
                self._at += 1
                branches.append(tuple(branch))
                branch = []
                continue
            branch += self._atom(nesting)
        return (*branches, tuple(branch))

    def _atom(self, nesting: int) -> list[_Repeat]:
        char = self._take()
        group = None
        chars = char
        if char in "^$":
            return []
        if char == "(":
            group = self._group(nesting)
        elif char == "[":
            chars = self._set()
        elif char == ".":
            chars = _LETTERS + string.digits
        elif char == "\\":
            chars = self._escape()
            if not chars:
                return []
        low, high = self._quantifier()
        return [_Repeat(chars, group, low, high)]

    def _group(self, nesting: int) -> tuple[tuple[_Repeat, ...], ...]:
        if self._peek() == "?":
            rest = self._text[self._at :]
            if rest.startswith("?:"):
                self._at += 2
            elif rest.startswith(("?P<", "?<")) and rest[2:3] not in ("=", "!"):
                self._at = self._text.find(">", self._at) + 1 or len(self._text)
            else:
                raise UnsupportedPattern("look-around or flags")
        tree = self._alternatives(nesting + 1)
        if self._take() != ")":
            raise UnsupportedPattern("unbalanced parenthesis")
        return tree

    def _set(self) -> str:
        negated = self._peek() == "^"
        if negated:
            self._at += 1
        members: list[str] = []
        first = True
        while first or self._peek() != "]":
            first = False
            chars = self._member()
            if len(chars) == 1 and self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                end = self._member()
                if len(end) != 1 or ord(end) < ord(chars) or ord(end) - ord(chars) > 0x10000:
                    raise UnsupportedPattern("bad range")
                chars = "".join(map(chr, range(ord(chars), ord(end) + 1)))
            members.append(chars)
        self._at += 1
        found = "".join(members)
        chosen = "".join(char for char in _PRINTABLE if char not in found) if negated else found
        # Ranges that reach into the surrogates cannot be encoded.
        chosen = "".join(char for char in chosen if not 0xD800 <= ord(char) <= 0xDFFF)
        if not chosen:
            raise UnsupportedPattern("empty set")
        return chosen

    def _member(self) -> str:
        char = self._take()
        return self._escape() or "\b" if char == "\\" else char

    def _escape(self) -> str:
        """Characters an escape stands for; "" for a word boundary."""
        char = self._take()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _DIGITS_OF_CODE:
            return self._code(_DIGITS_OF_CODE[char])
        if char in "pP":
            name = self._text[self._at : self._at + 3]
            if char == "p" and name == "{L}":
                self._at += 3
                return _LETTERS
            raise UnsupportedPattern("unicode property")
        if char in "bBAZz":
            return ""
        if char.isalnum():
            raise UnsupportedPattern(f"escape {char}")
        return char

    def _code(self, digits: int) -> str:
        text = self._text[self._at : self._at + digits]
        if len(text) < digits or any(char not in string.hexdigits for char in text):
            raise UnsupportedPattern("bad character code")
        self._at += digits
        return chr(int(text, 16))

    def _quantifier(self) -> tuple[int, int | None]:
        char = self._peek()
        low: int
        high: int | None
        if char in ("*", "+", "?"):
            self._at += 1
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        elif char == "{" and (end := self._text.find("}", self._at)) > 0:
            first, comma, second = self._text[self._at + 1 : end].partition(",")
            if not (first.isascii() and first.isdigit() and len(first) < 6) or not (second.isdigit() or not second):
                raise UnsupportedPattern("bad repetition")
            self._at = end + 1
            low = int(first)
            high = (int(second[:6]) if second else None) if comma else low
        else:
            return 1, 1
        if self._peek() in ("?", "+"):
            self._at += 1
        return low, high

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise UnsupportedPattern("pattern ends too early")
        self._at += 1
        return char


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
