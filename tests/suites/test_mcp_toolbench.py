"""MCPToolBench++: the page's examples, every known row of the original in compat, and its strict counterpart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.suites import mcp_toolbench

NO_CALLS = {
    "resolved": False,
    "tool_selection_accuracy": 0.0,
    "parameter_accuracy": 0.0,
    "sequence_match": False,
    "details": "Agent made no tool calls",
}
STRICT_FIELDS = {"precision", "parameter_precision", "error"}


def call(name: Any, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


def compat(label: Any, answered: Any) -> dict[str, Any]:
    solution = answered if isinstance(answered, str) or answered is None else json.dumps(answered)
    return mcp_toolbench.evaluate({"function_call_label": label}, solution, mode="compat")


def strict(label: Any, answered: Any) -> dict[str, Any]:
    solution = answered if isinstance(answered, str) or answered is None else json.dumps(answered)
    return mcp_toolbench.evaluate({"function_call_label": label}, solution)


def page_fields(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in STRICT_FIELDS}


TWENTY = {f"p{at}": at for at in range(20)}
NINE = {f"p{at}": at for at in range(9)}
PAGE = [
    (
        [call("a", **TWENTY)], [call("a", **{**TWENTY, "p0": "?", "p1": "?", "p2": "?"})], True, 1.0, 0.85, True,
        "Tool selection: 100.0%, Parameter accuracy: 85.0%, Sequence match: True",
    ),
    (
        [call("a", **NINE), call("b", x=1)], [call("a", **NINE)],
        False, 0.5, 0.9, False, "Tool selection: 50.0%, Parameter accuracy: 90.0%, Sequence match: False",
    ),
    ([call("a", x=1)], "Let me look that up.", False, 0.0, 0.0, False, "Agent made no tool calls"),
    ([call("a", x=1)], [], False, 0.0, 0.0, False, "Agent made no tool calls"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "answered", "resolved", "selection", "parameters", "sequence", "details"), PAGE)
def test_the_pages_examples_come_out_digit_for_digit(
    label: Any, answered: Any, resolved: bool, selection: float, parameters: float, sequence: bool, details: str
) -> None:
    """Compat gives exactly the page's object; strict gives it with the two precisions beside it."""
    page = {
        "resolved": resolved,
        "tool_selection_accuracy": selection,
        "parameter_accuracy": parameters,
        "sequence_match": sequence,
        "details": details,
    }
    assert compat(label, answered) == page
    assert page_fields(strict(label, answered)) == page
    assert set(strict(label, answered)) - set(page) == {"precision", "parameter_precision"}


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_no_ground_truth_is_the_pages_error(mode: Any) -> None:
    """A missing, null or empty label gives the error alone."""
    for task in ({}, {"function_call_label": None}, {"function_call_label": []}):
        assert mcp_toolbench.evaluate(task, "?", mode=mode) == {
            "resolved": False,
            "error": "No ground truth function calls provided for evaluation",
        }


@pytest.mark.parametrize("evaluated", [compat, strict])
@pytest.mark.parametrize(
    ("expected", "answered", "resolved"),
    [
        (5, 4, True), (5, 3, False), (4, 3, False), (1, 1, True), (1, 2, False), (2, 3, True), (2, 4, False),
        (3, 4, True), (3, 5, False), (4, 6, True), (4, 7, False), (5, 7, True), (5, 8, False),
    ],
)  # fmt: skip
def test_selection_of_four_fifths_and_half_as_many_calls_again(
    evaluated: Any, expected: int, answered: int, resolved: bool
) -> None:
    """4 of 5 tools pass the threshold of 0.8; calls beyond 1.5 times the expected number do not."""
    label = [call(f"t{at}", **({"x": 1} if at == 0 else {})) for at in range(expected)]
    made = [label[at] if at < expected else call("extra") for at in range(answered)]
    assert evaluated(label, made)["resolved"] is resolved


@pytest.mark.parametrize("evaluated", [compat, strict])
@pytest.mark.parametrize(("right", "total", "resolved"), [(7, 10, True), (14, 20, True), (21, 30, True), (2, 3, False)])
def test_parameters_of_seven_tenths(evaluated: Any, right: int, total: int, resolved: bool) -> None:
    """Exactly 0.7 passes, however it comes about."""
    label = [call("a", **{f"p{at}": at for at in range(total)})]
    answered = [call("a", **{f"p{at}": at if at < right else "wrong" for at in range(total)})]
    result = evaluated(label, answered)
    assert (result["resolved"], result["parameter_accuracy"]) == (resolved, right / total)


