"""Files of Tool Correctness: answers that are there are scored, questions are asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.cli.main import run_app

ROWS: list[dict[str, Any]] = [
    {
        "input": "Search for hotels in Paris and book the cheapest one.",
        "actual_output": "I found and booked Hotel Le Marais for $120/night.",
        "tools_called": ["search_hotels", "sort_by_price", "book_hotel"],
        "expected_tools": ["search_hotels", "book_hotel"],
    },
    {
        "input": "And the weather?",
        "tools_called": ["search_hotels"],
        "expected_tools": ["get_weather", "search_hotels"],
    },
    {"input": "Thanks!", "tools_called": None, "expected_tools": []},
]


@pytest.fixture(params=["cases.jsonl", "cases.json"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The rows as JSON lines, and as a pretty-printed array."""
    path = tmp_path / str(request.param)
    lines = "\n".join(json.dumps(row) for row in ROWS)
    path.write_text(lines if path.suffix == ".jsonl" else json.dumps(ROWS, indent=2))
    return path


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world in which opening a socket is an error."""

    def refuse(*_: object) -> None:
        raise AssertionError("something was sent")

    monkeypatch.setattr("socket.socket.connect", refuse)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    ("option", "scores"),
    [("exact_match=false", [1, 0.5, 1]), ("exact_match=true", [0, 0, 1]), ("check_ordering=true", [1, 0.5, 1])],
)
def test_stored_answers_are_scored_without_asking(
    file: Path, option: str, scores: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every way to score, with a reason for each case, and nothing is sent."""
    assert run_app(["score", str(file), "--set", f"tool_correctness.{option}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [case["score"] for case in found["cases"]] == scores
    assert [case["row"] for case in found["cases"]] == [1, 2, 3]
    assert all(case["reason"] for case in found["cases"])
    assert list(found["scores"].values()) == [sum(scores) / 3]


@pytest.mark.parametrize(
    ("row", "words", "said"),
    [
        ({"input": "a", "expected_tools": ["x"]}, [], "tools_called: no answer to score"),
        ({"input": "a", "expected_tools": "x", "tools_called": []}, [], "expected_tools: text that is not JSON"),
        ({"input": "a", "expected_tools": 3, "tools_called": []}, [], 'such as ["search", "book"], read a number'),
        (ROWS[0], ["--gate", "f1 >= 0.9"], "--gate: needs a run folder; this is a file of answers"),
        (ROWS[0], ["--set", "tool_correctness.max_iterations=2"], "decides what is asked"),
        (ROWS[0], ["--set", "toolbench.answer_format=text"], "toolbench does not take part"),
    ],
)
def test_what_cannot_be_scored_is_named(
    row: dict[str, Any], words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row without an answer, sides that are no lists, and options of a run."""
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(row))
    assert run_app(["score", str(file), *words]) == 2
    assert said in capsys.readouterr().err


FIELDS = {
    "toolbench": {"resolved", "tool_selection_accuracy", "expected_tools", "agent_tools"},
    "mcptoolbench": {"resolved", "tool_selection_accuracy", "parameter_accuracy", "sequence_match", "details"},
    "tool_correctness": {"score", "success", "reason"},
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration of two simulated vendors."""
    shutil.copy("config_simulated.yaml", tmp_path / "config.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*words: str) -> int:
    chosen = ["--model", "simulated-model", "--vendor", "official", "--vendor", "text-leaker", "--history", "none"]
    return run_app(["run", "-c", "config.yaml", *words, *chosen])


def _results(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.mark.parametrize("name", ["toolbench", "mcptoolbench"])
def test_the_pages_command_writes_the_pages_fields(place: Path, name: str) -> None:
    """``run -c … --benchmark NAME -n 12 -v -o results.json``: a file, not a folder, with every task of every vendor."""
    assert _run("--benchmark", name, "-n", "12", "-v", "-o", "results.json") == 0
    found = _results(place / "results.json")
    (folder,) = (path for path in (place / "runs").iterdir() if not path.is_symlink())
    assert _results(folder / "results.json") == found
    assert len(found["tasks"]) == 24
    assert len({(task["task_id"], task["vendor"]) for task in found["tasks"]}) == 24
    called = [task for task in found["tasks"] if task["decision"] == "called"]
    assert all(FIELDS[name] <= set(task) for task in called)
    assert {task["resolved"] for task in found["tasks"]} == {True, False}
    assert all("error" in task or "details" in task for task in found["tasks"] if not task["resolved"])


def test_scoring_again_writes_it_anew(place: Path) -> None:
    """The judgement of the file is the last one; every evaluation has its own fields."""
    suites = [word for name in FIELDS for word in ("--suite", name)]
    assert _run(*suites, "-n", "8", "-q", "-o", "run") == 0
    before = _results(place / "run" / "results.json")["tasks"]
    for name, fields in FIELDS.items():
        own = [task for task in before if task["suite"] == name and task["decision"] == "called"]
        assert own
        assert all(fields <= set(task) for task in own)
    assert run_app(["score", "run", "--set", "tool_correctness.threshold=0", "--history", "none"]) == 0
    after = [task for task in _results(place / "run" / "results.json")["tasks"] if task["suite"] == "tool_correctness"]
    assert {task["success"] for task in after} == {True}


def test_a_run_without_evaluations_has_no_task_results(place: Path) -> None:
    """Triggering is a comparison and no score of a task; where a file is asked for its decisions stand in it."""
    assert _run("-n", "4", "-q", "-o", "run") == 0
    assert not (place / "run" / "results.json").exists()
    assert _run("-n", "4", "-q", "-o", "out/decisions.json") == 0
    assert {task["decision"] for task in _results(place / "out" / "decisions.json")["tasks"]} <= {
        "called",
        "not_called",
    }


def test_a_resumed_run_tells_each_task_once(place: Path) -> None:
    """What failed and was asked again is there as it is now."""
    assert _run("--suite", "toolbench", "-n", "6", "-q", "-o", "run") == 0
    records = (place / "run" / "records.jsonl").read_text().splitlines()
    (place / "run" / "records.jsonl").write_text("\n".join(records[:5]) + "\n")
    assert _run("--suite", "toolbench", "-n", "6", "-q", "-o", "run", "--incremental") == 0
    tasks = _results(place / "run" / "results.json")["tasks"]
    assert len(tasks) == len({(task["sample"], task["vendor"]) for task in tasks}) == 12
