"""ToolBench: the page's examples, every known row of the original in compat, and its strict counterpart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.suites import toolbench

WEATHER = {"ground_truth": [{"name": "get_weather", "parameters": {"location": "London, UK", "units": "metric"}}]}
DINNER = {
    "ground_truth": [
        {"name": "search_restaurants", "parameters": {"location": "Central Park, New York", "type": "restaurant"}},
        {"name": "get_weather", "parameters": {"location": "New York", "units": "imperial"}},
    ]
}
NO_CALLS = {"resolved": False, "error": "Could not extract tool calls from solution"}
BLOCK = '```json\n[{"name": "a"}]\n```'


def task(*names: Any) -> dict[str, Any]:
    return {"ground_truth": [{"name": name, "parameters": {}} for name in names]}


def calls(*names: Any) -> str:
    return json.dumps([{"name": name, "parameters": {}} for name in names])


def compat(row: dict[str, Any], solution: Any) -> dict[str, Any]:
    return toolbench.evaluate(row, solution, mode="compat")


def strict(row: dict[str, Any], solution: Any) -> dict[str, Any]:
    return toolbench.evaluate(row, solution)


PAGE = [
    (WEATHER, json.dumps(WEATHER["ground_truth"]), True, 1.0, ["get_weather"], ["get_weather"]),
    (
        DINNER, calls("get_weather", "search_restaurants"), False, 1.0,
        ["search_restaurants", "get_weather"], ["get_weather", "search_restaurants"],
    ),
    (
        DINNER, calls("search_restaurants"), False, 0.5,
        ["search_restaurants", "get_weather"], ["search_restaurants"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("row", "solution", "resolved", "accuracy", "wanted", "got"), PAGE)
def test_the_pages_examples_come_out_digit_for_digit(
    row: dict[str, Any], solution: str, resolved: bool, accuracy: float, wanted: list[str], got: list[str]
) -> None:
    """Compat gives exactly the page's object; strict gives it with precision beside it."""
    page = {
        "resolved": resolved,
        "tool_selection_accuracy": accuracy,
        "expected_tools": wanted,
        "agent_tools": got,
    }
    assert compat(row, solution) == page
    assert strict(row, solution) == {**page, "precision": 1.0}


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_nothing_to_extract_and_nothing_to_compare_with_are_the_pages_errors(mode: Any) -> None:
    """Prose gives the page's error; a missing or empty ground truth gives its own, even for an unreadable solution."""
    assert toolbench.evaluate(WEATHER, "I would look at the weather.", mode=mode) == NO_CALLS
    for row in ({}, {"ground_truth": []}, {"ground_truth": None}):
        assert toolbench.evaluate(row, "?", mode=mode) == {"resolved": False, "error": "No ground truth available"}


def test_a_repeated_tool_called_once() -> None:
    """Compat counts sets and says 1.0; strict pairs one to one and says 0.5."""
    assert compat(task("a", "a"), calls("a"))["tool_selection_accuracy"] == 1.0
    result = strict(task("a", "a"), calls("a"))
    assert (result["tool_selection_accuracy"], result["precision"], result["resolved"]) == (0.5, 1.0, False)


@pytest.mark.parametrize("answered", [("a", "b"), ("a", "a")])
def test_extra_calls_cost_nothing_in_accuracy(answered: tuple[str, ...]) -> None:
    """Accuracy is recall in both modes; only strict shows the superfluous call, as precision."""
    assert compat(task("a"), calls(*answered))["tool_selection_accuracy"] == 1.0
    result = strict(task("a"), calls(*answered))
    assert (result["resolved"], result["tool_selection_accuracy"], result["precision"]) == (False, 1.0, 0.5)


@pytest.mark.parametrize(
    "call",
    [
        {"name": "a", "parameters": {"x": 1}}, {"name": "a"}, {"name": "a", "parameters": None},
        {"name": "a", "arguments": {}}, {"name": "a", "args": {}}, {"name": "a", "input": {}},
        {"name": "a", "arguments": '{"x": 1}'},
    ],
)  # fmt: skip
def test_readable_parameters_have_no_effect_whatever_their_key(call: dict[str, Any]) -> None:
    """ToolBench compares names: wrong, absent, null and otherwise spelled parameters resolve in both modes."""
    assert compat(task("a"), json.dumps([call]))["resolved"] is True
    assert strict(task("a"), json.dumps([call]))["resolved"] is True


