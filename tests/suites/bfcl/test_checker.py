"""The checker beyond the recorded verdicts (`tests/oracles`): what it refuses, and hostile values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.suites.bfcl import check
from vendor_verifier.suites.bfcl.literals import read_java, read_javascript

ORACLES = Path(__file__).parents[2] / "oracles" / "bfcl_rows.jsonl"
ROWS = [row for line in ORACLES.read_text(encoding="utf-8").splitlines() if (row := json.loads(line))["answer"]]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("category", "language", "error"),
    [("multi_turn_base", "python", UsageError), ("simple", "ruby", UsageError), ("simple", "python", DataError)],
)
def test_refuses_what_it_cannot_judge(category: str, language: Any, error: type[Exception]) -> None:
    """A multi-turn category, an unknown language, a row without the answer that it needs."""
    with pytest.raises(error):
        check([], [{"f": {}}], None, category=category, language=language)


@given(st.sampled_from(ROWS), JSON)
def test_no_value_makes_a_good_row_crash(row: dict[str, Any], value: Any) -> None:
    """Whatever JSON a vendor sends, there is a verdict, or the row's own data is at fault."""
    (name, accepted), *_ = row["answer"][0].items()
    calls = [{name.replace(".", "_"): dict.fromkeys(accepted, value) if isinstance(accepted, dict) else {}}]
    try:
        found = check(row["functions"], calls, row["answer"], category=row["category"], language=row["language"])
    except DataError:
        return
    assert found.valid or found.error_type


@pytest.mark.parametrize(
    ("language", "kind", "source"),
    [
        ("java", "HashMap", 'new HashMap<>()} new HashMap<>(){' + " " * 1_900),
        ("java", "HashMap", 'new HashMap<>() {{ put("a", 1);' + " " * 1_900 + "x }}"),
        ("java", "HashMap", "new HashMap<>() {{ " + 'put("",' * 270 + "}}"),
        ("java", "ArrayList", "new ArrayList<>() {{" + " " * 1_900 + "}"),
        ("javascript", "array", "[" + "[a]," * 450),
        ("javascript", "array", "[[" + "a],[" * 450),
        ("javascript", "dict", "{" + "a" * 1_900 + "}"),
        ("javascript", "dict", "{a:" + " , " * 600 + "}"),
    ],
)  # fmt: skip
def test_no_source_takes_long_to_read(language: str, kind: str, source: str) -> None:
    """Patterns that a vendor's text is matched against do not run away."""
    # A pattern that runs away never ends, and the time limit of the test stops it.
    (read_java if language == "java" else read_javascript)(source, kind)
