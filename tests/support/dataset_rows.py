"""A row of every data-set format that asks the same question, and short ways to read and refuse rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.errors import DataError
from vendor_verifier.loaders import LoadedSamples, read_dataset_file
from vendor_verifier.records.sample import Sample

FILE = Path("set.json")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA}}
CALL = {"name": "weather", "parameters": {"city": "Oslo"}}
QUERY = "Weather in Oslo?"
FUNCTIONS = [
    {"name": "weather", "description": "It's hot\\d", "parameters": SCHEMA, "required": None, "strict": True},
    {"name": "Finish", "description": "End.", "parameters": {"type": "object", "properties": {}}},
]
SAID = [
    ("system", f"Follow the format.\nSpecifically, you have access to the following APIs: {FUNCTIONS!r}"),
    ("user", f"\n{QUERY}\nBegin!\n"),
    ("assistant", '\nThought: look\nAction: weather\nAction Input: {\n  "city": "Oslo"\n}'),
    ("function", '{"error": "", "response": "cold"}'),
    ("assistant", '\nThought: done\nAction: Finish\nAction Input: {"return_type": "give_answer"}'),
]
LABEL = {
    "name": "weather", "step": "1", "mcp_server": "sky", "input": {"city": "Oslo"},
    "output": {"status_code": 200, "result": {}},
}  # fmt: skip
API = {
    "category_name": "Weather",
    "tool_name": "Sky Watch",
    "api_name": "Current (v2)",
    "api_description": "Weather now.",
    "required_parameters": [{"name": "city", "type": "STRING", "description": "City", "default": "Rome"}],
    "optional_parameters": [{"name": "days", "type": "NUMBER", "description": "", "default": ""}],
}
ROWS: dict[str, dict[str, Any]] = {
    "tool_calls": {
        "messages": [{"role": "user", "content": QUERY}], "tools": [TOOL], "temperature": 0,
        "expected": {"calls": [CALL]}, "tags": {"category": "weather", "difficulty": "easy"},
    },
    "chat": {"messages": [{"role": "user", "content": QUERY}], "tools": [TOOL], "expected_tool_call": True},
    "toolbench": {"id": 7, "query": QUERY, "tools": [TOOL], "ground_truth": [CALL], "difficulty": "hard"},
    "mcp_toolbench_pp": {
        "uuid": "u-1", "category": "weather", "call_type": "single", "query": QUERY, "function_call_label": [LABEL],
        "tools": [{"name": "weather", "description": "Weather.", "input_schema": SCHEMA}],
        "mcp_tools_dict": {"sky": ["weather"]},
    },
    "toolbench_conversations": {"id": "c-1", "conversations": [{"from": who, "value": what} for who, what in SAID]},
    "openbmb": {"api_list": [API], "query": QUERY, "relevant APIs": [["Sky Watch", "Current (v2)"]], "query_id": 12},
    "tool_correctness": {
        "input": QUERY, "actual_output": "It is cold.", "tools_called": ["weather", "sky"],
        "expected_tools": ["weather"],
    },
}  # fmt: skip


def read(*rows: Any, format: str | None = None, skip_bad: bool = False, array: bool = False) -> LoadedSamples:
    text = json.dumps(rows, indent=1) if array else "\n".join(json.dumps(row) for row in rows)
    return read_dataset_file(text.encode(), dataset="mine", file=FILE, format=format, skip_bad=skip_bad)


def one(row: dict[str, Any], **options: Any) -> Sample:
    [sample] = read(row, **options).samples
    return sample


def refusal(*rows: Any, **options: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        read(*rows, **options)
    return [str(problem) for problem in caught.value.problems]


def without(row: dict[str, Any], *keys: str, **more: Any) -> dict[str, Any]:
    return {**{key: value for key, value in row.items() if key not in keys}, **more}
