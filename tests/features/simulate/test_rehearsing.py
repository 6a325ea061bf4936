"""Simulated vendors know the answers to a user's own rows in every format, and say which rows they cannot know."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vendor_verifier.features.simulate.answer_key import read_key, written_key
from vendor_verifier.features.simulate.rehearsal import known_of_files, rehearse
from vendor_verifier.values.plan import Task
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, Source

if TYPE_CHECKING:
    from benches import Bench

PROMPT = '{problem_statement}\n\nOutput your answer as a JSON array. Each has "name" and "parameters".'
TOOL = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object", "properties": {"id": {}}}}
DECLARED = [{"type": "function", "function": TOOL}]


def own_row(number: int, calls: Any = None) -> dict[str, Any]:
    stated = [{"name": "look_up", "parameters": {"id": number}}] if calls is None else calls
    messages = [{"role": "user", "content": f"Record {number} of my own, please."}]
    return {"messages": messages, "tools": DECLARED, "expected": {"calls": stated}}


def toolbench_row(number: int) -> dict[str, Any]:
    truth = [{"name": "look_up", "parameters": {"id": number}}]
    return {"id": number, "query": f"Own toolbench row {number}.", "tools": [TOOL], "ground_truth": truth}


def mcp_row(number: int) -> dict[str, Any]:
    label = [{"name": "look_up", "parameters": {"id": number}}]
    row = {"uuid": f"u{number}", "category": "search", "call_type": "single", "tools": [TOOL]}
    return {**row, "query": f"Own MCP row {number}.", "function_call_label": label}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def task(suite: str, calls: Iterable[Any], options: dict[str, Any] | None = None, **parameters: Any) -> Task:
    samples = tuple(
        Sample(
            f"s{line}-1",
            Turn(tuple(own_row(line)["messages"]), tuple(DECLARED), parameters),
            each,
            source=Source("x", line),
        )
        for line, each in enumerate(calls, 1)
    )
    return Task(suite, samples, options or {}, None)


RIGHT = {"calls": [{"name": "look_up", "parameters": {"id": 1}}]}
TWICE = {"calls": [{"name": "look_up", "parameters": {"id": 1}}, {"name": "look_up", "parameters": {"id": 2}}]}


@pytest.mark.parametrize("suite", ["toolbench", "mcptoolbench", "tool_correctness"])
@pytest.mark.parametrize("row", [own_row, toolbench_row, mcp_row])
@pytest.mark.parametrize("options", [{}, {"agent_prompt": PROMPT}, {"answer_format": "text"}, {"mode": "compat"}])
def test_the_answers_of_a_users_own_rows_are_found_in_every_format(
    tmp_path: Path, suite: str, row: Any, options: dict[str, Any]
) -> None:
    """Every row of every format comes out right in every evaluation, asked natively, in other words or as text."""
    from vendor_verifier.pipeline.datasets import load_dataset

    samples = tuple(load_dataset(write(tmp_path / "own.jsonl", map(row, range(3)))).samples)
    found = rehearse([Task(suite, samples, options, None)], 0)
    assert (len(found.key), found.unknown) == (3, {})


@pytest.mark.parametrize(
    ("expected", "parameters", "reason"),
    [
        ({}, {}, "it does not say which calls are expected"),
        ({"calls": [{"name": "other"}]}, {}, "it expects a call of 'other', which it does not declare"),
        (RIGHT, {"temperature": 9}, "every vendor refuses the question"),
        (RIGHT, {"tool_choice": "none"}, "the answer in its key is not counted as right"),
        (TWICE, {"parallel_tool_calls": False}, "the answer in its key is not counted as right"),
    ],
)
def test_a_row_that_cannot_be_known_is_named_with_its_line_and_the_reason(
    expected: dict[str, Any], parameters: dict[str, Any], reason: str
) -> None:
    """The warning counts, gives the lines, and why."""
    (warning,) = rehearse([task("tool_correctness", [RIGHT, expected], {"threshold": 1.0}, **parameters)], 0).warnings()
    assert "rows of tool_correctness" in warning
    assert "line 2" in warning
    assert reason in warning


def test_of_two_rows_that_ask_the_same_the_second_answer_is_not_known() -> None:
    """One question has one answer."""
    sample = task("toolbench", [RIGHT]).samples[0]
    other = Sample("o-1", sample.turn, TWICE, source=Source("x", 2))
    (warning,) = rehearse([Task("toolbench", (sample, other), {}, None)], 0).warnings()
    assert "1 of 2 rows" in warning
    assert "another row asks the same and expects another answer" in warning


def test_calls_one_at_a_time_are_known_turn_by_turn() -> None:
    """With more turns the next call's question, tool result and all, is known as well."""
    found = rehearse([task("toolbench", [TWICE], {"max_iterations": 3}, parallel_tool_calls=False)], 0)
    assert (len(found.key), found.unknown) == (2, {})