@pytest.mark.parametrize("parameters", ['{"x": ', [1], 5])
def test_parameters_that_cannot_be_read_do_not_resolve_in_strict(parameters: Any) -> None:
    """No tool could be called with them; compat never looks."""
    solution = json.dumps([{"name": "a", "arguments": parameters}])
    assert compat(task("a"), solution)["resolved"] is True
    result = strict(task("a"), solution)
    assert result["resolved"] is False
    assert "call 1 is malformed: a: the parameters are" in result["error"]


CHAT_CALL = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
WRAPPED = [
    [CHAT_CALL],
    {"tool_calls": [CHAT_CALL]},
    {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]}}]},
]


@pytest.mark.parametrize("answer", WRAPPED)
def test_calls_in_a_wires_wrapper(answer: Any) -> None:
    """Compat finds no name at the top and scores 0; strict reads chat completions and Gemini calls."""
    result = compat(task("a"), json.dumps(answer))
    assert (result["resolved"], result["tool_selection_accuracy"], result["agent_tools"]) == (False, 0.0, [""])
    assert strict(task("a"), json.dumps(answer))["resolved"] is True


ANTHROPIC = [{"type": "text", "text": "Let me see"}, {"type": "tool_use", "id": "1", "name": "a", "input": {}}]
RESPONSES = [{"type": "function_call", "name": "a", "arguments": "{}", "call_id": "1"}]


def test_calls_with_a_name_on_top_work_by_luck_in_compat() -> None:
    """tool_use and function_call items resolve in both; a text block beside them is a nameless call in compat only."""
    assert compat(task("a"), json.dumps(RESPONSES))["resolved"] is True
    assert compat(task("a"), json.dumps(ANTHROPIC[1:]))["resolved"] is True
    assert compat(task("a"), json.dumps(ANTHROPIC))["agent_tools"] == ["", "a"]
    for answer in (RESPONSES, ANTHROPIC, {"output": RESPONSES}, {"content": ANTHROPIC}):
        assert strict(task("a"), json.dumps(answer))["resolved"] is True


def test_a_name_missing_on_both_sides() -> None:
    """Compat compares "" with "" and resolves; strict calls it the dataset's defect."""
    row = {"ground_truth": [{"parameters": {}}]}
    assert compat(row, '[{"parameters": {}}]')["resolved"] is True
    assert strict(row, '[{"parameters": {}}]') == {
        "resolved": False,
        "error": "expected call 1: a call has a text as its name, read nothing",
    }


@pytest.mark.parametrize(("name", "answered", "resolved"), [(None, None, True), (1, True, True), (1, 2, False)])
def test_a_name_that_is_null_or_a_number(name: Any, answered: Any, resolved: bool) -> None:
    """Compat compares it as Python does, so 1 is true; strict has no such names."""
    assert compat(task(name), calls(answered))["resolved"] is resolved
    assert strict(task(name), calls(answered))["resolved"] is False
    assert strict(task("a"), calls(answered))["resolved"] is False


@pytest.mark.parametrize("name", [[], {}])
def test_a_name_that_is_a_list_or_object_crashes_the_original(name: Any) -> None:
    """Compat raises TypeError as the original does; strict says what is wrong."""
    with pytest.raises(TypeError):
        compat(task("a"), calls(name))
    assert "call 1 is malformed" in strict(task("a"), calls(name))["error"]


@pytest.mark.parametrize("truth", ['[{"name": "a"}]', {"name": "a"}, ["a"]])
def test_ground_truth_in_another_shape(truth: Any) -> None:
    """Compat drops what is no object and cannot resolve; strict reads JSON text, one object and bare names."""
    result = compat({"ground_truth": truth}, calls("a"))
    assert (result["resolved"], result["tool_selection_accuracy"], result["expected_tools"]) == (False, 0.0, [])
    assert strict({"ground_truth": truth}, calls("a"))["resolved"] is True


def test_an_empty_object_as_the_whole_text() -> None:
    """Compat sees one nameless call; strict sees none."""
    assert compat(task("a"), "{}")["agent_tools"] == [""]
    assert strict(task("a"), "{}") == NO_CALLS