@pytest.mark.parametrize("evaluated", [compat, strict])
@pytest.mark.parametrize(("right", "shown"), [(1, "6.2%"), (3, "18.8%")])
def test_percentages_round_as_python_does(evaluated: Any, right: int, shown: str) -> None:
    """1/16 is shown as 6.2% and 3/16 as 18.8%."""
    label = [call("a", **{f"p{at}": at for at in range(16)})]
    answered = [call("a", **{f"p{at}": at for at in range(right)})]
    assert f"Parameter accuracy: {shown}" in evaluated(label, answered)["details"]


@pytest.mark.parametrize("evaluated", [compat, strict])
def test_sequence_match_compares_names_alone_and_does_not_decide(evaluated: Any) -> None:
    """Another order is no sequence match and may still resolve."""
    label = [call("a", x=1), call("b", y=2)]
    result = evaluated(label, label[::-1])
    assert (result["resolved"], result["sequence_match"]) == (True, False)


def test_a_tool_without_parameters_can_resolve_only_in_strict() -> None:
    """Compat scores 0 of 0 parameters as 0.0; strict calls it not applicable."""
    assert compat([call("a")], [call("a")])["resolved"] is False
    assert compat([call("a")], [call("a")])["parameter_accuracy"] == 0.0
    result = strict([call("a")], [call("a")])
    assert (result["resolved"], result["parameter_accuracy"]) == (True, None)
    assert result["details"] == "Tool selection: 100.0%, Parameter accuracy: not applicable, Sequence match: True"


@pytest.mark.parametrize("reverse", [False, True])
def test_repeated_tools_answered_perfectly(reverse: bool) -> None:
    """Compat compares both with the first call; strict pairs them one to one, in whatever order they come."""
    label = [call("a", x=1), call("a", x=2)]
    answered = label[::-1] if reverse else label
    assert (compat(label, answered)["parameter_accuracy"], compat(label, answered)["resolved"]) == (0.5, False)
    assert (strict(label, answered)["parameter_accuracy"], strict(label, answered)["resolved"]) == (1.0, True)


def test_one_call_does_not_answer_two() -> None:
    """[a, a] answered by one a: selection 1.0 in compat, 0.5 in strict."""
    assert compat([call("a", x=1), call("a", x=1)], [call("a", x=1)])["tool_selection_accuracy"] == 1.0
    assert strict([call("a", x=1), call("a", x=1)], [call("a", x=1)])["tool_selection_accuracy"] == 0.5


def test_the_second_try_is_the_right_one() -> None:
    """Compat looks at the first call of a name only; strict takes the better one, and the extra call is counted."""
    label = [call("a", x=1), call("b", y=1)]
    answered = [call("a", x=0), call("a", x=1), call("b", y=1)]
    assert compat(label, answered)["parameter_accuracy"] == 0.5
    result = strict(label, answered)
    assert (result["parameter_accuracy"], result["resolved"], result["precision"]) == (1.0, True, 2 / 3)


@pytest.mark.parametrize("evaluated", [compat, strict])
def test_a_missing_tools_parameters_stay_in_the_denominator(evaluated: Any) -> None:
    """Not calling a tool gets none of its parameters right."""
    assert evaluated([call("a", x=1), call("b", y=1, z=1)], [call("a", x=1)])["parameter_accuracy"] == 1 / 3


def test_extra_parameters_are_free_and_seen_in_strict() -> None:
    """They do not lower the accuracy; strict reports 1 of 3 parameters sent as right."""
    answered = [call("a", x=1, y=2, z=3)]
    assert compat([call("a", x=1)], answered)["resolved"] is True
    result = strict([call("a", x=1)], answered)
    assert (result["resolved"], result["parameter_accuracy"], result["parameter_precision"]) == (True, 1.0, 1 / 3)


def test_null_and_absent() -> None:
    """A null that was expected and not sent is right in compat and wrong in strict; sent, it is right in both."""
    assert compat([call("a", x=None)], [call("a")])["parameter_accuracy"] == 1.0
    assert strict([call("a", x=None)], [call("a")])["parameter_accuracy"] == 0.0
    assert strict([call("a", x=None)], [call("a", x=None)])["parameter_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("wanted", "given", "in_compat", "in_strict"),
    [
        (1, 1.0, True, True), (1, True, True, False), (0, False, True, False), ([1], [True], True, False),
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, True, True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ([1, 2], [2, 1], False, False), ("1", 1, False, False), ("a", "A", False, False), ("a", "a ", False, False),
        ("\u00e9", "e\u0301", False, False), ("2024-01-01", "2024-1-1", False, False),
        (9007199254740993, 9007199254740992.0, False, False),
    ],
)  # fmt: skip
def test_which_values_are_equal(wanted: Any, given: Any, in_compat: bool, in_strict: bool) -> None:
    """Compat compares as Python does; strict tells booleans from numbers, at any depth."""
    assert compat([call("a", x=wanted)], [call("a", x=given)])["resolved"] is in_compat
    assert strict([call("a", x=wanted)], [call("a", x=given)])["resolved"] is in_strict


