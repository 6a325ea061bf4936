"""The three evaluators on texts and names: the pages' examples and what the originals read, count and crash on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier import EvalTestCase, ToolCorrectnessMetric, evaluate
from vendor_verifier.suites import mcp_toolbench, tool_correctness, toolbench
from vendor_verifier.suites.calls import mcp_calls_in_text, read_call, read_calls

NO_CALLS = {"resolved": False, "error": "Could not extract tool calls from solution"}


def call(name: Any, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


def written(answer: Any) -> Any:
    return answer if isinstance(answer, str) or answer is None else json.dumps(answer)


def tools(expected: Any, answer: Any) -> dict[str, Any]:
    truth = [call(name) for name in expected] if isinstance(expected, str) else expected
    return toolbench.evaluate({"ground_truth": truth}, written(answer))


def mcp(label: Any, answer: Any) -> dict[str, Any]:
    return mcp_toolbench.evaluate({"function_call_label": label}, written(answer))


def test_a_hostile_text_full_of_fences_is_read_in_no_time() -> None:
    assert tools("a", "x```\n" * 400_000) == NO_CALLS


CRASHES = [None, "[" * 9999, "[" + "1" * 4301 + "]", [{"name": []}], '```json\n[1, {"name": "a"}]\n```']


@pytest.mark.parametrize("answer", [*CRASHES, [{"name": "a", "parameters": "{}"}], {"tool_calls": 5}])
def test_what_crashes_an_original_is_unresolved(answer: Any) -> None:
    found = mcp([call("a", x=1)], answer)
    assert found["resolved"] is False
    assert found.get("error") or found["details"] == "Agent made no tool calls"
    if answer in CRASHES:
        assert tools("a", answer)["error"]


@pytest.mark.parametrize("truth", [None, [], [{"parameters": {}}], ["a", 1], 5, "["])
def test_a_row_without_readable_truth_is_an_error(truth: Any) -> None:
    for found in (tools(truth, "?"), mcp(truth, "?")):
        assert (set(found), found["resolved"]) == ({"resolved", "error"}, False)
    assert tools(None, "?")["error"] == "No ground truth available"
    assert mcp([], "?")["error"] == "No ground truth function calls provided for evaluation"


@pytest.mark.parametrize(
    ("label", "answered", "selection", "accuracy", "resolved"),
    [
        # Spellings that only a wire has, and tools that would do as well.
        ([{**call("a", x=1), "similar_tools": [{"name": "b"}]}], [call("b", x=1)], 0.0, 0.0, False),
        ([call("a", x=1)], [{"name": "a", "arguments": {"x": 1}}], 1.0, 0.0, False),
        ([call("a", x=1)], [{"function": {"name": "a", "arguments": {"x": 1}}}], 0.0, 0.0, False),
        ([call("a", x=1)], {"tool_calls": [call("a", x=1)]}, 1.0, 1.0, True),
        # The quirks of the original, by the sensible rule.
        ([call("a")], [call("a")], 1.0, None, True),
        ([call("a", x=1), call("a", x=2)], [call("a", x=2), call("a", x=1)], 1.0, 1.0, True),
        ([call("a", x=1), call("a", x=1, y=2)], [call("a", x=1, y=2), call("a", x=1)], 1.0, 1.0, True),
        ([call("a", x=None)], [call("a")], 1.0, 0.0, False),
        ([{"name": "a", "input": {"x": 1}}], [call("a", x=1)], 1.0, 1.0, True),
        # The fallback that the page promises for a text that is not JSON.
        ([call("a", x=1)], '```json\n[{"name": "a", "parameters": {"x": 1}}]\n```', 1.0, 1.0, True),
        ([call("a", x=1, y=True)], "I call a(x=1, y=true), yes: a(x=1, y=true).", 1.0, 1.0, True),
    ],
)
def test_mcptoolbench_rows(label: Any, answered: Any, selection: float, accuracy: float | None, resolved: bool) -> None:
    found = mcp(label, answered)
    assert found["tool_selection_accuracy"] == selection
    assert found["parameter_accuracy"] == accuracy
    assert found["resolved"] is resolved


@pytest.mark.parametrize("prose", ["a(1)", "a(**{'x': 1})", "a(x=open)", "a(x=" + "-" * 1900 + "1)"])
def test_written_calls_are_never_run(prose: str) -> None:
    (found,) = mcp_calls_in_text(f"So {prose}.", {"a"})
    assert found.problem


@pytest.mark.parametrize(
    ("wanted", "given", "equal"),
    [
        (1, 1.0, True), (1, True, False), (0, False, False), ([1], [True], False), ("1", 1, False),
        ([1, 2], [2, 1], False),
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ("a", "A", False),
        ([{"k": 1}], [{"k": 1}, {"k": 1}], False), ([{"k": 1}], [{"k": 1, "l": 1}], False), (None, 0, False),
        ("2024-01-01", "2024-1-1", False), (9007199254740993, 9007199254740992.0, False), ({}, [], False),
    ],
)  # fmt: skip
def test_which_values_are_equal(wanted: Any, given: Any, equal: bool) -> None:
    """A list of objects is as long as the one expected."""
    assert mcp([call("a", x=wanted)], [call("a", x=given)])["resolved"] is equal


@pytest.mark.parametrize(
    "spelled",
    [
        {"name": "a", "parameters": {"x": 1}}, {"name": "a", "arguments": '{"x": 1}'}, {"name": "a", "args": {"x": 1}},
        {"name": "a", "input": {"x": 1}}, {"function": {"name": "a", "arguments": '{"x": 1}'}},
        {"functionCall": {"name": "a", "args": {"x": 1}}},
    ],
)  # fmt: skip
def test_calls_of_every_wire_are_read(spelled: Any) -> None:
    """Of a label and of an API; the text of an answer is read as the originals read it."""
    assert (read_call(spelled).name, read_call(spelled).parameters) == ("a", {"x": 1})
    assert read_calls(json.dumps([spelled]))[0].parameters == {"x": 1}


HOTEL = EvalTestCase(
    input="Search for hotels in Paris and book the cheapest one.",
    actual_output="I found and booked Hotel Le Marais for $120/night.",
    tools_called=["search_hotels", "sort_by_price", "book_hotel"],
    expected_tools=["search_hotels", "book_hotel"],
)


def test_the_pages_usage() -> None:
    """Its last line as printed, and what printing shows."""
    metric = ToolCorrectnessMetric(threshold=0.5)
    results = asyncio.run(evaluate([HOTEL], [metric]))
    assert "score=1.0, success=True" in str(results)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "parameters", "function", "tool_calls"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(deadline=None)  # the machine may be busy
@given(ANY_JSON, ANY_JSON)
def test_no_evaluator_raises_on_any_json(expected: Any, answer: Any) -> None:
    for found in (tools([expected], json.dumps(answer)), mcp(expected, json.dumps(answer))):
        assert found["resolved"] in (True, False)
        json.dumps(found)
    for options in ({}, {"exact_match": True}, {"check_ordering": True}):
        assert 0.0 <= tool_correctness.score(expected, answer, **options).score <= 1.0
