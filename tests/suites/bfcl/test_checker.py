"""The checker against verdicts that bfcl_eval's own checker gave on rows of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.suites.bfcl import Verdict, check
from vendor_verifier.suites.bfcl.categories import SINGLE_TURN, language_of
from vendor_verifier.values.sample import Sample

HERE = Path(__file__).parent


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


CASES = read("cases.jsonl")
TRAPS = read("traps.jsonl")


def verdict_on(row: dict[str, Any], mode: str = "compat") -> Verdict:
    return check(
        row["functions"],
        row["calls"],
        row["answer"],
        category=row["category"],
        language=row["language"],
        underscore_to_dot=row.get("underscore_to_dot", True),
        mode=mode,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("category", SINGLE_TURN)
def test_agrees_with_upstream(category: str, shipped_rows: dict[str, Sample]) -> None:
    """On every case of this category the verdict and the error type are upstream's."""
    cases = [case for case in CASES if shipped_rows[case["row"]].expected["category"] == category]
    assert len(cases) >= 20
    for case in cases:
        expected = shipped_rows[case["row"]].expected
        found = check(
            expected["functions"],
            case["calls"],
            expected["answer"],
            category=category,
            language=language_of(category),
        )
        assert (found.valid, found.error_type) == (case["valid"], case["error_type"]), case


def test_there_are_enough_cases_of_every_kind() -> None:
    """The cases hold right answers and every kind of error the leaderboard tells apart by hand-made calls."""
    kinds = {case["error_type"] for case in CASES}
    assert len(CASES) >= 300
    assert len(kinds) >= 18
    assert sum(case["valid"] for case in CASES) >= 100


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap["name"])
def test_trap(trap: dict[str, Any]) -> None:
    """A known oddity of upstream is copied, and a row on which it crashes is a data error that says so."""
    if trap.get("crash"):
        with pytest.raises(DataError, match="the row cannot be checked"):
            verdict_on(trap)
        return
    found = verdict_on(trap)
    assert (found.valid, found.error_type) == (trap["valid"], trap["error_type"])
    assert found.valid or found.error


# Traps in which strict is meant to differ from upstream, with the verdict it gives.
STRICT_DIFFERS = {
    "greedy_matching_fails_a_perfect_reply": True,
    "optional_parameter_the_answer_omits_is_unexpected_even_at_its_default": True,
    "irrelevance_malformed_call_counts_as_not_called": False,
}


@pytest.mark.parametrize("trap", [trap for trap in TRAPS if not trap.get("crash")], ids=lambda trap: trap["name"])
def test_strict_differs_only_where_it_says(trap: dict[str, Any]) -> None:
    """Strict gives upstream's verdict on every trap but the three it is there to mend."""
    assert verdict_on(trap, "strict").valid is STRICT_DIFFERS.get(trap["name"], trap["valid"])


def weather(**default: Any) -> list[dict[str, Any]]:
    unit = {"type": "string", **default}
    properties = {"place": {"type": "string"}, "unit": unit, "days": {"type": "integer", "default": 1}}
    return [{"name": "weather", "parameters": {"type": "dict", "properties": properties, "required": ["place"]}}]


@pytest.mark.parametrize(
    ("arguments", "answer", "valid"),
    [
        ({"place": "Oslo", "days": 1}, {"place": ["Oslo"]}, True),
        ({"place": "Oslo", "days": True}, {"place": ["Oslo"]}, False),
        ({"place": "Oslo", "days": 1.0}, {"place": ["Oslo"]}, False),
        ({"place": "Oslo", "days": 2}, {"place": ["Oslo"]}, False),
        ({"place": "Oslo"}, {"place": ["Oslo"], "days": [1]}, True),
        ({"place": "Oslo"}, {"place": ["Oslo"], "days": [2]}, False),
        ({"place": "Oslo", "days": 1}, {"place": ["Oslo"], "days": ["", 2]}, True),
        ({"place": "Oslo", "days": 1}, {"place": ["Oslo"], "days": [2]}, False),
        ({"place": "Oslo", "unit": "c"}, {"place": ["Oslo"]}, True),
        ({"place": "Oslo", "unit": "f"}, {"place": ["Oslo"]}, False),
    ],
)
def test_strict_takes_a_default_as_said(arguments: dict[str, Any], answer: dict[str, Any], valid: bool) -> None:
    """In strict mode a documented default said aloud equals silence, where silence is right, and the other way."""
    calls = [{"weather": arguments}]
    found = check(
        weather(default="c"), calls, [{"weather": answer}], category="simple", language="python", mode="strict"
    )
    assert found.valid is valid


def test_java_default_is_compared_with_its_source_text() -> None:
    """A default of a Java row is a value, the argument its source text; strict compares them all the same."""
    document = {
        "name": "open",
        "parameters": {"properties": {"lock": {"type": "boolean", "default": True}}, "required": []},
    }
    found = check(
        [document], [{"open": {"lock": "true"}}], [{"open": {}}], category="java", language="java", mode="strict"
    )
    assert found.valid


def test_multi_turn_has_no_place_here() -> None:
    """A multi-turn category is refused, as nothing here can judge it."""
    with pytest.raises(UsageError, match="state"):
        check([], [], None, category="multi_turn_base", language="python")


def test_ast_row_without_answer_is_a_data_error() -> None:
    """A row that expects certain calls but has none to compare with is the data's fault."""
    with pytest.raises(DataError):
        check(weather(), [{"weather": {}}], None, category="simple", language="python")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from([trap for trap in TRAPS if not trap.get("crash") and trap["answer"]]), JSON)
def test_no_value_of_a_vendor_makes_a_good_row_crash(trap: dict[str, Any], value: Any) -> None:
    """Whatever JSON a vendor sends, a checkable row gives a verdict or blames its own data, and nothing else."""
    calls = [
        {name: dict.fromkeys(arguments, value)}
        for call in trap["calls"][:1]
        for name, arguments in call.items()
        if isinstance(arguments, dict)
    ]
    try:
        found = verdict_on({**trap, "calls": calls})
    except DataError:
        return
    assert found.valid or found.error_type


@given(
    st.permutations([1, 2, 3, 4]), st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=4, max_size=4)
)
def test_strict_matching_is_optimal_and_blind_to_order(order: list[int], accepted: list[list[int]]) -> None:
    """Strict accepts exactly when some assignment works, and what compat accepts strict accepts."""
    from itertools import permutations

    function = {"name": "g", "parameters": {"properties": {"x": {"type": "integer"}}, "required": ["x"]}}
    calls = [{"g": {"x": number}} for number in order]
    answer = [{"g": {"x": options}} for options in accepted]
    strict = check([function], calls, answer, category="parallel", language="python", mode="strict").valid
    compat = check([function], calls, answer, category="parallel", language="python").valid
    assert strict == any(
        all(number in options for number, options in zip(tried, accepted, strict=True)) for tried in permutations(order)
    )
    assert strict or not compat


@pytest.mark.parametrize("wrong", [{"mode": "lenient"}, {"language": "ruby"}])
def test_a_mode_or_language_that_does_not_exist_is_refused(wrong: dict[str, Any]) -> None:
    """A misspelled mode would give another mode's verdicts, a misspelled language a bare KeyError."""
    document = {"name": "f", "parameters": {"type": "dict", "properties": {"n": {"type": "integer"}}, "required": []}}
    given: dict[str, Any] = {"category": "simple", "language": "python", **wrong}
    with pytest.raises(UsageError, match="mode is one of"):
        check([document], [{"f": {"n": 1}}], [{"f": {"n": [1]}}], **given)
