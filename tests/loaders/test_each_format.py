"""Every data-set format is read to the same question."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dataset_rows import API, CALL, QUERY, ROWS, SAID, SCHEMA, TOOL, one, read, without


def test_our_rows_keep_calls_similar_tools_and_tags() -> None:
    """What a suite reads stands under expected, what the filters read under tags, and the rest is sent."""
    sample = one(ROWS["tool_calls"])
    assert sample.expected == {"calls": [CALL], "similar": [["sky"]]}
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


def test_toolbench_rows_are_read() -> None:
    """Ground truth becomes the expected calls, id and difficulty become tags."""
    sample = one(without(ROWS["toolbench"], ground_truth=json.dumps([CALL])))
    assert sample.expected == {"calls": [CALL]}
    assert sample.tags == {"id": 7, "difficulty": "hard"}


def test_tools_without_schema_or_with_bare_properties_are_read() -> None:
    """A bare name declares a tool that takes anything; a mapping of properties becomes a schema."""
    tools = ["weather", {"name": "time", "parameters": {"zone": {"type": "string"}}}, {"name": "x", "parameters": 3}]
    loaded = read(without(ROWS["toolbench"], tools=tools))
    declared = [tool["function"] for tool in loaded.samples[0].turn.tools]
    assert declared[0] == {"name": "weather"}
    assert declared[1]["parameters"] == {"type": "object", "properties": {"zone": {"type": "string"}}}
    assert loaded.defects == ("line 1: tool 3 has a number for a schema; it takes anything",)


@pytest.mark.parametrize("key", ["input", "parameters", "arguments"])
def test_mcp_labels_hold_arguments_under_three_keys(key: str) -> None:
    """The published files say input, the documentation parameters; a placeholder output is dropped."""
    row = ROWS["mcp_toolbench_pp"]
    label = without(row["function_call_label"][0], "input", **{key: {"city": "Oslo"}})
    sample = one({**row, "function_call_label": [label]})
    assert sample.expected == {"calls": [CALL], "similar": [["forecast"]]}
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


def test_apis_of_one_name_are_told_apart() -> None:
    """Names are cut to 64 characters from the front, and a clash gets a number instead of losing an API."""
    apis = [{**API, "api_name": name} for name in ("A B", "A-B", "x" * 80)]
    names = [tool["function"]["name"] for tool in one({**ROWS["openbmb"], "api_list": apis}).turn.tools]
    assert names[:2] == ["a_b_for_sky_watch", "a_b_for_sky_watch_2"]
    assert len(names[2]) == 64
    assert names[2].endswith("_for_sky_watch")


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
