"""Rows whose tools were read before are what the reader of whole lines makes of them, wrong ones included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vendor_verifier.errors import Problem
from vendor_verifier.loaders import base
from vendor_verifier.loaders.base import Row, read_rows
from vendor_verifier.loaders.building import read_question
from vendor_verifier.loaders.declared_tools import DeclaredTools, QuickRows

FILE = Path("x.jsonl")
_TEXTS = st.sampled_from(
    ['"a"', '"\\u0061"', '"\\""', '"\\\\"', '"tools"', '"ü"', '"\\ud83d"', '"\\ud83d\\ude00"', '"\u2028"', '"\x00"']
)
_OTHERS = [
    "1",
    "1.0",
    "-0",
    "1e400",
    "01",
    "NaN",
    "9" * 30,
    "null",
    "true",
    "[]",
    "{}",
    "[{}]",
    "",
    "[" * 190 + "]" * 190,
]
_VALUES = st.recursive(
    _TEXTS | st.sampled_from(_OTHERS),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: "[" + ", ".join(parts) + "]")
        | st.lists(st.tuples(_TEXTS, inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=6,
)
_KEYS = st.sampled_from(['"tools"', '"messages"', '"\\u0074ools"', '"a"', '"\\u0061"'])
_LINES = st.lists(st.tuples(_KEYS, _VALUES), max_size=4).map(
    lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
)


def _plainly(number: int, content: bytes) -> Row | Problem:
    """The row of a line as the reader of whole lines has it."""
    try:
        return base._row(number, content)
    except base._Unreadable as problem:
        return Problem(str(problem), FILE, number, problem.key)


def _shown(row: Row | Problem) -> object:
    """What tells rows apart, with the order of keys and the kinds of numbers."""
    return (json.dumps(row.fields), row.line, row.repeated) if isinstance(row, Row) else row


@given(st.lists(_LINES, max_size=3), st.sampled_from([b"", b" ", b"}", b"\xff", b"\xed\xa0\x80"]))
@example(['{"tools": ' + "[" * 199 + "]" * 199 + "}", '{"tools": ' + "[" * 200 + "]" * 200 + "}"], b"")
@example(['{"tools": [{"a": 1, "a": 2}], "a": 1}', '{"tools": [], "tools": [1]}'], b"")
def test_every_line_is_read_as_without_what_was_read_before(lines: list[str], end: bytes) -> None:
    """Each line twice, so that the second time its tools are known."""
    contents = [line.encode("utf-8", "surrogatepass") + end for line in lines] * 2
    read = list(read_rows(contents, FILE))
    assert list(map(_shown, read)) == [_shown(_plainly(at, line)) for at, line in enumerate(contents, 1)]


@pytest.mark.parametrize("cut", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc3"'])
def test_tools_that_are_no_utf8_are_left_to_the_reader_of_lines(cut: bytes) -> None:
    """Bytes that are no character, half a character written out, and a character cut short."""
    content = b'{"messages": [], "tools": [' + cut + b"]}"
    assert QuickRows().read(content) is None
    assert isinstance(_plainly(1, content), Problem)


def test_equal_texts_of_tools_are_one_object_that_is_checked_once() -> None:
    """And turns hold the same tools; others are others."""
    tools = [{"type": "function", "function": {"name": "f"}}, 1]
    lines = [
        json.dumps({"messages": [{"role": "user", "content": str(at)}], "tools": [*tools, at // 2]}).encode()
        for at in range(4)
    ]
    rows = [row for row in read_rows(lines, FILE) if isinstance(row, Row)]
    first, second, third, fourth = (row.fields["tools"] for row in rows)
    assert isinstance(first, DeclaredTools)
    assert first is second
    assert third is fourth
    assert first is not third
    questions = [read_question(row.fields) for row in rows]
    assert questions[0].turn.tools is questions[1].turn.tools
    assert questions[0].turn.tools is not questions[2].turn.tools
    alone = [read_question(json.loads(line)) for line in lines]
    assert questions == alone
    assert questions[0].defects
