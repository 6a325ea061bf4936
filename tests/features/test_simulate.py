"""The simulated vendors over a socket: the official SDK reads them, and each persona shows its trait."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from vendor_verifier.features.simulate.answer_key import known_answers
from vendor_verifier.features.simulate.schema_values import value_for
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.records.plan import Task
from vendor_verifier.resources import shipped

TOOL = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object", "properties": {"id": {}}}}
DECLARED = [{"type": "function", "function": TOOL}]
PROMPT = '{problem_statement}\n\nOutput your answer as a JSON array. Each has "name" and "parameters".'


def own_row(number: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"Record {number} of my own, please."}]
    calls = [{"name": "look_up", "parameters": {"id": number}}]
    return {"messages": messages, "tools": DECLARED, "expected": {"calls": calls}}


def toolbench_row(number: int) -> dict[str, Any]:
    truth = [{"name": "look_up", "parameters": {"id": number}}]
    return {"id": number, "query": f"Own toolbench row {number}.", "tools": [TOOL], "ground_truth": truth}


def mcp_row(number: int) -> dict[str, Any]:
    label = [{"name": "look_up", "parameters": {"id": number}}]
    row = {"uuid": f"u{number}", "category": "search", "call_type": "single", "tools": [TOOL]}
    return {**row, "query": f"Own MCP row {number}.", "function_call_label": label}


@pytest.mark.parametrize("suite", ["toolbench", "mcptoolbench", "tool_correctness"])
@pytest.mark.parametrize("row", [own_row, toolbench_row, mcp_row])
@pytest.mark.parametrize("options", [{}, {"agent_prompt": PROMPT}, {"answer_format": "text"}])
def test_own_rows_are_known(bench: Any, suite: str, row: Any, options: dict[str, Any]) -> None:
    """In every format and wording."""
    samples = tuple(load_dataset(bench.write("own.jsonl", [row(number) for number in range(3)])).samples)
    key = known_answers([Task(suite, samples, options)])
    assert sorted(key.values(), key=str) == [[("look_up", {"id": number})] for number in range(3)]


@pytest.mark.parametrize("suite", ["toolbench", "mcptoolbench", "tool_correctness", "bfcl", "contract"])
def test_the_faithful_vendor_scores_one(bench: Any, suite: str) -> None:
    """On all shipped rows."""
    bench.configure("official: faithful", "twin: faithful")
    code, scores = bench.run("--suite", suite, "--request-concurrency", "40")
    assert code == 0
    for vendor in scores["models"]["simulated-model"]["vendors"].values():
        assert set(vendor["suites"][suite]["values"].values()) == {1}


def test_another_wire_is_refused(bench: Any) -> None:
    """Simulated vendors speak chat completions only."""
    bench.configure("official: faithful")
    path = bench.folder / "config.yaml"
    path.write_text(path.read_text().replace("validator: openai", "validator: anthropic"))
    code, _, err = bench("--test-file-path", bench.samples(2), "-o", "run")
    assert code == 2
    assert "chat completions" in err


FILES = ("samples", "toolbench", "mcp_toolbench", "tool_correctness")
WORDS = "report north blue seven".split()


@pytest.mark.parametrize("name", FILES)
def test_values_fit_every_shipped_schema(name: str) -> None:
    """Of each tool, from three seeds."""
    rows = map(json.loads, Path(shipped(f"datasets/{name}.jsonl")).read_text("utf-8").splitlines())
    for tool in (tool["function"] for row in rows for tool in row["tools"]):
        schema = {"type": "object", **tool.get("parameters", {})}
        for seed in range(3):
            value = value_for(schema, schema, random.Random(seed), WORDS)
            jsonschema_rs.validate(schema, value)