@pytest.mark.parametrize(
    ("answered", "selection"),
    [
        ({"name": "a", "arguments": {"x": 1}}, 1.0), ({"name": "a", "args": {"x": 1}}, 1.0),
        ({"name": "a", "input": {"x": 1}}, 1.0), ({"name": "a", "arguments": '{"x": 1}'}, 1.0),
        ({"type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}, 0.0),
    ],
)  # fmt: skip
def test_other_spellings_of_a_call(answered: Any, selection: float) -> None:
    """Compat finds no parameters, or no name; strict reads them all."""
    result = compat([call("a", x=1)], [answered])
    assert (result["tool_selection_accuracy"], result["parameter_accuracy"]) == (selection, 0.0)
    assert strict([call("a", x=1)], [answered])["resolved"] is True


@pytest.mark.parametrize("key", ["input", "arguments"])
def test_the_real_labels_spelling(key: str) -> None:
    """Labels with input or arguments never resolve in compat; strict reads them."""
    label = [{"name": "a", "step": "1", "id": "1", "mcp_server": "s", "similar_tools": [], key: {"x": 1}}]
    assert compat(label, [call("a", x=1)])["resolved"] is False
    assert compat(label, [call("a", x=1)])["parameter_accuracy"] == 0.0
    assert strict(label, [call("a", x=1)])["resolved"] is True


def test_similar_tools_are_ignored_in_both_modes() -> None:
    """The page asks for the same name, so a similar tool is another tool."""
    label = [{**call("a", x=1), "similar_tools": [{"name": "b", "mcp_server": "s"}]}]
    assert compat(label, [call("b", x=1)])["tool_selection_accuracy"] == 0.0
    assert strict(label, [call("b", x=1)])["tool_selection_accuracy"] == 0.0


def test_answered_parameters_that_are_null_or_text_crash_the_original() -> None:
    """AttributeError when the label has parameters; strict reads JSON text, and null as no parameters."""
    for parameters in (None, '{"x": 1}'):
        with pytest.raises(AttributeError):
            compat([call("a", x=1)], [{"name": "a", "parameters": parameters}])
        assert compat([call("a")], [{"name": "a", "parameters": parameters}])["tool_selection_accuracy"] == 1.0
    assert strict([call("a", x=1)], [{"name": "a", "parameters": None}])["parameter_accuracy"] == 0.0
    assert strict([call("a", x=1)], [{"name": "a", "parameters": '{"x": 1}'}])["resolved"] is True
    broken = strict([call("a", x=1)], [{"name": "a", "parameters": '{"x": '}])
    assert broken["resolved"] is False
    assert "malformed" in broken["error"]


def test_a_labels_parameters_that_are_null_or_a_list_crash_the_original() -> None:
    """TypeError and AttributeError; strict reads null as no parameters and calls a list the dataset's defect."""
    with pytest.raises(TypeError):
        compat([{"name": "a", "parameters": None}], [call("a")])
    with pytest.raises(AttributeError):
        compat([{"name": "a", "parameters": ["x"]}], [call("a")])
    assert strict([{"name": "a", "parameters": None}], [call("a")])["resolved"] is True
    assert "expected call 1" in strict([{"name": "a", "parameters": ["x"]}], [call("a")])["error"]


def test_strangers_among_the_calls_crash_the_original() -> None:
    """AttributeError on either side, unless an earlier match ends every scan first; strict gives a reason."""
    with pytest.raises(AttributeError):
        compat([call("a", x=1)], [1, call("a", x=1)])
    with pytest.raises(AttributeError):
        compat(["a"], [call("a", x=1)])
    assert compat([call("a", x=1), call("a", x=1)], [call("a", x=1), 1, 2])["resolved"] is True
    for answered in ([1, call("a", x=1)], [call("a", x=1), 1]):
        result = strict([call("a", x=1), call("b")], answered)
        assert result["resolved"] is False
        assert "malformed: a call is an object, read a number" in result["error"]
    assert strict([1], [call("a")])["error"] == "expected call 1: a call is an object, read a number"


def test_missing_and_monstrous_solutions_crash_the_original() -> None:
    """Null is TypeError and 4301 digits are ValueError; strict finds no calls in either."""
    with pytest.raises(TypeError):
        compat([call("a", x=1)], None)
    with pytest.raises(ValueError, match="limit"):
        compat([call("a", x=1)], "[" + "1" * 4301 + "]")
    for solution in (None, "[" + "1" * 4301 + "]"):
        assert page_fields(strict([call("a", x=1)], solution)) == NO_CALLS


@pytest.mark.parametrize(
    "solution",
    [
        '```json\n[{"name": "a", "parameters": {"x": 1}}]\n```', 'I call [{"name": "a", "parameters": {"x": 1}}].',
        '{"name": "a", "parameters": {"x": 1}}', '<tool_call>{"name": "a", "arguments": {"x": 1}}</tool_call>',
    ],
)  # fmt: skip
def test_text_fallback_exists_only_in_strict(solution: str) -> None:
    """The page promises it, the original has none; not even a single call object is read there."""
    assert compat([call("a", x=1)], solution) == NO_CALLS
    assert strict([call("a", x=1)], solution)["resolved"] is True


@pytest.mark.parametrize("evaluated", [compat, strict])
def test_an_object_with_tool_calls_is_read(evaluated: Any) -> None:
    """Both modes read the list below tool_calls."""
    assert evaluated([call("a", x=1)], {"tool_calls": [call("a", x=1)]})["resolved"] is True


ROWS = [
    {"uuid": "u1", "call_type": "single", "category": "finance", "tools": ["get_stock_price"]},
    {"uuid": "u2", "call_type": "multi", "category": "Browser", "tools": [{"name": "open", "description": "a page"}]},
    {"uuid": "u3", "call_type": "Odd", "category": "file_finance", "tools": []},
]


@pytest.mark.parametrize("mode", ["strict", "compat"])
@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, ["u1", "u2", "u3"]),
        *[({"difficulty": [word]}, ["u1"]) for word in ("easy", "single", "EASY")],
        *[({"difficulty": [word]}, ["u2"]) for word in ("hard", "multi", "medium", "Hard")],
        ({"difficulty": ["Odd"]}, ["u3"]),
        ({"category": ["Finance"]}, ["u1"]),
        ({"category": ["finance", "browser"]}, ["u1", "u2"]),
        ({"task_ids": ["u3", "u2"]}, ["u2", "u3"]),
        ({"sample_size": 1}, ["u1"]),
        ({"sample_size": 0}, []),
    ],
)
def test_filters_follow_the_page_in_both_modes(mode: Any, filters: dict[str, Any], ids: list[str]) -> None:
    """Difficulty maps to the call type, the category is equal, ids are the rows' own."""
    assert [row["uuid"] for row in mcp_toolbench.filter_tasks(ROWS, mode=mode, **filters)] == ids


