"""Answers that are there: files of Tool Correctness, and one run judged in every way."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from workbench import Bench

from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder

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


@pytest.mark.parametrize(
    ("name", "option", "scores"),
    [
        ("cases.json", "exact_match=false", [1, 0.5, 1]),
        ("cases.jsonl", "exact_match=true", [0, 0, 1]),
        ("cases.jsonl", "check_ordering=true", [1, 0.5, 1]),
    ],
)
def test_stored_answers_are_scored_without_asking(
    bench: Bench, name: str, option: str, scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way to score rows as JSON lines and as an array, with a reason for each case, and nothing is sent."""
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("something was sent"))
    bench.write(name, ROWS if name.endswith("l") else json.dumps(ROWS, indent=2))
    code, out, _ = bench("score", name, "--set", f"tool_correctness.{option}", "--json")
    found = json.loads(out)
    assert code == 0
    assert [(case["row"], case["score"]) for case in found["cases"]] == list(enumerate(scores, 1))
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
    ],
)
def test_what_cannot_be_scored_is_named(bench: Bench, row: dict[str, Any], words: list[str], said: str) -> None:
    """A row without an answer, sides that are no lists, and options of a run."""
    code, _, err = bench("score", bench.write("cases.jsonl", row), *words)
    assert (code, said in err) == (2, True), err


FIELDS = {
    "toolbench": {"resolved", "tool_selection_accuracy", "expected_tools", "agent_tools"},
    "mcptoolbench": {"resolved", "tool_selection_accuracy", "parameter_accuracy", "sequence_match", "details"},
    "tool_correctness": {"score", "success", "reason"},
}
VENDORS = ("official: faithful", "leaker: text-leaker", "other: substitute")
SUITES = [word for name in FIELDS for word in ("--suite", name)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("evaluated"))
    bench.configure(*VENDORS)
    assert bench.run(*SUITES, "-n", "8")[0] == 0
    return bench


@pytest.fixture
def stored(finished: Bench, bench: Bench) -> Bench:
    shutil.copytree(finished.folder, bench.folder, dirs_exist_ok=True)
    return bench


def tasks(file: str = "run/results.json") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(file).read_text(encoding="utf-8"))["tasks"]
    return found


@pytest.mark.usefixtures("stored")
def test_every_task_has_the_fields_of_the_pages() -> None:
    """Of each evaluation its own; what failed says why."""
    for name, fields in FIELDS.items():
        own = [task for task in tasks() if task["suite"] == name]
        called = [task for task in own if task["decision"] == "called"]
        assert len({(task["task_id"], task["vendor"]) for task in own}) == len(own) == 24
        assert called
        assert all(fields <= set(task) for task in called)
    resolved = [task for task in tasks() if "resolved" in task]
    assert {task["resolved"] for task in resolved} == {True, False}
    assert all("error" in task or "details" in task for task in resolved if not task["resolved"])


def test_a_file_of_results_is_written_where_it_is_asked_for(bench: Bench) -> None:
    """Triggering has no score of a task: without the file it has none, in the file are its decisions."""
    bench.configure(*VENDORS[:2])
    common = ("-c", "config.yaml", "--history", "none", "-n", "4", "-q")
    assert bench("run", *common, "--benchmark", "toolbench", "-o", "results.json")[0] == 0
    (folder,) = (path for path in Path("runs").iterdir() if not path.is_symlink())
    assert tasks(f"{folder}/results.json") == tasks("results.json")
    assert bench("run", *common, "-o", "plain")[0] == 0
    assert not Path("plain/results.json").exists()
    assert bench("run", *common, "-o", "out/decisions.json")[0] == 0
    assert {task["decision"] for task in tasks("out/decisions.json")} <= {"called", "not_called"}


def test_a_resumed_run_has_each_task_once(stored: Bench) -> None:
    file = stored.folder / "run" / "records.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:5]))
    before = {(task["suite"], task["sample"], task["vendor"]) for task in tasks()}
    assert stored.run(*SUITES, "-n", "8", "--incremental")[0] == 0
    assert len(tasks()) == len(before)
    assert {(task["suite"], task["sample"], task["vendor"]) for task in tasks()} == before


def _values(bench: Bench, run: str) -> dict[str, Any]:
    vendors = bench.vendors(run).items()
    return {label: {suite: score["values"] for suite, score in row["suites"].items()} for label, row in vendors}


@pytest.mark.parametrize(
    "options", [{"exact_match": "true", "threshold": "1"}, {"check_ordering": "true", "compare_parameters": "true"}]
)
def test_a_stored_run_is_judged_as_if_it_had_been_asked_so(stored: Bench, options: dict[str, str]) -> None:
    shutil.copytree("run", "asked")
    manifest = stored.manifest("asked")
    for task in manifest["tasks"]:
        task["options"] = options if task["suite"] == "tool_correctness" else {}
    stored.write("asked/manifest.json", manifest)
    assert stored("score", "asked", "--history", "none")[0] == 0
    words = (word for name, value in options.items() for word in ("--set", f"tool_correctness.{name}={value}"))
    assert stored("score", "run", *words, "--history", "none")[0] == 0
    assert _values(stored, "run") == _values(stored, "asked")


def test_the_last_judgement_counts(stored: Bench) -> None:
    """In the file of results, too; the usual options give again what the run gave. It stays when the run is resumed."""
    before = _values(stored, "run")
    for threshold, succeeded in (("0", {True}), ("0.5", {True, False})):
        words = ("--set", f"tool_correctness.threshold={threshold}", "--history", "none")
        assert stored("score", "run", *words)[0] == 0
        assert {task["success"] for task in tasks() if "success" in task} == succeeded
    assert _values(stored, "run") == before
    for words, threshold in (((), "0.5"), (("--set", "tool_correctness.threshold=1"), "1")):
        assert stored.run(*SUITES, "-n", "8", *words, "--incremental")[0] == 0
        assert stored.manifest()["tasks"][2]["options"] == {"threshold": threshold}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("tool_correctness.max_iterations=3", "tool_correctness is judged by `threshold`"),
        ("toolbench.sample_size=3", "decides what is asked"),
        ("trigger.sample_size=3", "trigger is not part of this run"),
        ("toolbench.mode=strict", "mode"),
    ],
)
def test_what_decides_the_questions_is_refused(finished: Bench, option: str, said: str) -> None:
    """An option that would have asked something else is named, and the run stays as it was."""
    before = {path.name: path.read_bytes() for path in (finished.folder / "run").iterdir() if path.is_file()}
    code, _, err = finished("score", finished.folder / "run", "--set", option, "--history", "none")
    assert (code, said in err) == (2, True), err
    assert {path.name: path.read_bytes() for path in (finished.folder / "run").iterdir() if path.is_file()} == before


@pytest.mark.parametrize("stored_run", [False, True])
def test_a_stored_run_imports_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored_run: bool) -> None:
    """A folder that the user names for a run is imported from; one that the manifest of a stored run names is not."""
    package = tmp_path / "bfcl_eval" / "eval_checker" / "multi_turn_eval" / "func_source_code"
    package.mkdir(parents=True)
    (tmp_path / "bfcl_eval" / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    sample = Sample("a-1", Turn(({"role": "user", "content": "?"},)), {"category": "multi_turn_base"})
    ready_suite("bfcl", {"data": str(tmp_path)}, [sample], RunFolder(tmp_path / "run") if stored_run else None)
    assert (tmp_path / "imported").exists() is not stored_run