def test_rows_that_are_compared_with_the_baseline_need_no_answer() -> None:
    """trigger holds nobody to an answer key, so nothing is missing there."""
    assert list(rehearse([task("trigger", [{}, RIGHT])], 0).warnings()) == []


def test_a_key_survives_its_way_to_the_other_process() -> None:
    """What is written is read back the same."""
    key = rehearse([task("toolbench", [RIGHT]), task("trigger", [{"expected_tool_call": False}] * 2)], 0).key
    assert read_key(written_key(key).encode()) == key


def test_files_are_known_by_what_their_rows_carry(tmp_path: Path) -> None:
    """Rows without a key are named by file and line."""
    path = write(tmp_path / "own.jsonl", [own_row(1), own_row(2, [{"name": "other"}])])
    found = known_of_files([path])
    assert len(found.key) == 2
    assert found.unknown == {"own.jsonl": {"line 2": "it expects a call of 'other', which it does not declare"}}


@pytest.mark.parametrize("suite", ["toolbench", "mcptoolbench", "tool_correctness"])
@pytest.mark.parametrize("prompt", [None, PROMPT])
def test_a_run_on_own_rows_scores_the_faithful_vendor_one(bench: Bench, suite: str, prompt: str | None) -> None:
    """From the command line over real sockets: 1 for faithful, and no word of rows not known."""
    extra = "" if prompt is None else f"suites:\n  {suite}:\n    agent_prompt: {json.dumps(prompt)}\n"
    bench.configure("official: faithful", extra=extra)
    write(bench.folder / "samples.jsonl", map(own_row, range(6)))
    code, scores = bench.run("--suite", suite)
    assert code == 0
    (vendor,) = scores["models"]["simulated-model"]["vendors"].values()
    values = vendor["suites"][suite]["values"]
    assert {value for value in values.values() if value is not None} == {1.0}
    assert not any("simulated vendors" in warning for warning in scores["warnings"])


def test_rows_not_known_are_told_before_anything_is_sent(bench: Bench) -> None:
    """A dry run says it already, with lines; so does the report."""
    bench.configure("official: faithful")
    write(bench.folder / "samples.jsonl", [own_row(1), own_row(2, [{"name": "other"}])])
    paths = ("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl")
    code, _, err = bench(*paths, "--suite", "toolbench", "--dry-run")
    words = "the simulated vendors do not know the right answer to 1 of 2 rows of toolbench"
    assert (code, words in err, "line 2" in err) == (0, True, True)
    _, scores = bench.run("--suite", "toolbench")
    assert any(words in warning for warning in scores["warnings"])


def test_simulate_answers_the_rows_of_a_file(tmp_path: Path) -> None:
    """The command serves what a user's own file knows, and warns of the rows that carry nothing."""
    path = write(tmp_path / "own.jsonl", [own_row(71), own_row(72, [{"name": "other"}])])
    command = [sys.executable, "-m", "vendor_verifier.cli.main", "simulate", "--port", "0", "--speed", "50"]
    with subprocess.Popen(
        [*command, "--test-file-path", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            base = process.stdout.readline().split()[-1]
            body = {"model": "simulated-model", **{key: own_row(71)[key] for key in ("messages", "tools")}}
            asked = urllib.request.Request(
                f"{base}/faithful/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
            )
            with urllib.request.urlopen(asked) as reply:
                (call,) = json.load(reply)["choices"][0]["message"]["tool_calls"]
        finally:
            process.terminate()
        assert json.loads(call["function"]["arguments"]) == {"id": 71}
        assert "1 of 2 rows of own.jsonl" in process.stderr.read()
