"""A run with real tools: simulated vendors, the server that ships, and what a user sees of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from call_evaluations import RIGHT, TWO, called, sample
from workbench import Bench

import vendor_verifier
from vendor_verifier.features.mcp_live.suite import MOST_CALLS, McpLiveSuite
from vendor_verifier.records.record import Attempt, Score
from vendor_verifier.records.request import RunTools, ToolResult, Turn
from vendor_verifier.resources import shipped

ROWS = [json.loads(line) for line in shipped("datasets/mcp_live.jsonl").read_text("utf-8").splitlines()]
TOOLS = ",".join(ROWS[0]["tools"])
REPOSITORY = Path(vendor_verifier.__file__).parents[1]
KEY = "sk-" + "CANARY0123456789abcdef"


def live(server: str = "demo", allow: str = TOOLS) -> tuple[str, ...]:
    options = ("--set", f"mcp_live.server={server}", "--set", f"mcp_live.allow={allow}")
    return ("--suite", "mcp_live", *options, "--history", "none")


def test_a_faithful_vendor_solves_every_row(bench: Bench) -> None:
    """A worse one does not; results are kept, no server is left, and the folder is scored without one."""
    bench.configure("good: faithful", "bad: substitute")
    _, scores = bench.run(*live())
    good, bad = (_values(scores, name) for name in ("good", "bad"))
    assert good["resolved"] == 1.0
    assert bad["resolved"] < 0.8
    turns = [turn for record in bench.records() if record["label"] == "good" for turn in record["turns"]]
    results = [result for turn in turns for result in turn.get("tool_results", ())]
    assert {result["outcome"] for result in results} == {"ok"}
    assert len(results) == sum(len(row["function_call_label"]) for row in ROWS)
    assert subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "mcp_live"], capture_output=True).stdout == b""
    code, out, _ = bench("score", bench.folder / "run", "--history", "none", "--json")
    assert code == 0
    assert _values(json.loads(out), "good") == good


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (live(allow="today,delete_all"), "has no tool delete_all"),
        (live(server="no-such-program"), "the MCP server cannot be used: "),
        (live(server=f"{sys.executable} -c 1/0"), "ZeroDivisionError"),
        (live(server=f"tool --key {KEY}"), "looks like a key"),
        (live(server="x 'y"), "not a command"),
        (live()[:2], "suites.mcp_live.server to a command"),
        ((*live(), "--set", "mcp_live.environment=NOT_SET"), "names NOT_SET, which has no value"),
        ((*live(), "--workers", "2"), "one MCP server in one process"),
    ],
)
def test_mistakes_are_refused_before_a_request(bench: Bench, words: tuple[str, ...], said: str) -> None:
    bench.configure("good: faithful")
    code, _, err = bench("--config-file-path", bench.folder / "config.yaml", *words, "-o", bench.folder / "run")
    assert code == 2
    assert said in " ".join(err.split())
    assert KEY not in err
    assert not (bench.folder / "run").exists()


@pytest.mark.parametrize("entry", [{"api_key": "${VENDOR_KEY}"}, {"extra_headers": {"x-key": "k ${VENDOR_KEY}"}}])
def test_no_server_gets_the_key_of_a_vendor(
    bench: Bench, entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY)
    bench.configure("good: http://127.0.0.1:9", **entry)
    code, _, err = bench(*bench.words("run", *live(), "--set", "mcp_live.environment=VENDOR_KEY"))
    assert (code, "which no MCP server gets" in " ".join(err.split())) == (2, True), err


def test_a_server_that_dies_charges_nobody(bench: Bench) -> None:
    broken, server = bench.folder / "broken", bench.folder / "server.py"
    server.write_text(
        f"import os, sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from vendor_verifier.features.mcp_live import demo_server\n"
        f"if os.path.exists({str(broken)!r}):\n"
        "    demo_server._SHARES = type('Dies', (), {'__getitem__': lambda *_: os._exit(3)})()\n"
        "demo_server.server.run('stdio')\n"
    )
    broken.touch()
    bench.configure("good: faithful")
    words = live(server=f"{sys.executable} {server}")
    _, scores = bench.run(*words, "-n", "8")
    assert set(scores["models"]["simulated-model"]["vendors"]["good"]["failures"]) == {"tool_server"}
    broken.unlink()
    bench.run(*words, "-n", "8", "--incremental")
    final = {record["sample"]: record["turns"][-1]["attempts"][-1] for record in bench.records()}
    assert len(final) == 8
    assert all(attempt.get("failure") is None for attempt in final.values())


def _values(scores: dict[str, Any], vendor: str) -> dict[str, Any]:
    found: dict[str, Any] = scores["models"]["simulated-model"]["vendors"][vendor]["suites"]["mcp_live"]["values"]
    return found


def played(suite: McpLiveSuite, answers: Iterator[Attempt]) -> tuple[Score, list[Turn | RunTools]]:
    """The score of a play with these answers and tools that answer, and all its steps."""
    play, steps = suite.play(sample(TWO)), list[Turn | RunTools]()
    sent: Any = None
    try:
        while True:
            steps.append(step := play.send(sent))
            is_turn = isinstance(step, Turn)
            sent = next(answers) if is_turn else tuple(ToolResult(each.name, "ok", "hi") for each in step.requests)
    except StopIteration as end:
        return end.value(), steps


def test_a_model_that_calls_for_ever_is_stopped() -> None:
    """By the number of turns, or of calls in all; its last calls are not run."""
    score, steps = played(McpLiveSuite(max_iterations=4), iter([RIGHT] * 9))
    assert sum(isinstance(step, Turn) for step in steps) == 4
    assert sum(len(step.requests) for step in steps if isinstance(step, RunTools)) == 3
    assert score.values["resolved"] == 0.0
    _, steps = played(McpLiveSuite(), iter([called(*[("a", "{}")] * (MOST_CALLS + 1))]))
    assert not any(step.requests for step in steps if isinstance(step, RunTools))
