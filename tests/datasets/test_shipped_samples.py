"""The sample file that ships: well-formed rows, usable schemas, consistent histories, and the promised variety.

The file is read from the checkout as it lies on disk; no test sends anything.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
SAMPLES = DATASETS / "samples.jsonl"
Row = dict[str, Any]

LINES = SAMPLES.read_text(encoding="utf-8").splitlines()
ROWS: list[Row] = [json.loads(line) for line in LINES]
KEY_ORDER = ["messages", "tools", "tool_choice", "parallel_tool_calls", "expected_tool_call", "tags"]
ROLES = {"system", "_input", "user", "assistant", "tool"}
NO_CALL_CATEGORIES = {
    "no_call_chitchat",
    "no_call_missing_info",
    "no_call_irrelevant",
    "multi_turn_answer",
    "choice_none",
}
MIXED_CATEGORIES = {"long_system", "input_role"}


def category(row: Row) -> str:
    return str(row["tags"]["category"])


def rows_of(name: str) -> list[Row]:
    return [row for row in ROWS if category(row) == name]


def functions(row: Row) -> dict[str, Row]:
    return {entry["function"]["name"]: entry["function"] for entry in row["tools"]}


def nodes(value: Any) -> Iterator[Row]:
    """Every object inside a JSON value, itself included."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from nodes(member)


def parameter_schemas() -> dict[str, Any]:
    """Every distinct parameters schema of the file, by its JSON text."""
    found = [f["parameters"] for row in ROWS for f in functions(row).values() if "parameters" in f]
    return {json.dumps(schema, sort_keys=True): schema for schema in found}


def history_calls(row: Row) -> list[Row]:
    return [call for message in row["messages"] for call in message.get("tool_calls", [])]


def test_the_file_is_what_the_script_writes() -> None:
    """Proves that nobody edited the shipped file by hand: the script with --check finds no difference."""
    script = [sys.executable, str(ROOT / "scripts" / "make_samples.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_enough_rows_in_one_compact_line_each() -> None:
    """Proves the size, and that each line is compact JSON that keeps every script readable."""
    assert len(ROWS) >= 220
    for line, row in zip(LINES, ROWS, strict=True):
        assert line == json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def test_rows_have_only_the_promised_keys_in_a_stable_order() -> None:
    """Proves that a row is a request body without model and sampling settings, plus the control keys."""
    for row in ROWS:
        assert list(row) == [key for key in KEY_ORDER if key in row]
        assert {"messages", "tools", "expected_tool_call", "tags"} <= row.keys()
        assert isinstance(row["expected_tool_call"], bool)
        assert list(row["tags"]) == ["category", "domain", "language", "difficulty"]
        assert row["tags"]["difficulty"] in {"easy", "medium", "hard"}


def test_no_row_is_sent_twice() -> None:
    """Proves that no two rows share messages, tools and tool_choice, so that each measures something of its own."""
    requests = [json.dumps([row["messages"], row["tools"], row.get("tool_choice")], sort_keys=True) for row in ROWS]
    assert [request for request, count in Counter(requests).items() if count > 1] == []


def test_user_requests_do_not_repeat() -> None:
    """Proves that the variety is real: no two rows open with the same user text."""
    openings = [next(m["content"] for m in row["messages"] if m["role"] == "user") for row in ROWS]
    assert [text for text, count in Counter(openings).items() if count > 1] == []


def test_messages_have_known_roles_and_text() -> None:
    """Proves that every message is of a known role and says something, or is an assistant turn with calls."""
    for row in ROWS:
        for message in row["messages"]:
            assert message["role"] in ROLES
            assert message["content"] or (message["content"] is None and message["tool_calls"])


def test_conversations_end_with_the_user_or_a_tool_result() -> None:
    """Proves that it is the model's turn at the end of every row, and that instructions stand only at the start."""
    for row in ROWS:
        roles = [message["role"] for message in row["messages"]]
        assert roles[-1] in {"user", "tool"}
        assert not {"system", "_input"} & set(roles[1:])


def test_tool_names_are_unique_within_a_row() -> None:
    """Proves that a call's name leads to exactly one definition."""
    for row in ROWS:
        assert len(functions(row)) == len(row["tools"])
        assert all(entry["type"] == "function" for entry in row["tools"])
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in functions(row))
        assert all(function["description"] for function in functions(row).values())


@pytest.mark.parametrize("schema", parameter_schemas().values())
def test_tool_schemas_are_valid(schema: Row) -> None:
    """Proves that a tool's parameters are a valid JSON Schema 2020-12, compile in a validator, and refer locally."""
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    jsonschema_rs.Draft202012Validator(schema, offline=True)
    assert all(node["$ref"].startswith("#/$defs/") for node in nodes(schema) if "$ref" in node)
    assert all(set(node.get("required", ())) <= node.get("properties", {}).keys() for node in nodes(schema))


def test_patterns_come_with_examples_that_match() -> None:
    """Proves that every string with a pattern shows an example, and that examples and defaults obey the schema."""
    for schema in parameter_schemas().values():
        for node in nodes(schema):
            shown = [*node.get("examples", ()), *([node["default"]] if "default" in node else ())]
            assert all(jsonschema_rs.Draft202012Validator(node).is_valid(value) for value in shown), node
            if isinstance(node.get("pattern"), str):
                assert node.get("examples"), node


def test_history_calls_are_valid_for_their_tool() -> None:
    """Proves that every call in a history names a tool of its row and obeys its schema, formats too."""
    for row in ROWS:
        for call in history_calls(row):
            schema = functions(row)[call["function"]["name"]].get("parameters", {})
            arguments = json.loads(call["function"]["arguments"])
            jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(arguments)


def test_history_results_answer_their_calls() -> None:
    """Proves that each assistant turn with calls is followed by one result per call, in order, under unique ids."""
    for row in ROWS:
        ids = [call["id"] for call in history_calls(row)]
        assert len(set(ids)) == len(ids)
        assert [m["tool_call_id"] for m in row["messages"] if m["role"] == "tool"] == ids
        for index, message in enumerate(row["messages"]):
            count = len(message.get("tool_calls", ()))
            assert all(m["role"] == "tool" for m in row["messages"][index + 1 : index + 1 + count])


def test_tool_choice_fits_the_expectation() -> None:
    """Proves that a demanded call is expected, a forbidden one is not, and a demanded tool is on offer."""
    for row in ROWS:
        choice = row.get("tool_choice", "auto")
        if choice == "auto":
            continue
        assert row["expected_tool_call"] is (choice != "none")
        assert isinstance(choice, str) or choice["function"]["name"] in functions(row)


def test_every_category_expects_what_its_name_says() -> None:
    """Proves that expected_tool_call agrees with the category, except in the two that hold both kinds."""
    for row in ROWS:
        if category(row) not in MIXED_CATEGORIES:
            assert row["expected_tool_call"] is (category(row) not in NO_CALL_CATEGORIES), row["messages"][-1]
    assert all(len({row["expected_tool_call"] for row in rows_of(name)}) == 2 for name in MIXED_CATEGORIES)


def test_the_guide_counts_every_category() -> None:
    """Proves that the field guide names each category with the number of its rows, and the whole with its own."""
    guide = (DATASETS / "README.md").read_text(encoding="utf-8")
    listed = {name: int(count) for name, count in re.findall(r"^\| `(\w+)` \| (\d+) \|", guide, re.MULTILINE)}
    assert listed == dict(Counter(map(category, ROWS)))
    assert f"{len(ROWS)} requests" in guide
