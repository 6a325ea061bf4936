"""The BFCL evaluation from command line to result pages, over real sockets to simulated vendors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.pipeline.bfcl.data import BfclData, find_data, load_categories
from vendor_verifier.suites.bfcl.categories import SINGLE_TURN, expand

CALLS = [{"name": "book_table", "args": {"people": 2, "time": "7pm"}}]
ASKED = {"role": "user", "content": "Book a table for 2 at 7pm."}
ANSWER = {"role": "assistant", "content": "Booking a table...", "tool_calls": CALLS}
ARGUMENTS = {"people": {"type": "integer", "const": 2}, "time": {"type": "string", "const": "7pm"}}
SCHEMA = {"type": "object", "properties": ARGUMENTS, "required": ["people", "time"]}
TOOL = {"type": "function", "function": {"name": "book_table", "parameters": SCHEMA}}
PAGE_ROW = {"messages": [ASKED, ANSWER], "tool_calls": CALLS, "tools": [TOOL]}


@pytest.fixture
def run(bench: Any) -> Any:
    """Run the evaluation on two simulated vendors; exit code and stderr."""
    bench.configure("official: faithful", "poor: text-leaker")

    def start(*arguments: str, output: str = "run") -> tuple[int, str]:
        code, _, err = bench(
            "run", *bench.words(output, "--request-concurrency", "20", "--history", "none", *arguments)
        )
        return code, err

    return start


def page(output: str = "run", label: str = "official") -> Any:
    return json.loads(Path(output, "bfcl", f"{label}.json").read_text(encoding="utf-8"))


def write_job(params: dict[str, Any], **tasks: Any) -> str:
    job = {"type": "bfcl", "name": "n", "namespace": "o", "params": params, "tasks": tasks}
    Path("job.json").write_text(json.dumps(job, indent=1), encoding="utf-8")
    return "job.json"


@pytest.mark.usefixtures("pages")
def test_all_runs_what_can_run_and_says_what_was_not(run: Any) -> None:
    """What was left out counts as no failure; the first screen says whose rows these are, also in a dry run."""
    category = ("--bfcl-category", "all", "--limit", "26")
    ours = ("not the leaderboard's", "pip install --no-deps bfcl-eval", "hf://datasets/", "at most 51.85")
    for more in (("--dry-run",), ()):
        code, err = run(*category, *more)
        assert code == 0
        assert [words for words in ours if words not in err] == []
    report = Path("run/report.md").read_text(encoding="utf-8").replace("\\", "")
    for word in ("rest", "memory_kv", "web_search_base"):
        assert word in err
        assert word in report
        assert page()["run"]["bfcl"]["not_run"][word].startswith("not run: needs ")
    told = page()["run"]["bfcl"]
    assert (told["accuracy"], told["rows"], told["overall_acc_at_most"]) == (1.0, 26, 51.85)
    assert "not the leaderboard's" in told["notes"][0]
    assert "not the leaderboard" in report
    assert "exec_simple: not run: needs BFCL_v3_exec_simple.json" in err


def test_custom_rows_of_a_job(run: Any) -> None:
    """A folder, as the page's files_url names it; the answer turn never reaches a vendor."""
    Path("rows").mkdir()
    Path("rows/mine.jsonl").write_text(json.dumps(PAGE_ROW) + "\n", encoding="utf-8")
    task = {"type": "simple", "dataset": {"format": "native", "files_url": "rows"}}
    assert run("--job", write_job({"limit_samples": 5}, task1=task))[0] == 0
    sample = json.loads(Path("run/samples/bfcl.jsonl").read_text(encoding="utf-8"))
    assert [message["role"] for message in sample["turn"]["messages"]] == ["user"]
    scores = page()["tasks"]["task1"]["metrics"]["tool-calling-accuracy"]["scores"]
    assert scores == {
        name: {"value": 1.0}
        for name in ("tool-calling-accuracy", "function_name_accuracy", "function_name_and_args_accuracy")
    }


