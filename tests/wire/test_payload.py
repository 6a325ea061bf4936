"""JSON by RFC 8259: what Python's reader would let through or die of is one refusal here."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire import payload
from vendor_verifier.wire.payload import MAX_DEPTH, PayloadError, as_count, parse_json, well_formed

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text",
    [
        "NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "-1e999", "1" * 10_000, "", " ", "{", '{"a":1}{"b":2}',
        '{"a":1} trailing', "```json\n{}\n```", "{'a': 1}", '{"a": 1,}', '"\n"', "\ufeff{}", b"\xff\xfe\xfd",
        b'{"a": "\xff"}', "[" * 100_000,
    ],
)  # fmt: skip
def test_refused(text: str | bytes) -> None:
    """NaN, infinities, endless numbers, trailing text, fences and bad bytes are all PayloadError."""
    with pytest.raises(PayloadError):
        parse_json(text)


def test_depth_limit_is_exact() -> None:
    """The deepest allowed value is read, one level more is not."""
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    with pytest.raises(PayloadError, match="nested deeper"):
        parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


_NUMBERS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]), st.integers(0, 10**40),
    st.just("") | st.integers(0, 10**40).map(".{}".format), st.just("") | st.integers(-999, 9999).map("e{}".format),
)  # fmt: skip
_PIECES = st.sampled_from([
    *'{}[],:" \t\n', '"a":', '"a"', "\\", '\\"', "\\ud83d", "\\ude00", "\\u0000", "\x00", "true", "null", "NaN",
    "ü", "\ufeff",
])  # fmt: skip


@given(JSON.map(json.dumps) | _NUMBERS | st.lists(_PIECES | _NUMBERS, max_size=12).map("".join))
def test_the_quick_reader_reads_nothing_else(text: str) -> None:
    """What the quick reader takes is to the last digit what the standard library reads, as text and as bytes."""
    for each in (text, text.encode()):
        try:
            quickly = payload._read_quickly(each)
        except (ValueError, RecursionError):
            continue
        assert repr(quickly) == repr(payload._read_slowly(each, None))


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0), (-0.0, 0), (7, 7), (7.0, 7), (7.5, None), (-1, None), (True, None), ("7", None), (None, None),
        (10**400, None), (float("inf"), None), (float("nan"), None),
    ],
)  # fmt: skip
def test_counts(value: object, count: int | None) -> None:
    """A count is a whole number in range; zero is a count, absence is not."""
    assert as_count(value) == count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain 😀", "plain 😀"), ("\ud800", "\ufffd"), ("a\ud83d\ude00b", "a😀b"), ("\ude00\ud83d", "\ufffd\ufffd"),
        ("a\ud800b", "a\ufffdb"),
    ],
)  # fmt: skip
def test_well_formed(text: str, expected: str) -> None:
    """Split pairs are joined, lone halves replaced, everything else left alone."""
    assert well_formed(text) == expected


def test_values_are_counted() -> None:
    """As many as allowed are read, one more is refused, wherever they stand; marks in texts are none."""
    for text in ("[1,2,3]", '{"a":[1],"b":2}', '["[,,,,{{{{", 1, 2]'):
        assert parse_json(text, most=3) is not None
        with pytest.raises(PayloadError, match="more than 2 values"):
            parse_json(text, most=2)
