"""The recipes of CONTRIBUTING.md, done in a copy of the package as they say, work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recipes import follow


def test_a_data_set_format_is_one_file_and_one_line(tmp_path: Path) -> None:
    """Rows of the new format are recognised by themselves, and it is named where a row is of no format."""
    copy = follow("Add a data-set format", tmp_path)
    (tmp_path / "quiz.jsonl").write_text('{"ask": "What is the weather?", "tool": "get_weather", "id": "q1"}\n')
    assert "1 row read as quiz" in copy.run("convert", "quiz.jsonl", "own.jsonl")
    row = json.loads((tmp_path / "own.jsonl").read_text())
    assert (row["messages"][0]["content"], row["expected"]["calls"]) == ("What is the weather?", ["get_weather"])
    (tmp_path / "other.jsonl").write_text('{"nothing": 1}\n')
    with pytest.raises(AssertionError, match="quiz: ask, tool"):
        copy.run("convert", "other.jsonl", "never.jsonl")


@pytest.mark.slow
def test_an_evaluation_is_one_file_and_one_line(tmp_path: Path) -> None:
    """It runs, takes its options, has its score in JSON, Markdown and CSV, joins the ranking and is judged again."""
    copy = follow("Add an evaluation", tmp_path)
    few = ("-n", "3", "-q", "-o", "run", "--suite", "brevity", "--suite-option", "brevity.most_words=1")
    copy.run("demo", *few)
    run = tmp_path / "run"
    assert all("brevity" in (run / name).read_text() for name in ("scores.json", "report.md", "ranking.csv"))
    assert '"short"' in (run / "scores.json").read_text()
    assert "brevity" in copy.run("score", "run", "--rank-metric", "brevity", "--no-history")
    with pytest.raises(AssertionError, match="most_words"):
        copy.run("demo", *few[:-1], "brevity.most_words=few")
