"""The simulated vendors over a socket: the official SDK reads them, and each persona shows its trait."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from vendor_verifier.features.simulate.model import value_for
from vendor_verifier.features.simulate.server import known_answers
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.records.plan import Task
from vendor_verifier.resources import shipped

TOOL = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object", "properties": {"id": {}}}}
TRUTH = [{"name": "look_up", "parameters": {"id": 7}}]
PROMPT = '{problem_statement}\n\nOutput your answer as a JSON array. Each has "name" and "parameters".'
ROWS: dict[str, dict[str, Any]] = {
    "toolbench": {"id": 7, "query": "Record 7.", "tools": [TOOL], "ground_truth": TRUTH},
    "mcptoolbench": {"uuid": "7", "category": "search", "call_type": "single", "tools": [TOOL], "query": "Record 7.",
                     "function_call_label": TRUTH},
    "tool_correctness": {"messages": [{"role": "user", "content": "Record 7."}], "expected": {"calls": TRUTH},
                         "tools": [{"type": "function", "function": TOOL}]},
}  # fmt: skip


@pytest.mark.parametrize("suite", ROWS)
@pytest.mark.parametrize("options", [{}, {"agent_prompt": PROMPT}, {"answer_format": "text"}])
def test_own_rows_are_known(bench: Any, suite: str, options: dict[str, Any]) -> None:
    samples = tuple(load_dataset(bench.write("own.jsonl", [ROWS[suite]])).samples)
    assert list(known_answers([Task(suite, samples, options)]).values()) == [[("look_up", {"id": 7})]]


@pytest.mark.parametrize("suite", ["toolbench", "mcptoolbench", "tool_correctness", "bfcl", "contract"])
def test_the_faithful_vendor_scores_one(bench: Any, suite: str) -> None:
    bench.configure("official: faithful", "twin: faithful")
    code, scores = bench.run("--suite", suite, "--request-concurrency", "40")
    assert code == 0
    for vendor in scores["models"]["simulated-model"]["vendors"].values():
        assert set(vendor["suites"][suite]["values"].values()) == {1}


def test_another_wire_is_refused(bench: Any) -> None:
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
    rows = map(json.loads, Path(shipped(f"datasets/{name}.jsonl")).read_text("utf-8").splitlines())
    for tool in (tool["function"] for row in rows for tool in row["tools"]):
        schema = {"type": "object", **tool.get("parameters", {})}
        for seed in range(3):
            value = value_for(schema, schema, random.Random(seed), WORDS)
            jsonschema_rs.validate(schema, value)