def test_a_list_with_strangers() -> None:
    """Compat filters them from a whole-text list and raises AttributeError on them in a block; strict names them."""
    strangers = '[1, {"name": "a"}]'
    assert compat(task("a"), strangers)["resolved"] is True
    with pytest.raises(AttributeError):
        compat(task("a"), f"```json\n{strangers}\n```")
    for solution in (strangers, f"```json\n{strangers}\n```"):
        assert "call 1 is malformed: a call is an object, read a number" in strict(task("a"), solution)["error"]


def test_a_list_of_strangers_only() -> None:
    """Compat stops with nothing and looks at no block; strict reports a malformed call."""
    assert compat(task("a"), "[1]") == NO_CALLS
    assert strict(task("a"), "[1]")["resolved"] is False


def test_a_missing_solution_crashes_the_original() -> None:
    """Null: TypeError in compat, a reason in strict."""
    with pytest.raises(TypeError):
        compat(task("a"), None)
    assert strict(task("a"), None) == {"resolved": False, "error": "the answer is a text, read nothing"}


def test_an_integer_beyond_reason_crashes_the_original() -> None:
    """More than 4300 digits: ValueError in compat, no calls in strict."""
    solution = '[{"name": "a", "parameters": {"x": ' + "1" * 4301 + "}}]"
    with pytest.raises(ValueError, match="limit"):
        compat(task("a"), solution)
    assert strict(task("a"), solution) == NO_CALLS


ACCEPTED_BY_BOTH = [
    '[{"name": "a"}]', ' \n[{"name": "a"}] \n', '{"name": "a"}', BLOCK, '```\n[{"name": "a"}]\n```',
    '```json  \n[{"name": "a"}]\n```', '```json\r\n[{"name": "a"}]\r\n```', '```json\n\n[{"name": "a"}]\n\n```',
    "`" + BLOCK + "`", "So: " + BLOCK, BLOCK + "\nDone.", '```json\n{"name": "a"}\n```',
    '```json\n{"broken": \n```\n' + BLOCK,
]  # fmt: skip


@pytest.mark.parametrize("solution", ACCEPTED_BY_BOTH)
def test_layouts_the_original_accepts_are_accepted_in_both_modes(solution: str) -> None:
    """Nothing that the original can read is lost in strict."""
    assert compat(task("a"), solution)["resolved"] is True
    assert strict(task("a"), solution)["resolved"] is True


REJECTED_BY_THE_ORIGINAL = [
    '```JSON\n[{"name": "a"}]\n```', '```json5\n[{"name": "a"}]\n```', '```python\n[{"name": "a"}]\n```',
    '```tool_call\n{"name": "a"}\n```', '``` json\n[{"name": "a"}]\n```', '```[{"name": "a"}]```',
    '```json [{"name": "a"}]```', '```json\n[{"name": "a"}]\n  ```', '~~~json\n[{"name": "a"}]\n~~~',
    '```json\n[{"name": "a"}]', 'I call [{"name": "a"}] now.', '<tool_call>{"name": "a"}</tool_call>',
    "```python\nx = 1\n```\n" + BLOCK, "```json\n[]\n```\n" + BLOCK,
]  # fmt: skip


@pytest.mark.parametrize("solution", REJECTED_BY_THE_ORIGINAL)
def test_layouts_the_original_rejects_are_read_in_strict(solution: str) -> None:
    """Other fences, single lines, prose, markup, a foreign block before the JSON: strict finds the one call in each."""
    assert compat(task("a"), solution) == NO_CALLS
    assert strict(task("a"), solution)["resolved"] is True


def test_json_lines_are_read_in_strict() -> None:
    """One call a line, in order."""
    solution = '{"name": "a"}\n\n{"name": "b"}'
    assert compat(task("a", "b"), solution) == NO_CALLS
    assert strict(task("a", "b"), solution)["resolved"] is True


@pytest.mark.parametrize(
    ("solution", "in_strict"),
    [
        ("\ufeff" + calls("a"), True),
        ("[{'name': 'a'}]", False),
        ('[{"name": "a"},]', True),
        ('[{"name": "a"} // x\n]', True),
        ('[{"name": "a"}, {"name": "b"}, {"name": "a"', False),
    ],
)
def test_broken_json_is_nothing_in_compat_and_prose_in_strict(solution: str, in_strict: bool) -> None:
    """A byte order mark, a trailing comma, a comment: strict finds the one whole call inside, and never two."""
    assert compat(task("a"), solution) == NO_CALLS
    assert strict(task("a"), solution)["resolved"] is in_strict


