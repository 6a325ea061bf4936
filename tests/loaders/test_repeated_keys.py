"""Keys that occur twice in an object of a row are found, wherever they stand and however texts are spelled."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import Row, read_rows

_WORDS = st.sampled_from(["a", "b", "", '"', "\\", '\\"', '","a":"', "ü", "\n", "\u2028"])


def _spelled(word: str) -> st.SearchStrategy[str]:
    """The word as JSON, as it is or in escapes."""
    ways = [
        json.dumps(word),
        json.dumps(word, ensure_ascii=False),
        '"' + "".join(f"\\u{ord(c):04x}" for c in word) + '"',
    ]
    return st.sampled_from(ways)


def _objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(_TEXTS, values), max_size=4)
    return pairs.map(lambda found: "{" + ", ".join(f"{key}: {value}" for key, value in found) + "}")


_TEXTS = _WORDS.flatmap(_spelled)
_VALUES = st.recursive(
    _TEXTS | st.sampled_from(["1", "null", "1.5", "[]"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: "[" + ",".join(parts) + "]") | _objects(inner),
    max_leaves=8,
)


def _repeated(text: str) -> bool:
    """Whether any object of the text has a key twice, by the standard library alone."""
    found = [False]

    def look(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found[0] |= len(dict(pairs)) < len(pairs)
        return dict(pairs)

    json.loads(text, object_pairs_hook=look)
    return found[0]


@given(_objects(_VALUES))
def test_repeated_keys_are_found(text: str) -> None:
    """Where a key occurs twice the row says so, and nowhere else is anything read twice."""
    content = text.encode()
    (row,) = read_rows([content], Path("x.jsonl"))
    is_said = isinstance(row, Problem) or (isinstance(row, Row) and bool(row.repeated))
    assert is_said is _repeated(text)
