"""The BFCL evaluation from command line to result pages, over real sockets to simulated vendors."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

SLICE = Path(__file__).parents[3] / "datasets" / "bfcl"
PAGE_ROW = {
    "messages": [
        {"role": "user", "content": "Book a table for 2 at 7pm."},
        {
            "role": "assistant",
            "content": "Booking a table...",
            "tool_calls": [{"name": "book_table", "args": {"people": 2, "time": "7pm"}}],
        },
    ],
    "tool_calls": [{"name": "book_table", "args": {"people": 2, "time": "7pm"}}],
}
TOOL = {
    "type": "function",
    "function": {
        "name": "book_table",
        "parameters": {
            "type": "object",
            "properties": {"people": {"type": "integer", "const": 2}, "time": {"type": "string", "const": "7pm"}},
            "required": ["people", "time"],
        },
    },
}


@pytest.fixture
def run(bench: Any) -> Any:
    """Run the evaluation on two simulated vendors; exit code and stderr."""
    bench.configure("official: faithful", "poor: text-leaker")

    def start(*arguments: str, output: str = "run", command: str = "run") -> tuple[int, str]:
        code, _, err = bench(
            command,
            "--config-file-path",
            "config.yaml",
            "--quiet",
            "-o",
            output,
            "--request-concurrency",
            "20",
            *arguments,
        )
        return code, err

    return start


def page(output: str = "run", label: str = "official") -> Any:
    return json.loads(Path(output, "bfcl", f"{label}.json").read_text(encoding="utf-8"))


def table(name: str) -> list[list[str]]:
    return list(csv.reader(Path("run/bfcl", name).read_text(encoding="utf-8").splitlines()))


def write_job(**task: Any) -> str:
    job = {"type": "bfcl", "name": "n", "namespace": "o", "params": {"limit_samples": 5}, "tasks": {"task1": task}}
    Path("job.json").write_text(json.dumps(job), encoding="utf-8")
    return "job.json"


def test_the_page_s_job_gives_the_page_s_result(run: Any) -> None:
    """The academic job: names, layout and numbers of the page, with the leaderboard's 1.23 for a perfect simple."""
    assert run("--job", write_job(type="simple"), command="bfcl")[0] == 0
    metrics = page()["tasks"]["task1"]["metrics"]
    values = {name: metric["scores"][name]["value"] for name, metric in metrics.items()}
    assert list(values) == [
        "Rank",
        "Overall Acc",
        "Latency Mean (s)",
        "Latency Standard Deviation (s)",
        "Latency 95th Percentile (s)",
        "Python Simple AST",
    ]
    assert (values["Rank"], values["Overall Acc"], values["Python Simple AST"]) == (1.0, 1.23, 100.0)
    assert 0 < values["Latency Mean (s)"] <= values["Latency 95th Percentile (s)"] < 10
    told = page()["run"]["task1"]
    assert (told["accuracy"], told["rows"]) == (1.0, 5)
    poor = page(label="poor")["tasks"]["task1"]["metrics"]["Rank"]["scores"]["Rank"]["value"]
    assert poor == 2.0
    assert page(label="poor")["run"]["task1"]["categories"]["simple_python"]["outcomes"]["text"] > 0


def test_version_v4_has_the_other_formula(run: Any) -> None:
    """A perfect simple alone is 0.83 there."""
    assert run("--bfcl-category", "simple", "--bfcl-version", "v4")[0] == 0
    assert page()["tasks"]["bfcl"]["metrics"]["Overall Acc"]["scores"]["Overall Acc"]["value"] == 0.83
    assert page()["run"]["bfcl"]["overall_formula"] == "v4"


def test_one_sample_has_no_deviation(run: Any) -> None:
    """One call gives null, where the original crashes."""
    assert run("--bfcl-category", "simple", "--limit", "1")[0] == 0
    metrics = page()["tasks"]["bfcl"]["metrics"]
    assert metrics["Latency Standard Deviation (s)"]["scores"]["Latency Standard Deviation (s)"]["value"] is None