def test_only_the_first_block_counts_in_compat() -> None:
    """Two blocks of one call each: compat takes the first, strict both in order."""
    solution = BLOCK + "\nthen\n" + BLOCK.replace('"a"', '"b"')
    assert compat(task("a", "b"), solution)["agent_tools"] == ["a"]
    assert strict(task("a", "b"), solution)["resolved"] is True


ROWS = [
    {"id": 1, "difficulty": "Easy", "category": "Personal_Finance", "tools": [{"name": "stock", "description": "API"}]},
    {"id": "2", "difficulty": "hard", "category": "weather", "tools": [{"name": "rain", "description": "rest api"}]},
    {"id": 3, "difficulty": "easy", "category": "finance", "tools": ["stock_api"]},
]


@pytest.mark.parametrize("mode", ["strict", "compat"])
@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, [1, "2", 3]),
        ({"difficulty": ["EASY"]}, [1, 3]),
        ({"difficulty": ["eas"]}, []),
        ({"category": ["finance"]}, [1, 3]),
        ({"category": ["FINANCE", "weather"]}, [1, "2", 3]),
        ({"tags": ["api"]}, [1, "2", 3]),
        ({"tags": ["api", "rest"]}, ["2"]),
        ({"task_ids": ["1", "2"]}, [1, "2"]),
        ({"sample_size": 2}, [1, "2"]),
        ({"difficulty": ["easy"], "category": ["finance"], "tags": ["stock"], "sample_size": 1}, [1]),
    ],
)
def test_filters_follow_the_page_in_both_modes(mode: Any, filters: dict[str, Any], ids: list[Any]) -> None:
    """Difficulty is equal, category contained, tags all contained, ids compared as text, then the first so many."""
    assert [row["id"] for row in toolbench.filter_tasks(ROWS, mode=mode, **filters)] == ids


def test_compat_numbers_rows_after_filtering_and_strict_leaves_them_alone() -> None:
    """The original's ids change with the filters; strict hands back the very rows."""
    assert [row["instance_id"] for row in toolbench.filter_tasks(ROWS, difficulty=["hard"], mode="compat")] == [
        "toolbench_0"
    ]
    assert toolbench.filter_tasks(ROWS, difficulty=["hard"])[0] is ROWS[1]


def test_tags_match_pythons_punctuation_only_in_compat() -> None:
    """The original searches the field as Python writes it, so keys and quotes match; strict searches texts."""
    assert len(toolbench.filter_tasks(ROWS[:2], tags=["description"], mode="compat")) == 2
    assert toolbench.filter_tasks(ROWS[:2], tags=["description"]) == []
    assert len(toolbench.filter_tasks([{"tools": None}], tags=["none"], mode="compat")) == 1
    assert toolbench.filter_tasks([{"tools": None}], tags=["none"]) == []


@pytest.mark.parametrize("row", [{"category": None, "difficulty": "easy"}, {"category": 5, "difficulty": None}])
def test_a_null_field_crashes_the_originals_filter(row: dict[str, Any]) -> None:
    """AttributeError in compat; in strict the row simply does not match."""
    with pytest.raises(AttributeError):
        toolbench.filter_tasks([row], difficulty=["easy"], category=["finance"], mode="compat")
    assert toolbench.filter_tasks([row], difficulty=["easy"], category=["finance"]) == []


def test_a_misspelled_mode_does_not_pass_for_strict() -> None:
    """Scores of the wrong mode would look like scores."""
    with pytest.raises(UsageError, match="mode is strict or compat, read 'Compat'"):
        toolbench.evaluate({"ground_truth": [{"name": "a"}]}, "[]", mode="Compat")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="mode is strict or compat"):
        toolbench.filter_tasks([], mode="lenient")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_a_bare_text_filters_as_one_value(mode: Any) -> None:
    """Not by its letters, which would silently select nothing, or too much."""
    rows = [
        {"id": "12", "difficulty": "easy", "category": "weather"},
        {"id": "1", "difficulty": "hard", "category": "e"},
    ]
    kept = toolbench.filter_tasks(rows, difficulty="easy", category="weather", task_ids="12", mode=mode)
    assert [row["id"] for row in kept] == ["12"]
