"""The recipes of CONTRIBUTING.md, done in a copy of the package as they say, work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from persona_records import Vendor, run_folder
from questions import WEATHER
from recipes import ROOT, follow

from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample


def write_run(folder: Path) -> None:
    """A finished run of two vendors over one sample."""
    vendors = [Vendor(label, PERSONAS["faithful"], repeat=2) for label in ("official", "other|one")]
    run_folder(folder, vendors, [Sample("s", Turn(({"role": "user", "content": "hi"},), (WEATHER,)))])


def test_every_recipe_names_a_test_that_follows_it() -> None:
    """Nine ways to extend the product have one recipe each, and each the test that does what it says."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = dict(re.findall(r"^## Add an? ([^\n]+)\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL))
    kinds = "vendor, metric, failure kind, data-set format, evaluation, report format, report column"
    assert sorted(recipes) == sorted([*kinds.split(", "), "wire protocol"])
    for section in recipes.values():
        [(file, test)] = re.findall(r"^Held by `(tests/[\w/]+\.py)::(\w+)`\.$", section, re.MULTILINE)
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")


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


def test_a_report_format_is_one_file_and_one_line(tmp_path: Path) -> None:
    """`report` writes it by name, shows it in its help and its refusals, and hostile names break no table of it."""
    copy = follow("Add a report format", tmp_path)
    write_run(tmp_path / "run")
    said = copy.run("report", "run", "--format", "asciidoc", "-o", "out")
    assert "ranking.adoc" in said
    table = (tmp_path / "out" / "ranking.adoc").read_text(encoding="utf-8")
    title, begin, head, *rows, end = table.splitlines()
    assert title.startswith(".")
    assert (begin, end) == ("|===", "|===")
    assert head.startswith("|Vendor|Verdict|IRF Score|Success Rate")
    assert {re.sub(r"(?<!\\)\|.*", "", row[1:]) for row in rows} == {"official", r"other\|one"}
    assert "asciidoc" in copy.run("report", "--help")
    with pytest.raises(AssertionError, match="openmetrics, asciidoc"):
        copy.run("report", "run", "--format", "nothing")


@pytest.mark.slow
def test_a_report_format_gets_its_golden_files(tmp_path: Path) -> None:
    """The recipe's command makes three of the new format, changes no other, and they hold on the next run."""
    follow("Add a report format", tmp_path)
    for name in ("reports", "support"):
        shutil.copytree(ROOT / "tests" / name, tmp_path / "tests" / name)
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    golden = tmp_path / "tests" / "reports" / "golden"
    before = {file.name: file.read_bytes() for file in golden.iterdir()}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/reports/test_golden.py"]
    for update in ("1", "0"):
        environ = {**os.environ, "PYTHONPATH": str(tmp_path), "UPDATE_GOLDEN": update}
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    after = {file.name: file.read_bytes() for file in golden.iterdir()}
    assert set(after) - set(before) == {f"{case}.ranking.adoc" for case in ("full", "empty", "single")}
    assert before.items() <= after.items()


def test_a_report_column_is_one_line_and_its_heading(tmp_path: Path) -> None:
    """Terminal, Markdown and page have it under its heading, CSV under its name."""
    copy = follow("Add a report column", tmp_path)
    write_run(tmp_path / "run")
    assert "Asked again" in copy.run("report", "run", "--format", "terminal,md,html,csv", "-o", "out")
    assert all("Asked again" in (tmp_path / "out" / name).read_text("utf-8") for name in ("report.md", "report.html"))
    head, *rows = (tmp_path / "out" / "ranking.csv").read_text("utf-8").splitlines()
    assert head.endswith(",asked_again")
    assert [row.rpartition(",")[2] for row in rows] == ["0", "0"]
