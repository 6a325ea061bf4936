"""What must hold of every strict scorer, whatever the expectation and the answer."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.suites import mcp_toolbench, tool_correctness, toolbench
from vendor_verifier.suites.tool_calls.calls import read_call

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "parameters", "input", "function", "tool_calls", "x"]), inner, max_size=3
        )
    ),
    max_leaves=10,
)
VALUES = st.none() | st.booleans() | st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=2)
PARAMETERS = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)
CALLS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abc"), "parameters": PARAMETERS}), max_size=5)
SOME_CALLS = CALLS.filter(bool)
SCORES = ("tool_selection_accuracy", "parameter_accuracy", "precision", "parameter_precision")


def both(expected: Any, answer: Any) -> list[dict[str, Any]]:
    task = {"ground_truth": expected, "function_call_label": expected}
    solution = json.dumps(answer)
    return [toolbench.evaluate(task, solution), mcp_toolbench.evaluate(task, solution)]


def names(calls: list[dict[str, Any]]) -> list[str]:
    return [call["name"] for call in calls]


@settings(deadline=None)  # the machine may be busy
@given(ANY_JSON, ANY_JSON)
def test_strict_never_raises_on_any_json(expected: Any, answer: Any) -> None:
    """There is always a verdict, and everything in it is JSON with scores in [0, 1]."""
    for result in both(expected, answer):
        assert result["resolved"] in (True, False)
        json.dumps(result)
        for key in SCORES:
            assert result.get(key) is None or 0.0 <= result[key] <= 1.0


@settings(deadline=None)  # the machine may be busy
@given(ANY_JSON, ANY_JSON)
def test_tool_correctness_never_raises_on_any_json(expected: Any, called: Any) -> None:
    """There is always a score in [0, 1] with a reason."""
    for options in ({}, {"exact_match": True}, {"check_ordering": True}):
        result = tool_correctness.score(expected, called, **options)
        assert 0.0 <= result.score <= 1.0
        assert result.reason


@settings(deadline=None)  # the machine may be busy
@given(ANY_JSON, st.text(max_size=5))
def test_strict_filters_never_raise_on_any_row(row: Any, word: str) -> None:
    """Odd fields match nothing and break nothing."""
    rows = [{"difficulty": row, "category": row, "call_type": row, "tools": row, "id": row, "uuid": row}]
    for module in (toolbench, mcp_toolbench):
        for filters in ({"difficulty": [word]}, {"category": [word]}, {"tags": [word]}, {"task_ids": [word]}):
            assert len(module.filter_tasks(rows, **filters)) <= 1


@settings(deadline=None)  # the machine may be busy
@given(SOME_CALLS)
def test_a_perfect_answer_resolves(expected: list[dict[str, Any]]) -> None:
    """Also without parameters, with nulls and with repeated tools; every score that applies is 1."""
    for result in both(expected, expected):
        assert result["resolved"] is True
        assert {result[key] for key in SCORES if result.get(key) is not None} == {1.0}
    for options in ({}, {"exact_match": True}, {"check_ordering": True}):
        assert tool_correctness.score(names(expected), names(expected), **options).score == 1.0


@settings(deadline=None)  # the machine may be busy
@given(SOME_CALLS, CALLS, PARAMETERS, st.integers(0, 5))
def test_adding_a_wrong_call_never_raises_precision(
    expected: list[dict[str, Any]], answer: list[dict[str, Any]], parameters: dict[str, Any], at: int
) -> None:
    """Wherever a call of an unexpected tool is put in; and it never turns an unresolved sample into a resolved one."""
    more = [*answer[:at], {"name": "wrong", "parameters": parameters}, *answer[at:]]
    for before, after in zip(both(expected, answer), both(expected, more), strict=True):
        for key in ("precision", "parameter_precision"):
            if before.get(key) is not None:
                assert after[key] <= before[key]
        assert before["resolved"] or not after["resolved"]


@settings(deadline=None)  # the machine may be busy
@given(SOME_CALLS, CALLS, st.randoms(use_true_random=False))
def test_reordering_changes_only_ordering_scores(
    expected: list[dict[str, Any]], answer: list[dict[str, Any]], random: Any
) -> None:
    """Both sides may be shuffled: selection, parameters and precisions stay, and so does what needs no order."""
    shuffled, wanted = random.sample(answer, len(answer)), random.sample(expected, len(expected))
    for before, after in zip(both(expected, answer), both(wanted, shuffled), strict=True):
        assert {key: before.get(key) for key in SCORES} == {key: after.get(key) for key in SCORES}
    assert both(expected, answer)[1]["resolved"] == both(wanted, shuffled)[1]["resolved"]
    for options in ({}, {"exact_match": True}):
        scores = [
            tool_correctness.score_calls(list(map(read_call, one)), list(map(read_call, other)), **options).score
            for one, other in ((expected, answer), (wanted, shuffled))
        ]
        assert scores[0] == scores[1]
        assert (
            tool_correctness.score(names(expected), names(answer), **options).score
            == tool_correctness.score(names(wanted), names(shuffled), **options).score
        )


@settings(deadline=None)  # the machine may be busy
@given(CALLS, CALLS)
def test_parameters_never_raise_a_score_of_names(expected: list[dict[str, Any]], answer: list[dict[str, Any]]) -> None:
    """Looking closer finds faults, not merits."""
    one, other = list(map(read_call, expected)), list(map(read_call, answer))
    for options in ({}, {"exact_match": True}, {"check_ordering": True}):
        by_name = tool_correctness.score(names(expected), names(answer), **options).score
        assert tool_correctness.score_calls(one, other, **options).score <= by_name + 1e-12
