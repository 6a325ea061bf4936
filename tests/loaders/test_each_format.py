"""Every format of data sets: recognised by a row, read to the same question, or refused with its place."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from call_evaluations import any_json
from dataset_rows import API, CALL, FILE, QUERY, ROWS, SAID, SCHEMA, TOOL, one, read, refusal, without
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.loaders import loader_named, read_dataset_file, recognise


def test_our_rows_keep_calls_and_tags() -> None:
    """What a suite reads is under expected, what the filters read under tags, and the rest is sent."""
    sample = one(ROWS["tool_calls"])
    assert sample.expected == {"calls": [CALL]}
    assert sample.tags == {"category": "weather", "difficulty": "easy"}
    assert (sample.turn.tools, sample.turn.parameters) == ((TOOL,), {"temperature": 0})


def test_expected_calls_may_be_spelled_as_any_wire_spells_them() -> None:
    """Arguments as text, chat-completions calls and bare names are read into one form; outputs stay."""
    calls = [
        {"function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
        {"name": "weather", "arguments": {"city": "Rome"}, "output": [1]},
        "weather",
    ]
    sample = one(without(ROWS["tool_calls"], expected={"calls": calls}))
    wanted = {"name": "weather", "parameters": {"city": "Rome"}, "output": [1]}
    assert sample.expected["calls"] == [CALL, wanted, "weather"]


@pytest.mark.parametrize(
    "tools",
    [
        json.dumps([TOOL]),
        [{"name": "weather", "description": "Weather.", "parameters": SCHEMA}],
        [{"name": "weather", "description": "Weather.", "inputSchema": SCHEMA}],
        {"sky": [{"name": "weather", "description": "Weather.", "input_schema": SCHEMA}]},
    ],
)
def test_tools_in_any_spelling_are_the_same_question(tools: Any) -> None:
    """JSON text, bare functions, MCP tools and tools by server give the sample the same identity."""
    assert one(without(ROWS["toolbench"], tools=tools)).id == one(ROWS["toolbench"]).id


@pytest.mark.parametrize("key", ["input", "parameters", "arguments"])
def test_mcp_labels_hold_arguments_under_three_keys(key: str) -> None:
    """The published files say input, the documentation parameters; a placeholder output is dropped."""
    row = ROWS["mcp_toolbench_pp"]
    label = without(row["function_call_label"][0], "input", **{key: {"city": "Oslo"}})
    sample = one({**row, "function_call_label": [label]})
    assert sample.expected == {"calls": [CALL]}
    assert sample.tags == {"id": "u-1", "category": "weather", "call_type": "single", "mcp_servers": ["sky"]}
    assert sample.turn.tools == (TOOL,)
    nested = {"edits": [{"oldText": "a", "newText": "b"}], "paths": ["/a"], "dryRun": True, "depth": 2}
    label = without(label, key, **{key: nested})
    for spelled in ([label], json.dumps([label])):
        assert one({**row, "function_call_label": spelled}).expected["calls"][0]["parameters"] == nested


def test_mcp_definitions_may_stand_in_the_dictionary() -> None:
    """As the documentation has it: tools are names, and mcp_tools_dict defines them; real outputs are kept."""
    row = ROWS["mcp_toolbench_pp"]
    label = without(row["function_call_label"][0], "output", output={"status_code": 200, "result": {"c": 3}})
    row = without(row, tools=["weather"], mcp_tools_dict={"sky": row["tools"]}, function_call_label=[label])
    assert one(row).turn.tools == (TOOL,)
    assert one(row).expected["calls"][0]["output"] == {"status_code": 200, "result": {"c": 3}}
    assert one(without(row, mcp_tools_dict={"sky": ["weather"]})).turn.tools[0]["function"] == {"name": "weather"}


@pytest.mark.parametrize("packed", [False, True])
def test_conversations_become_questions_with_native_tools(packed: bool) -> None:
    """Functions written as Python are read, Finish is neither tool nor call, and results become outputs."""
    row = ROWS["toolbench_conversations"]
    if packed:
        row = {"id": "c-1", "conversations": {"from": [who for who, _ in SAID], "value": [what for _, what in SAID]}}
    sample = one(row)
    assert sample.turn.messages == ({"role": "user", "content": QUERY},)
    assert [tool["function"]["name"] for tool in sample.turn.tools] == ["weather"]
    assert sample.expected == {"calls": [{**CALL, "output": {"error": "", "response": "cold"}}]}
    assert sample.tags == {"id": "c-1"}


def test_openbmb_rows_expect_names_only() -> None:
    """Relevant APIs carry no arguments, so any will do; types and examples of RapidAPI become a schema."""
    sample = one(ROWS["openbmb"])
    assert sample.expected == {"calls": ["current_v2_for_sky_watch"]}
    assert sample.tags == {"id": 12, "category": "Weather"}
    [tool] = sample.turn.tools
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "City (example: Rome)"}, "days": {"type": "number"}},
        "required": ["city"],
    }


def test_the_benchmark_config_is_read_with_its_lists_as_text() -> None:
    """The re-upload packs both lists into text; it is the same question, under either format name."""
    row = {
        "query_id": "12",
        "query": QUERY,
        "api_list": json.dumps([API]),
        "relevant_apis": json.dumps([["Sky Watch", "Current (v2)"]]),
    }
    assert one(row).id == one(ROWS["openbmb"]).id
    assert one(row, format="toolbench_conversations").expected == one(ROWS["openbmb"]).expected


def test_expected_calls_that_the_tools_refuse_are_defects() -> None:
    """A label against its own schema and a call of a tool not on offer are kept and said."""
    calls = [{"name": "weather", "parameters": {"city": 3}}, {"name": "gone", "parameters": {}}]
    loaded = read(without(ROWS["toolbench"], ground_truth=calls))
    assert loaded.samples[0].expected["calls"] == calls
    assert [defect.split(":")[1] for defect in loaded.defects] == [
        " expected call 1 (weather) is against its own schema at /city",
        " expected call 2 is of 'gone', which is not among the tools",
    ]


def test_a_row_of_tool_correctness_keeps_the_answer_it_brings() -> None:
    """Names are expected with any parameters; without definitions those it names are offered, in alphabetical order."""
    sample = one(ROWS["tool_correctness"])
    assert sample.expected == {"calls": ["weather"]}
    assert sample.tags["tools_called"] == ["weather", "sky"]
    assert [tool["function"] for tool in sample.turn.tools] == [{"name": "sky"}, {"name": "weather"}]
    called = [{"name": "weather", "input_parameters": {"city": "Oslo"}}]
    sample = one(without(ROWS["tool_correctness"], tools=[TOOL], expected_tools=called))
    assert sample.expected == {"calls": [CALL]}
    assert sample.turn.tools == (TOOL,)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("array", [False, True])
def test_every_format_is_recognised_by_its_row(name: str, array: bool) -> None:
    """Both as JSON lines and as an array a file says what it is, and naming the format gives the same samples."""
    loaded = read(ROWS[name], array=array)
    assert recognise(ROWS[name]) == loader_named(name)
    assert loaded.samples == read(ROWS[name], array=array, format=name).samples
    assert loaded.samples[0].turn.messages[-1]["content"] == QUERY
    assert not loaded.defects


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("toolbench", {"query": " "}, "query: expected the question as text, read a string"),
        ("toolbench", {"tools": None}, "tools: expected an array of tools, read null"),
        ("toolbench", {"ground_truth": None}, "ground_truth: expected an array of calls, read nothing"),
        ("toolbench", {"ground_truth": "[x"}, "ground_truth: text that is not JSON"),
        (
            "toolbench",
            {"ground_truth": [{"parameters": {}}]},
            "ground_truth: call 1 is malformed: a call has a text as its",
        ),
        (
            "mcp_toolbench_pp",
            {"function_call_label": [3]},
            "function_call_label: call 1 is malformed: a call is an object",
        ),
        ("openbmb", {"relevant APIs": [["a"]]}, "relevant APIs[1]: expected [tool, API], two texts"),
        ("openbmb", {"api_list": [{}]}, "api_list[1]: expected texts as tool_name and api_name"),
        ("toolbench_conversations", {"conversations": []}, "conversations: no user message"),
        ("toolbench_conversations", {"conversations": [3]}, "conversations[1]: expected an object with texts"),
        ("tool_correctness", {"input": ""}, "input: expected the question as text, read nothing"),
        ("tool_correctness", {"expected_tools": 3}, "expected_tools: expected an array of names"),
        ("tool_correctness", {"tools_called": [1]}, "tools_called: call 1 is malformed: a call is an object"),
        ("tool_calls", {"expected": {"calls": 3}}, "expected.calls: call 1 is malformed: a call is an object"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_its_field(name: str, change: dict[str, Any], message: str) -> None:
    good, bad = ROWS[name], {**ROWS[name], **change}
    [on_line] = refusal(good, bad)
    assert on_line.startswith(f"set.json:2: {message}")
    [in_array] = refusal(good, bad, array=True)
    assert in_array.startswith(f"set.json: row 2, {message}")
    loaded = read(good, bad, array=True, skip_bad=True)
    assert (len(loaded.samples), len(loaded.skipped)) == (1, 1)


def test_an_unknown_row_lists_what_is_known() -> None:
    """Nothing is guessed: what was read and what each format has are in one message."""
    [problem] = refusal({"question": "?", "answer": "!"})
    assert problem.startswith("set.json:1: the row is of no format known, read 'question', 'answer'; expected")
    assert "toolbench: query, tools, ground_truth" in problem


def test_an_unknown_format_name_is_a_usage_error() -> None:
    with pytest.raises(
        UsageError, match="'tool-bench'; expected one of tool_calls, chat, tool_correctness, mcp_toolbench_pp"
    ):
        read(ROWS["toolbench"], format="tool-bench")


def test_an_array_says_where_it_breaks() -> None:
    with pytest.raises(DataError, match=r"set\.json:3: not JSON at column 1: Expecting ',' delimiter, read '\{"):
        read_dataset_file(b'[\n{"a": 1}\n{"a": 2}]', dataset="d", file=FILE)


def test_half_characters_are_refused_wherever_they_hide() -> None:
    """A lone surrogate cannot be sent, whether it is in an array, in packed JSON or in a Python literal."""
    assert "half a character" in refusal(without(ROWS["toolbench"], query="\ud83d"), array=True)[0]
    assert "half a character" in refusal(without(ROWS["toolbench"], tools='["\\ud83d"]'))[0]
    system = SAID[0][1].replace("It's hot", "\\ud83d")
    row = {"conversations": [{"from": "system", "value": system}, {"from": "user", "value": "?"}]}
    assert "half a character" in refusal(row)[0]


@given(name=st.sampled_from(sorted(ROWS)), data=st.data())
def test_a_field_replaced_raises_nothing_but_a_data_error(name: str, data: st.DataObject) -> None:
    """A good row with any one value, at any depth, replaced is read or refused."""
    row = json.loads(json.dumps(ROWS[name]))
    node: Any = row
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else list(range(len(node)))))
        if not isinstance(node[key], (dict, list)) or not node[key] or data.draw(st.booleans()):
            node[key] = data.draw(any_json())
            break
        node = node[key]
    with suppress(DataError):
        read(row, format=name)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "-" * 100_000 + "1]", "{1, 2}]", "b'x']", "1j]", "{(1,): 2}]", "9" * 5000 + "]", "1e999]", "\x00]"],
)
def test_literals_made_to_hurt_are_refused(text: str) -> None:
    """Depth, long numbers and values that JSON cannot hold end in a message, not in a crash."""
    row = {"conversations": [{"from": "system", "value": f"APIs: [{text}"}, {"from": "user", "value": "?"}]}
    assert refusal(row)[0].startswith("set.json:1: conversations")
