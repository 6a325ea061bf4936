"""The evaluation files that ship: every expected call obeys its tool, and the promised cases are all there.

The files are read from the checkout as they lie on disk; no test sends anything.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from vendor_verifier.config.suite_options import TaskOptions
from vendor_verifier.loaders import LoadedSamples
from vendor_verifier.pipeline.datasets import load_dataset, suite_dataset
from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Response, Timing
from vendor_verifier.suites import SUITES, replay
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_calls.calls import first_problem, read_calls
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
NAMES = ("toolbench", "mcp_toolbench", "tool_correctness")
Row = dict[str, Any]
LINES = {name: (DATASETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines() for name in NAMES}
ROWS: dict[str, list[Row]] = {name: [json.loads(line) for line in LINES[name]] for name in NAMES}
ALL = [row for rows in ROWS.values() for row in rows]


def functions(row: Row) -> dict[str, Row]:
    return {tool["function"]["name"]: tool["function"] for tool in row["tools"]}


def features(row: Row) -> list[str]:
    return list(row["tags"]["features"])


def load(name: str) -> LoadedSamples:
    return load_dataset(DATASETS / f"{name}.jsonl")


def test_the_files_are_those_the_suites_name() -> None:
    """Proves that each evaluation finds its own file under the name its suite has for it."""
    wanted = {kind.dataset for kind in SUITES if kind.name in {"toolbench", "mcptoolbench", "tool_correctness"}}
    assert {f"datasets/{name}.jsonl" for name in NAMES} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_a_file_loads_without_any_defect(name: str) -> None:
    """Proves that the loader recognises the file, skips nothing, finds no defect and no repetition, in 60 rows."""
    loaded = load(name)
    assert (loaded.format, loaded.skipped, loaded.defects) == ("tool_calls", (), ())
    assert len(loaded.samples) >= 60
    assert len({sample.tags["id"] for sample in loaded.samples}) == len(loaded.samples)


SHIPPED = {kind.name: kind for kind in SUITES if isinstance(kind.dataset, str)}


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_file_has_a_defect(name: str) -> None:
    """Proves of every shipped file, read as a user's own, what runs take for granted of it: no tool has a defect."""
    read = suite_dataset(SHIPPED[name], TaskOptions(test_file_path=str(ROOT / SHIPPED[name].dataset)), skip_bad=False)
    assert len(read.samples) > 20
    assert (read.defects, read.notices) == ((), ())


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


def test_schemas_are_valid_and_names_unique() -> None:
    """Proves that every tool compiles under JSON Schema 2020-12, is described, and has a name of its own in its row."""
    for row in ALL:
        assert len(functions(row)) == len(row["tools"])
        assert all(function["description"] for function in functions(row).values())
    for schema in {json.dumps(f["parameters"]) for row in ALL for f in functions(row).values()}:
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **json.loads(schema)})


def test_no_question_is_asked_twice() -> None:
    """Proves that the variety is real, within and across the three files and the main sample file."""
    asked = [row["messages"][0]["content"] for row in ALL]
    main = (DATASETS / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    asked += [m["content"] for line in main for m in json.loads(line)["messages"][-1:] if m["role"] == "user"]
    repeated = {text for text, count in Counter(asked).items() if count > 1}
    assert repeated.isdisjoint(row["messages"][0]["content"] for row in ALL)


def test_features_say_what_the_calls_are() -> None:
    """Proves the tags from the calls themselves, written again here apart from the script."""
    for row in ALL:
        calls, found = row["expected"]["calls"], features(row)
        assert ("multi_step" in found) is (len(calls) > 1)
        assert ("no_call" in found) is (not calls)
        assert ("repeated" in found) is (max(Counter(call["name"] for call in calls).values(), default=0) > 1)
        assert ("null" in found) is any(":null" in json.dumps(c["parameters"], separators=(",", ":")) for c in calls)
        assert ("no_argument" in found) is any(not functions(row)[c["name"]]["parameters"]["properties"] for c in calls)
        assert ("dependent" in found) is any("output" in call for call in calls)


def test_a_dependent_row_tells_every_result() -> None:
    """Proves that each word with a digit in a parameter, such as an id, is asked for or told by an earlier call."""
    for row in ALL:
        known = row["messages"][0]["content"]
        for call in row["expected"]["calls"]:
            words = [word for value in call["parameters"].values() if isinstance(value, str) for word in value.split()]
            parts = [part for word in words for part in word.split("/") if any(map(str.isdigit, part))]
            assert all(part in known for part in parts), row["tags"]["id"]
            known += json.dumps(call.get("output"), ensure_ascii=False)
        assert all("output" not in call for call in row["expected"]["calls"][-1:])


def test_the_guide_names_every_file_with_its_rows() -> None:
    """Proves that the field guide has a section for each file and counts its rows rightly."""
    guide = (DATASETS / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        section = guide.split(f"# {name}.jsonl\n", 1)[1].split("\n# ", 1)[0]
        assert f"{len(ROWS[name])} rows" in section
        assert all(row["tags"]["category"] in section for row in ROWS[name])


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
