"""Java and JavaScript source text, above all that no text makes the reading explode."""

from __future__ import annotations

import re
from functools import partial

import pytest
from costs import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.suites.bfcl.literals import _grid_end, read_java, read_javascript
from vendor_verifier.suites.bfcl.verdict import fold

# The leaderboard's own pattern for arrays of arrays; exponential on some inputs, so only short ones are compared.
GRID = re.compile(r"\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|\bnew\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\)")


@given(
    st.text(alphabet="[],a \n", max_size=14).map(lambda text: f"[[{text}")
    | st.text(alphabet="[],)1 ", max_size=12).map(lambda text: f"new Array([{text}")
)
def test_grids_end_where_upstreams_pattern_ends(source: str) -> None:
    """The walk without repeated work ends an array of arrays exactly where the pattern does, or also finds none."""
    found = GRID.match(source)
    assert _grid_end(source) == (found.end() if found else None)


@pytest.mark.parametrize(
    ("language", "type_name", "begins", "goes_on"),
    [
        ("javascript", "array", "[", "[1],"),
        ("javascript", "array", "new Array(", "[1], "),
        ("javascript", "dict", "{", "a: 1, "),
        ("java", "HashMap", "new HashMap<>() {{", "    "),
        ("java", "ArrayList", "new ArrayList<>() {{", "    "),
        ("java", "Array", "new int[] {", " , "),
    ],
)
def test_hostile_text_is_read_in_linear_time(language: str, type_name: str, begins: str, goes_on: str) -> None:
    """Text on which a naive pattern needs years takes twice as long when there is twice as much of it."""
    read = read_java if language == "java" else read_javascript
    assert_linear(lambda size: partial(read, begins + goes_on * size, type_name, "integer"), 1_000)


@given(st.text())
def test_any_text_is_read_as_something(source: str) -> None:
    """No text makes a reader raise, whatever the type."""
    for name in ("byte", "long", "float", "double", "boolean", "char", "ArrayList", "Array", "HashMap"):
        read_java(source, name, "String")
    for name in ("String", "integer", "float", "Bigint", "Boolean", "array", "dict", "any"):
        read_javascript(source, name, "dict")


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    """Folding is idempotent and deletes exactly its eight characters."""
    assert fold(fold(text)) == fold(text) or text.lower().lower() != text.lower()
    assert not set(" ,./-_*^'") & set(fold(text))
