"""The three evaluators on texts and names: the pages' examples and what the originals read, count and crash on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier import EvalTestCase, ToolCorrectnessMetric, VerifierError, evaluate
from vendor_verifier.suites import mcp_toolbench, tool_correctness, toolbench
from vendor_verifier.suites.tool_calls.calls import mcp_calls_in_text, read_call, read_calls

NO_CALLS = {"resolved": False, "error": "Could not extract tool calls from solution"}
BLOCK = '```json\n[{"name": "a"}]\n```'


def call(name: Any, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


def written(answer: Any) -> Any:
    return answer if isinstance(answer, str) or answer is None else json.dumps(answer)


def tools(expected: Any, answer: Any) -> dict[str, Any]:
    truth = [call(name) for name in expected] if isinstance(expected, str) else expected
    return toolbench.evaluate({"ground_truth": truth}, written(answer))


def mcp(label: Any, answer: Any) -> dict[str, Any]:
    return mcp_toolbench.evaluate({"function_call_label": label}, written(answer))


@pytest.mark.parametrize(
    "answer", ["null", "[1]", '```json\n[{"name": "a"}]\n~~~', '~~~json\n[{"name": "a"}]\n```', BLOCK[:-4]]
)
def test_toolbench_finds_no_calls_in_other_layouts(answer: str) -> None:
    """Among them a fence that another kind of fence seems to open or close."""
    assert tools("a", answer) == NO_CALLS


@pytest.mark.parametrize("answer", [[{"type": "function", "function": {"name": "a"}}], {"tool_calls": [{"name": "a"}]}])
def test_toolbench_reads_no_wires_wrapper_in_text(answer: Any) -> None:
    assert tools("a", answer)["agent_tools"] == [""]


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


def test_a_text_full_of_written_calls_is_bounded() -> None:
    assert len(mcp_calls_in_text(" ".join(f"a(x={at})" for at in range(5000)), {"a"})) == 64


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


LABEL_EXTRAS = {
    "step": "1",
    "id": "1",
    "mcp_server": "files",
    "similar_tools": [{"name": "list_files", "mcp_server": "other"}],
    "output": {"status_code": 200, "result": {}},
}


@pytest.mark.parametrize(
    "given",
    [
        {"path": "/data"}, {"path": "/data", "depth": 2}, {"paths": ["/a", "/b"], "recursive": False},
        {"edits": [{"oldText": "a", "newText": "b"}], "dryRun": True}, {"filter": {"size": {"min": 1}}, "rate": 0.5},
    ],
)  # fmt: skip
def test_labels_as_published_are_read(given: dict[str, Any]) -> None:
    """One call with its parameters under ``input``, as a list, an object, or JSON text; the right answer resolves."""
    label = {"name": "list_directory", **LABEL_EXTRAS, "input": given}
    for spelled in ([label], label, json.dumps([label])):
        found = mcp(spelled, [call("list_directory", **given)])
        assert (found["resolved"], found["parameter_accuracy"]) == (True, 1.0)
        assert mcp(spelled, [call("list_directory")])["resolved"] is False


E = ["search", "book"]


@pytest.mark.parametrize(
    ("expected", "called", "options", "value"),
    [
        # Quirks: the page says set, and nothing expected is met by nothing.
        (E, E[::-1], {"exact_match": True}, 1.0), (E, E[::-1], {"exact_match": True, "check_ordering": True}, 0.0),
        ([], ["a"], {}, 0.0),
    ],
)  # fmt: skip
def test_tool_correctness_follows_the_sensible_rule(
    expected: Any, called: Any, options: dict[str, Any], value: float
) -> None:
    found = tool_correctness.score(expected, called, **options)
    assert (found.score, found.success) == (value, value >= 0.5)
    assert found.reason


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


def test_parameters_count_where_they_are_asked_for() -> None:
    case = {
        "tools_called": [call("f", a=1, b=3), call("g")],
        "expected_tools": [call("g"), call("f", a=1, b=2)],
    }
    metrics = [ToolCorrectnessMetric(), ToolCorrectnessMetric(compare_parameters=True)]
    (found,) = tool_correctness.evaluate([case], metrics, index=["q"])
    assert (found.index, [each.score for each in found.results]) == ("q", [1.0, 0.75])


def test_what_is_no_case_is_named_all_at_once() -> None:
    with pytest.raises(VerifierError) as caught:
        tool_correctness.evaluate([{"tools_called": []}, {"tools_called": "x", "expected_tools": [1]}, HOTEL])
    text = str(caught.value)
    for words in ("case 0: expected_tools: there is none", "case 1: tools_called: ", "case 1: expected_tools: call 1"):
        assert words in text
    for cases, metrics in (({"tools_called": []}, [ToolCorrectnessMetric()]), ([HOTEL], [])):
        with pytest.raises(VerifierError, match="a list of cases, and at least one metric"):
            tool_correctness.evaluate(cases, metrics)  # type: ignore[arg-type]
    with pytest.raises(VerifierError, match="threshold"):
        ToolCorrectnessMetric(threshold=2)


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