def test_filters_of_the_original_that_strict_mends() -> None:
    """Tags are ignored and an unknown difficulty is compared letter by letter in compat; strict honours both."""
    assert len(mcp_toolbench.filter_tasks(ROWS, tags=["page"], mode="compat")) == 3
    assert mcp_toolbench.filter_tasks(ROWS, tags=["page"]) == [ROWS[1]]
    assert mcp_toolbench.filter_tasks(ROWS, difficulty=["odd"], mode="compat") == []
    assert mcp_toolbench.filter_tasks(ROWS, difficulty=["odd"]) == [ROWS[2]]


def test_rows_that_crash_the_originals_filter() -> None:
    """No uuid is KeyError and a null category AttributeError; strict keeps or drops the row like any other."""
    with pytest.raises(KeyError):
        mcp_toolbench.filter_tasks([{"category": "finance"}], mode="compat")
    with pytest.raises(AttributeError):
        mcp_toolbench.filter_tasks([{"uuid": "u", "category": None}], category=["finance"], mode="compat")
    assert mcp_toolbench.filter_tasks([{"category": "finance"}]) == [{"category": "finance"}]
    assert mcp_toolbench.filter_tasks([{"uuid": "u", "category": None}], category=["finance"]) == []


def test_compat_names_rows_by_their_uuid() -> None:
    """These ids are stable, so compat adds them and strict has no need to."""
    assert [row["instance_id"] for row in mcp_toolbench.filter_tasks(ROWS, mode="compat")] == ["u1", "u2", "u3"]


def test_a_misspelled_mode_does_not_pass_for_strict() -> None:
    """Scores of the wrong mode would look like scores."""
    with pytest.raises(UsageError, match="mode is strict or compat, read 'Compat'"):
        mcp_toolbench.evaluate({"function_call_label": [{"name": "a"}]}, "[]", mode="Compat")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="mode is strict or compat"):
        mcp_toolbench.filter_tasks([], mode="lenient")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_a_bare_text_filters_as_one_value(mode: Any) -> None:
    """Not by its letters, which would silently select nothing, or too much."""
    rows = [{"uuid": "12", "call_type": "multi", "category": "finance"}]
    assert mcp_toolbench.filter_tasks(rows, difficulty="hard", category="finance", task_ids="12", mode=mode)
    assert not mcp_toolbench.filter_tasks(rows, task_ids="1", mode=mode)
