"""Data sets of every known format: recognised by a row, and refused in words that help."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from costs import assert_linear
from dataset_rows import CALL, FILE, QUERY, ROWS, read, refusal

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.loaders import loaders, read_dataset_file
from vendor_verifier.pipeline.datasets import load_dataset


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("array", [False, True])
def test_every_format_is_recognised_by_its_row(name: str, array: bool) -> None:
    """Both as JSON lines and as an array a file says what it is, and naming the format gives the same samples."""
    loaded = read(ROWS[name], array=array)
    assert loaded.format == name
    assert loaded.samples == read(ROWS[name], array=array, format=name).samples
    assert loaded.samples[0].turn.messages[-1]["content"] == QUERY
    assert not loaded.defects


def test_every_loader_has_a_row_here() -> None:
    """A format added to the tuple is tested like the others, and its name is its own."""
    assert sorted(loader.name for loader in loaders()) == sorted(ROWS)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("toolbench", {"query": " "}, "query: expected the question as text, read a string"),
        ("toolbench", {"tools": None}, "tools: expected an array of tools, read null"),
        ("toolbench", {"ground_truth": None}, "ground_truth: expected an array of calls, read nothing"),
        ("toolbench", {"ground_truth": "[x"}, "ground_truth: text that is not JSON"),
        (
            "toolbench",
            {"ground_truth": [{"parameters": {}}]},
            "ground_truth: call 1 is malformed: a call has a text as its",
        ),
        (
            "mcp_toolbench_pp",
            {"function_call_label": [3]},
            "function_call_label: call 1 is malformed: a call is an object",
        ),
        ("openbmb", {"relevant APIs": [["a"]]}, "relevant APIs[1]: expected [tool, API], two texts"),
        ("openbmb", {"api_list": [{}]}, "api_list[1]: expected texts as tool_name and api_name"),
        ("toolbench_conversations", {"conversations": []}, "conversations: no user message"),
        ("toolbench_conversations", {"conversations": [3]}, "conversations[1]: expected an object with texts"),
        ("tool_correctness", {"input": ""}, "input: expected the question as text, read nothing"),
        ("tool_correctness", {"expected_tools": 3}, "expected_tools: expected an array of names"),
        ("tool_correctness", {"tools_called": [1]}, "tools_called: call 1 is malformed: a call is an object"),
        ("openbmb_answers", {"win": False}, "win: the search gave up, so no calls are known to be right"),
        (
            "openbmb_answers",
            {"answer_generation": {"query": QUERY, "function": [], "train_messages": []}},
            "answer_generation: no path was found",
        ),
        ("tool_calls", {"expected": {"calls": 3}}, "expected.calls: call 1 is malformed: a call is an object"),
        ("tool_calls", {"expected": {"calls": [CALL], "similar": []}}, "expected.similar: expected one array of names"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_its_field(name: str, change: dict[str, Any], message: str) -> None:
    """The message begins with file, row and field, in an array as on a line."""
    good, bad = ROWS[name], {**ROWS[name], **change}
    [on_line] = refusal(good, bad)
    assert on_line.startswith(f"set.json:2: {message}")
    [in_array] = refusal(good, bad, array=True)
    assert in_array.startswith(f"set.json: row 2, {message}")
    loaded = read(good, bad, array=True, skip_bad=True)
    assert (len(loaded.samples), len(loaded.skipped)) == (1, 1)


def test_an_unknown_row_lists_what_is_known() -> None:
    """Nothing is guessed: what was read and what each format has are in one message."""
    [problem] = refusal({"question": "?", "answer": "!"})
    assert problem.startswith("set.json:1: the row is of no format known, read 'question', 'answer'; expected")
    assert "toolbench: query, tools, ground_truth" in problem


def test_a_bad_first_row_does_not_hide_the_format() -> None:
    """With bad rows left out, the format is that of the first row that has one."""
    loaded = read({"x": 1}, ROWS["toolbench"], skip_bad=True)
    assert loaded.format == "toolbench"
    assert [problem.line for problem in loaded.skipped] == [1]


def test_an_unknown_format_name_is_a_usage_error() -> None:
    """A misspelt --dataset-format lists the names there are."""
    with pytest.raises(UsageError, match="'tool-bench'; expected one of tool_calls, chat, mcp_toolbench_pp"):
        read(ROWS["toolbench"], format="tool-bench")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"[]", b"[1", b"[1, 2]", b'\xff["x"]', b"[\xff]", b"{", b"3"])
def test_files_without_rows_are_refused(content: bytes) -> None:
    """Empty, cut and binary files end in a DataError, never in another exception."""
    with pytest.raises(DataError):
        read_dataset_file(content, dataset="d", file=FILE)


def test_an_array_says_where_it_breaks() -> None:
    """A missing comma, as in a published file, is found by line and column."""
    with pytest.raises(DataError, match=r"set\.json:3: not JSON at column 1: Expecting ',' delimiter, read '\{"):
        read_dataset_file(b'[\n{"a": 1}\n{"a": 2}]', dataset="d", file=FILE)


def test_a_large_array_loads_in_linear_time(tmp_path: Path) -> None:
    """Rows that repeat their tool list, compressed and on one line, take twice as long when there are twice as many, up
    to ten megabytes."""
    schema = {
        "type": "object",
        "properties": {f"p{at}": {"type": "string", "description": "x" * 40} for at in range(4)},
    }
    tools = [{"name": f"t{at}", "description": "y" * 150, "input_schema": schema} for at in range(24)]
    label = [{"name": "t3", "input": {"p0": "a"}}]

    def work_of(count: int) -> Callable[[], object]:
        rows = [{"query": f"q{at}", "tools": tools, "function_call_label": label} for at in range(count)]
        path = tmp_path / f"{count}.json.gz"
        path.write_bytes(gzip.compress(json.dumps(rows).encode(), 1))
        return partial(load_dataset, path)

    assert_linear(work_of, 200)
    assert len(load_dataset(tmp_path / "800.json.gz").samples) == 800
    assert len(gzip.decompress((tmp_path / "800.json.gz").read_bytes())) > 10_000_000


def test_a_pretty_printed_tree_is_read_as_it_is_published(tmp_path: Path) -> None:
    """One object over many lines, and several of them one after the other, each with the line it begins at."""
    tree = json.dumps(ROWS["openbmb_answers"], indent=2)
    file = tmp_path / "12_DFS_woFilter_w2.json"
    file.write_text(tree)
    [sample] = load_dataset(file).samples
    assert sample.expected["calls"] == [{**CALL, "output": {"error": "", "response": "cold"}}]
    assert [tool["function"]["name"] for tool in sample.turn.tools] == ["weather"]
    file.write_text(f"{tree}\n\n{tree.replace(QUERY, 'And in Rome?')}\n")
    loaded = load_dataset(file)
    lines = [sample.source.line for sample in loaded.samples if sample.source]
    assert (loaded.format, lines) == ("openbmb_answers", [1, tree.count("\n") + 3])


def test_a_tree_that_is_cut_is_refused_with_its_place(tmp_path: Path) -> None:
    """The line and column where it ends."""
    file = tmp_path / "tree.json"
    file.write_text(json.dumps(ROWS["openbmb_answers"], indent=2)[:-5])
    with pytest.raises(DataError, match=r"tree\.json:\d+: not JSON at column"):
        load_dataset(file)


def test_a_parquet_file_is_told_how_to_be_lines(tmp_path: Path) -> None:
    """The hub's own form is no text; the message holds the command that makes it some."""
    file = tmp_path / "train-00000.parquet"
    file.write_bytes(b"PAR1\x15\x04\x00" + b"\x00" * 100 + b"PAR1")
    with pytest.raises(DataError, match=r"read_parquet\('train-00000\.parquet'\)\.to_json\('train-00000\.jsonl'"):
        load_dataset(file)