def test_executable_rows_say_how_they_are_judged(run: Any) -> None:
    """They run everywhere; the result says that another call with an equal effect counts as wrong."""
    Path("rows").mkdir()
    parameters = {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    function = {"name": "add", "description": "Add.", "parameters": parameters}
    row = {"id": "exec_simple_0", "question": [[{"role": "user", "content": "Add 2."}]], "function": [function]}
    text = json.dumps({**row, "ground_truth": ["add(a=2)"], "execution_result_type": ["exact_match"]})
    Path("rows/BFCL_v3_exec_simple.json").write_text(text + "\n", encoding="utf-8")
    code, err = run("--bfcl-data", "rows", "--bfcl-category", "exec_simple")
    assert (code, "another call with an equal effect counts as wrong" in err) == (0, True)
    assert page()["run"]["bfcl"]["accuracy"] == 1.0
    assert "another call with an equal effect" in " ".join(page()["run"]["bfcl"]["notes"])


def test_a_job_refuses_unknown_keys(run: Any) -> None:
    """Every key is named with its line; API keys have their place elsewhere."""
    params = {"parallelism": 2, "extra": {}, "rapid_api_key": "k", "temprature": 1}
    code, err = run("--job", write_job(params, t={"type": "simple"}))
    told = ("job.json:7: params.extra", "params.rapid_api_key", "params.temprature")
    assert (code, [words for words in told if words not in err]) == (2, [])


def test_tasks_of_a_job_share_what_they_both_ask(run: Any) -> None:
    """Two tasks over the same rows send each row once, and each has its own metrics and its own not-run list."""
    tasks = {"task1": {"type": "simple"}, "task2": {"type": "rest"}, "task3": {"type": "simple_*"}}
    assert run("--job", write_job({"limit_samples": 2, "parallelism": 3}, **tasks))[0] == 0
    assert len(Path("run/samples/bfcl.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    told = page()
    assert set(told["tasks"]) == {"task1", "task3"}
    assert told["run"]["task1"]["not_run"] == {}
    assert told["run"]["task2"]["not_run"]["rest"].startswith("not run: needs ")


def test_a_label_that_is_no_file_name_gets_a_page_of_its_own(bench: Any) -> None:
    """Labels with slashes and dots cannot leave the folder or overwrite each other."""
    odd = ("../up", "_up", "a/../../up", "Up", "up", "飛" * 80)
    bench.configure(*(f"{label}: faithful" for label in odd))
    assert bench.run("--bfcl-category", "simple", "-n", "1", "--baseline-repeats", "1")[0] == 0
    pages = [page.name.casefold() for page in Path("run/bfcl").glob("*.json")]
    assert len(set(pages)) == len(odd)
    assert [path for path in bench.folder.rglob("*up*.json") if path.parent.name != "bfcl"] == []


def test_the_shipped_slice() -> None:
    """About 100 rows over all thirteen single-turn categories ship, none of them impossible."""
    loaded, _ = load_categories(find_data("shipped"), expand(["all"]))
    counts = Counter(sample.expected["category"] for sample in loaded.samples)
    assert set(counts) == set(SINGLE_TURN)
    assert min(counts.values()) >= 4
    assert sum(counts.values()) == 100
    assert loaded.defects == ()


def test_a_folder_of_either_version(tmp_path: Path) -> None:
    """A user's folder is found as such, inside a package, and with either version's names."""
    row = '{"id": "irrelevance_0", "question": [[{"role": "user", "content": "hi"}]], "function": []}\n'
    data = tmp_path / "bfcl_eval" / "data"
    data.mkdir(parents=True)
    (data / "BFCL_v4_irrelevance.json").write_text(row, encoding="utf-8")
    for where in (data, data.parent, tmp_path):
        assert find_data(str(where)) == BfclData(data, "v4", "bfcl_eval v4")
