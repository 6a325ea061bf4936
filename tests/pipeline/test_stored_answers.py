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


@pytest.mark.usefixtures("silent")
def test_the_screen_names_what_is_not_right(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mean, how many pass, and the rows below full marks with the reason."""
    assert run_app(["score", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"{file.name}: 3 answers", "tool_correctness: score 0.833, 3 of 3 pass (threshold 0.5)"]
    assert lines[2:] == [
        "  row 2: 0.500: Missing tools ['get_weather']. "
        "Expected ['get_weather', 'search_hotels'], called ['search_hotels']."
    ]


def test_the_same_rows_are_asked_of_a_vendor(file: Path, tmp_path: Path) -> None:
    """A live run over the file: the faithful vendor is right everywhere."""
    shutil.copy("config_simulated.yaml", tmp_path / "config.yaml")
    command = ["run", "--config-file-path", str(tmp_path / "config.yaml"), "--model", "simulated-model"]
    command += ["--vendor", "official", "--suite", "tool_correctness", "--test-file-path", str(file)]
    assert run_app([*command, "-q", "--history", "none", "-o", str(tmp_path / "run")]) == 0
    (model,) = json.loads((tmp_path / "run" / "scores.json").read_text())["models"].values()
    assert model["vendors"]["official"]["suites"]["tool_correctness"]["values"]["score"] == 1.0


@pytest.mark.parametrize(
    ("row", "words", "said"),
    [
        ({"input": "a", "expected_tools": ["x"]}, [], "tools_called: no answer to score"),
        ({"input": "a", "expected_tools": "x", "tools_called": []}, [], "expected_tools: text that is not JSON"),
        ({"input": "a", "expected_tools": 3, "tools_called": []}, [], 'such as ["search", "book"], read a number'),
        (ROWS[0], ["--gate", "f1 >= 0.9"], "--gate: needs a run folder; this is a file of answers"),
        (ROWS[0], ["--set", "tool_correctness.max_iterations=2"], "is an option of asking"),
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