def test_all_runs_what_can_run_and_says_what_was_not(run: Any) -> None:
    """stderr, report and page name every category that was left out and what it needs; none counts as failed."""
    code, err = run("--bfcl-category", "all", "--limit-per-category", "1")
    assert code == 0
    report = Path("run/report.md").read_text(encoding="utf-8").replace("\\", "")
    for word in ("exec_simple", "rest", "memory_kv", "web_search_base"):
        assert word in err
        assert word in report
        assert page()["run"]["bfcl"]["not_run"][word].startswith("not run: needs ")
    told = page()["run"]["bfcl"]
    assert (told["accuracy"], told["rows"]) == (1.0, 13)
    assert "pip install --no-deps nvidia-bfcl" in err


def test_nothing_that_can_run_is_a_usage_error_with_the_reasons(run: Any) -> None:
    """Asked for rest alone, the message says what it needs and nothing is written."""
    code, err = run("--bfcl-category", "rest")
    assert code == 2
    assert "not run: needs " in err
    assert not Path("run").exists()


@pytest.mark.parametrize("form", ["page", "folder", "converter"])
def test_custom_rows_in_every_form(run: Any, form: str) -> None:
    """A file, or a folder as the page's files_url names it; the answer turn never reaches a vendor."""
    Path("rows").mkdir()
    row: dict[str, Any] = {**PAGE_ROW, "tools": [TOOL]}
    if form == "converter":
        truth = [{"book_table": {"people": [2], "time": ["7pm"]}}]
        row = {"messages": [PAGE_ROW["messages"][:1]], "tools": [TOOL], "tool_calls_ground_truth": truth}
    Path("rows/mine.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    place = "rows" if form == "folder" else "rows/mine.jsonl"
    dataset = {"format": "openai" if form == "converter" else "native", "files_url": place}
    assert run("--job", write_job(type="simple", dataset=dataset), "--seed", "3", command="bfcl")[0] == 0
    sample = json.loads(Path("run/samples/bfcl.jsonl").read_text(encoding="utf-8"))
    assert [message["role"] for message in sample["turn"]["messages"]] == ["user"]
    metrics = page()["tasks"]["task1"]["metrics"]
    if form == "converter":
        assert metrics["Python Simple AST"]["scores"]["Python Simple AST"]["value"] in (0.0, 100.0)
    else:
        scores = metrics["tool-calling-accuracy"]["scores"]
        assert set(scores) == {
            "tool-calling-accuracy",
            "function_name_accuracy",
            "function_name_and_args_accuracy",
        }
        assert scores["tool-calling-accuracy"]["value"] in (0.0, 1.0)


def test_the_pages_row_runs_as_it_stands_and_an_open_one_names_the_jobs_key(run: Any) -> None:
    """The page's row names no tools, and its calls leave nothing open; where they do, the job's own key is named."""
    Path("mine.jsonl").write_text(json.dumps(PAGE_ROW) + "\n", encoding="utf-8")
    job = write_job(type="simple", dataset={"format": "native", "files_url": "mine.jsonl"})
    code, err = run("--job", job, command="bfcl")
    assert (code, "1 row brings no tools" in err) == (0, True)
    assert list(page()["run"]["task1"]["categories"]) == ["simple_python"]
    assert "overall_acc_at_most" not in page()["run"]["task1"]
    Path("tools.json").write_text(json.dumps([TOOL]), encoding="utf-8")
    assert run("--job", job, "--tools", "tools.json", command="bfcl", output="again")[0] == 0
    open_row = {"messages": [{"role": "user", "content": "q"}], "tool_calls": [{"name": "f", "args": {"a": None}}]}
    Path("mine.jsonl").write_text(json.dumps(open_row) + "\n", encoding="utf-8")
    code, err = run("--job", job, command="bfcl", output="open")
    assert code == 2
    assert "tasks.task1.dataset.files_url" in err
    assert "--infer-tools" in err
    assert run("--job", job, "--infer-tools", command="bfcl", output="open")[0] == 0


def test_the_first_screen_says_whose_rows_and_how_high_the_figure_can_be(run: Any, bench: Any) -> None:
    """Also in a dry run: the shipped rows are ours, and what is not run is named with its part of the whole."""
    code, err = run("--bfcl-version", "v4", "--limit-per-category", "1", "--dry-run")
    assert code == 0
    assert "100 rows of this project, not the leaderboard's" in err
    for words in ("pip install --no-deps bfcl-eval", "hf://datasets/", "a folder with"):
        assert words in err
    assert "at most 30.00" in err
    for words in ("multi_turn (30.00 of it)", "memory (20.00 of it)", "web_search (20.00 of it)"):
        assert words in err
    assert run("--bfcl-version", "v4", "--limit-per-category", "1")[0] == 0
    told = page()["run"]["bfcl"]
    assert told["overall_acc_at_most"] == 30.0
    assert "100 rows of this project" in told["note"]
    assert "100 rows of this project" in Path("run/report.md").read_text(encoding="utf-8")
    head, first, second = table("data_overall.csv")
    assert head[:3] == ["Rank", "Overall Acc", "Model"]
    assert first[:3] == ["1", "30.00%", "official"]
    assert second[2] == "poor"
    names = {path.name for path in Path("run/bfcl").glob("*.csv")}
    assert names == {f"data_{name}.csv" for name in (
        "overall", "non_live", "live", "multi_turn", "agentic", "format_sensitivity",
    )}  # fmt: skip


def test_a_job_may_ask_in_words(run: Any) -> None:
    """`native_calling: false` puts the functions into the prompt; the command line counts more."""
    job = {"type": "bfcl", "params": {"extra": {"native_calling": False}}, "tasks": {"t": {"type": "simple"}}}
    Path("job.json").write_text(json.dumps(job), encoding="utf-8")
    code, err = run("--job", "job.json", command="bfcl")
    assert code == 0
    assert "asked for in words" in err
    told = page()["run"]["t"]
    assert (told["accuracy"], told["calls_asked"]) == (1.0, "in words")
    sample = json.loads(Path("run/samples/bfcl.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert sample["turn"].get("tools") in (None, [])
    assert run("--job", "job.json", "--answer-format", "native", command="bfcl", output="natively")[0] == 0
    assert page("natively")["run"]["t"]["calls_asked"] == "natively"


def test_format_sensitivity_runs_in_words_and_has_a_table(run: Any) -> None:
    """Named, it is asked in 26 formats; its spread stands on the page and in its table, and not in Overall Acc."""
    Path("rows/possible_answer").mkdir(parents=True)
    for name in ("BFCL_v3_simple.json", "possible_answer/BFCL_v3_simple.json"):
        Path("rows", name).write_bytes((SLICE / name).read_bytes())
    Path("rows/BFCL_v3_format_sensitivity.json").write_text('{"simple": ["simple_0"]}', encoding="utf-8")
    words = ("--bfcl-data", "rows", "--bfcl-category", "format_sensitivity", "--bfcl-version", "v4")
    assert run(*words)[0] == 0
    told = page()["run"]["bfcl"]
    assert (told["rows"], told["accuracy"], len(told["format_sensitivity"]["configs"])) == (26, 1.0, 26)
    assert page()["tasks"]["bfcl"]["metrics"]["Overall Acc"]["scores"]["Overall Acc"]["value"] == 0.0
    head, *rows = table("data_format_sensitivity.csv")
    assert len(head) == 30
    assert [row[1:4] for row in rows if row[1] == "official"] == [["official", "0.0", "0.0"]]


def test_a_job_refuses_by_name_what_it_cannot_honour(run: Any) -> None:
    """Keys and templates in a job are refused with their key and what to do instead."""
    extra = {"rapid_api_key": "k", "custom_dataset": {"path": "x", "format": "native", "data_template_path": "t"}}
    job = {"type": "bfclv3_ast", "params": {"extra": extra, "task": "all"}, "tasks": {"t": {"type": "simple"}}}
    Path("job.json").write_text(json.dumps(job), encoding="utf-8")
    code, err = run("--job", "job.json", command="bfcl")
    assert code == 2
    for words in ("params.extra.rapid_api_key", "RAPID_API_KEY into .env", "data_template_path", "params.task"):
        assert words in err


def test_an_address_on_the_hub_needs_an_extra_or_a_folder(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that downloads, the message names the extra and the local form."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    code, err = run("--bfcl-data", "hf://datasets/mine/rows")
    assert code == 2
    assert "pip install '.[hf]' in a checkout" in err
    assert "download the file yourself and give its path" in err


def test_scoring_again_in_the_other_mode_and_resuming(run: Any, bench: Any) -> None:
    """The pages follow the stored records: rewritten by score, completed by --incremental."""
    assert run("--bfcl-category", "irrelevance,simple", "--limit-per-category", "3")[0] == 0
    before = page()
    Path("run/bfcl/official.json").unlink()
    assert bench("score", "run")[0] == 0
    assert page() == before
    records = Path("run/records.jsonl")
    records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[::2]))
    code, _ = run("--bfcl-category", "irrelevance,simple", "--limit-per-category", "3", "--incremental")
    assert code == 0
    assert page()["run"]["bfcl"]["rows"] == 6


@pytest.mark.parametrize("form", ["native", "text"])
def test_a_stored_run_is_judged_by_the_other_version_and_mode(run: Any, bench: Any, form: str) -> None:
    """Of stored answers, native and written, `score` makes the other version's figures and counts the other mode."""
    assert run("--bfcl-category", "simple", "--answer-format", form)[0] == 0
    records = Path("run/records.jsonl").read_bytes()
    assert bench("score", "run", "--bfcl-version", "v4", "--suite-option", "bfcl.mode=compat", "--no-history")[0] == 0
    told = page()["run"]["bfcl"]
    assert (told["overall_formula"], told["overall_acc_at_most"], told["accuracy"]) == ("v4", 0.83, 1.0)
    assert page()["tasks"]["bfcl"]["metrics"]["Overall Acc"]["scores"]["Overall Acc"]["value"] == 0.83
    assert Path("run/bfcl/data_agentic.csv").exists()
    assert Path("run/records.jsonl").read_bytes() == records


def test_tasks_of_a_job_share_what_they_both_ask(run: Any) -> None:
    """Two tasks over the same rows send each row once, and each has its own metrics and its own not-run list."""
    tasks = {"task1": {"type": "simple"}, "task2": {"type": "executable"}, "task3": {"type": "simple_*"}}
    job = {"type": "bfcl", "params": {"limit_samples": 2, "parallelism": 3}, "tasks": tasks}
    Path("job.json").write_text(json.dumps(job), encoding="utf-8")
    assert run("--job", "job.json", command="bfcl")[0] == 0
    assert len(Path("run/samples/bfcl.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    told = page()
    assert set(told["tasks"]) == {"task1", "task3"}
    assert told["run"]["task1"]["not_run"] == {}
    assert told["run"]["task2"]["not_run"]["rest"].startswith("not run: needs ")


def test_a_job_that_cannot_be_meant_is_refused_with_its_file(run: Any) -> None:
    """Unknown types and formats are named with the key they stand under."""
    code, err = run("--job", write_job(type="smple"), command="bfcl")
    assert code == 2
    assert "job.json" in err
    assert "tasks.task1.type" in err
    Path("job.json").write_text("[", encoding="utf-8")
    assert run("--job", "job.json", command="bfcl")[0] == 2


def test_a_label_that_is_no_file_name_gets_a_page_of_its_own(bench: Any) -> None:
    """Labels with slashes and dots cannot leave the folder or overwrite each other."""
    odd = ("../up", "_up", "a/../../up", "CON", "con.x", "Up", "up", "飛" * 80)
    bench.configure(*(f"{label}: faithful" for label in odd))
    arguments = ("--config-file-path", "config.yaml", "--quiet", "-o", "run", "--bfcl-category", "simple", "-n", "1")
    assert bench(*arguments)[0] == 0
    pages = [page.name.casefold() for page in Path("run/bfcl").glob("*.json")]
    assert len(set(pages)) == len(odd)
    assert not {"con.json", "con.x.json"} & set(pages)
    assert [path for path in bench.folder.rglob("*up*.json") if path.parent.name != "bfcl"] == []
