"""The files that ship: usable schemas, consistent histories, and expected calls that their tools take."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from vendor_verifier.config.suite_options import TaskOptions
from vendor_verifier.loaders import LoadedSamples
from vendor_verifier.pipeline.datasets import load_dataset, suite_dataset
from vendor_verifier.records.record import Attempt, Response, Timing, ToolCall
from vendor_verifier.suites import SUITES, replay
from vendor_verifier.suites.calls import first_problem, read_calls
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import MCPToolBenchSuite, ToolBenchSuite

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
Row = dict[str, Any]

NAMES = ("toolbench", "mcp_toolbench", "tool_correctness")
ROWS: list[Row] = [json.loads(line) for line in (DATASETS / "samples.jsonl").read_text("utf-8").splitlines()]
ALL = [json.loads(line) for name in NAMES for line in (DATASETS / f"{name}.jsonl").read_text("utf-8").splitlines()]


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
    found = [f["parameters"] for row in [*ROWS, *ALL] for f in functions(row).values() if "parameters" in f]
    return {json.dumps(schema, sort_keys=True): schema for schema in found}


def history_calls(row: Row) -> list[Row]:
    return [call for message in row["messages"] for call in message.get("tool_calls", [])]


def test_the_file_is_what_the_script_writes() -> None:
    """Proves that nobody edited the shipped file by hand: the script with --check finds no difference."""
    script = [sys.executable, str(ROOT / "scripts" / "make_samples.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


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


def load(name: str) -> LoadedSamples:
    return load_dataset(DATASETS / f"{name}.jsonl")


SHIPPED = {kind.name: kind for kind in SUITES if isinstance(kind.dataset, str)}


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_file_has_a_defect(name: str) -> None:
    """Proves of every shipped file, read as a user's own, what runs take for granted of it: no tool has a defect."""
    read = suite_dataset(SHIPPED[name], TaskOptions(test_file_path=str(ROOT / SHIPPED[name].dataset)), skip_bad=False)
    assert len(read.samples) > 20
    assert not read.skipped
    assert read.defects == ()


@pytest.mark.parametrize("row", ALL, ids=[row["tags"]["id"] for row in ALL])
def test_expected_calls_are_valid_for_their_tool(row: Row) -> None:
    """Proves that each expected call is of a tool on offer and obeys its schema, and similar tools are on offer too."""
    for call in row["expected"]["calls"]:
        schema = functions(row)[call["name"]]["parameters"]
        jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True).validate(call["parameters"])
        assert call["parameters"].keys() <= schema["properties"].keys()
    for similar in row["expected"].get("similar", ()):
        assert set(similar) <= functions(row).keys()
    assert first_problem(read_calls(row["expected"]["calls"])) is None


SUITE_OF = {
    "toolbench": ToolBenchSuite(max_iterations=5),
    "mcp_toolbench": MCPToolBenchSuite(max_iterations=5),
    "tool_correctness": ToolCorrectnessSuite(max_iterations=5, compare_parameters=True, exact_match=True),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_perfect_answer_resolves_every_row(name: str, at_once: bool) -> None:
    """Proves that no row is impossible: its own calls, all in one turn or one a turn, get the full score."""
    suite = SUITE_OF[name]
    main = "score" if name == "tool_correctness" else "resolved"
    for sample in load(name).samples:
        calls = tuple(ToolCall(call["name"], json.dumps(call["parameters"])) for call in sample.expected["calls"])
        turns = [calls] if at_once or not calls else [(call,) for call in calls]
        said = [Response(tool_calls=turn, text="" if turn else "Fine.", finish_reason="stop") for turn in turns]
        score = replay(suite.play(sample), (Attempt(1, Timing("", 1), response) for response in said))
        assert score is not None, sample.tags["id"]
        assert score.values[main] == 1.0, sample.tags["id"]
