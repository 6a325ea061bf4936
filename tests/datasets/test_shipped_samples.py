"""The files that ship: usable schemas, consistent histories, and expected calls that their tools take."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from vendor_verifier.config.suite_options import suite_options
from vendor_verifier.pipeline.datasets import load_dataset, suite_dataset
from vendor_verifier.records.record import Attempt, Response, Timing, ToolCall
from vendor_verifier.suites import SUITES, replay
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import MCPToolBenchSuite, ToolBenchSuite

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
Row = dict[str, Any]
SUITE_OF = {
    "toolbench": ToolBenchSuite(max_iterations=5),
    "mcp_toolbench": MCPToolBenchSuite(max_iterations=5),
    "tool_correctness": ToolCorrectnessSuite(max_iterations=5, compare_parameters=True, exact_match=True),
}
ROWS: list[Row] = [json.loads(line) for line in (DATASETS / "samples.jsonl").read_text("utf-8").splitlines()]
ALL = [json.loads(line) for name in SUITE_OF for line in (DATASETS / f"{name}.jsonl").read_text("utf-8").splitlines()]
SHIPPED = {kind.name: kind for kind in SUITES if isinstance(kind.dataset, str)}


def functions(row: Row) -> dict[str, Row]:
    return {entry["function"]["name"]: entry["function"] for entry in row["tools"]}


def check_call(row: Row, name: str, arguments: Any) -> None:
    schema = functions(row)[name].get("parameters", {})
    jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True).validate(arguments)


def test_the_file_is_what_the_script_writes() -> None:
    """Nobody edited the shipped file by hand."""
    script = [sys.executable, str(ROOT / "scripts" / "make_samples.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_histories_are_consistent() -> None:
    """It is the model's turn at the end; each call obeys its tool's schema, and its result follows under its id."""
    for row in ROWS:
        messages = row["messages"]
        assert messages[-1]["role"] in {"user", "tool"}
        assert "system" not in [message["role"] for message in messages[1:]]
        calls = [call for message in messages for call in message.get("tool_calls", [])]
        ids = [call["id"] for call in calls]
        assert len(set(ids)) == len(ids)
        assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids
        for index, message in enumerate(messages):
            results = messages[index + 1 :][: len(message.get("tool_calls", ()))]
            assert {result["role"] for result in results} <= {"tool"}
        for call in calls:
            check_call(row, call["function"]["name"], json.loads(call["function"]["arguments"]))


def test_tools_are_well_formed() -> None:
    """Names are unique in a row and legal everywhere; schemas are valid JSON Schema 2020-12."""
    schemas: dict[str, Any] = {}
    for row in [*ROWS, *ALL]:
        assert len(functions(row)) == len(row["tools"])
        for name, function in functions(row).items():
            assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
            assert function["description"]
            schemas[json.dumps(function.get("parameters", {}), sort_keys=True)] = function.get("parameters", {})
    for schema in schemas.values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
        jsonschema_rs.Draft202012Validator(schema, offline=True)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_file_has_a_defect(name: str) -> None:
    """Read as a user's own."""
    read = suite_dataset(
        suite_options(SHIPPED[name], {"test_file_path": str(ROOT / SHIPPED[name].dataset)}), skip_bad=False
    )
    assert len(read.samples) > 20
    assert not read.skipped
    assert read.defects == ()


@pytest.mark.parametrize("name", SUITE_OF)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_perfect_answer_resolves_every_row(name: str, at_once: bool) -> None:
    """No row is impossible: its own calls, all in one turn or one a turn, get the full score."""
    suite = SUITE_OF[name]
    main = "score" if name == "tool_correctness" else "resolved"
    for sample in load_dataset(DATASETS / f"{name}.jsonl").samples:
        calls = tuple(ToolCall(call["name"], json.dumps(call["parameters"])) for call in sample.expected["calls"])
        turns = [calls] if at_once or not calls else [(call,) for call in calls]
        said = [Response(tool_calls=turn, text="" if turn else "Fine.", finish_reason="stop") for turn in turns]
        score = replay(suite.play(sample), (Attempt(1, Timing("", 1), response) for response in said))
        assert score is not None, sample.tags["id"]
        assert score.values[main] == 1.0, sample.tags["id"]
