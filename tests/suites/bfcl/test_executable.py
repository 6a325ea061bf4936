"""Executable rows: right calls are those that return the right results, and model text never runs as code."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.errors import DataError
from vendor_verifier.features.bfcl.executables import INSTALLED_AT, InstalledFunctions, find_functions, pure_functions
from vendor_verifier.features.bfcl.source import find_data, load_categories
from vendor_verifier.suites.bfcl.executable import FunctionCall, expected_calls, judge_execution
from vendor_verifier.suites.bfcl.replies import Reply
from vendor_verifier.suites.bfcl.verdict import Mode

SOURCE = """
import math, os, requests

def add(a, b):
    return a + b

def pair(a, b=2):
    return (a, b)

def shape(n):
    return {"n": n, "list": [n] * int(n)}

def root(x):
    return math.sqrt(x)

def for_ever():
    while True:
        pass

def duration(time):
    return time * 2

def fetch(x):
    return requests.get(x)

def through(x):
    return fetch(x)

def calculate(text):
    return eval(text)

def hidden(x):
    return ().__class__

def loads(x):
    import socket
    return socket

def writes(x):
    return open(x, "w")
"""


@pytest.fixture(scope="module")
def functions() -> InstalledFunctions:
    found = pure_functions(ast.parse(SOURCE))
    return InstalledFunctions(found.source, found.known, found.refused, time_limit_s=1.0)


def judged(
    functions: InstalledFunctions, answer: list[str], *calls: tuple[str, dict[str, Any]], mode: Mode = "compat",
    category: str = "exec_parallel", kinds: str = "exact_match",
) -> str | None:  # fmt: skip
    """The error type, None when right."""
    expected = {"category": category, "answer": answer, "match_types": [kinds] * len(answer)}
    reply = Reply("calls", [{name: arguments} for name, arguments in calls])
    verdict = judge_execution(expected, reply, functions, mode)
    assert verdict.valid == (verdict.error_type is None)
    return verdict.error_type


def test_only_functions_that_calculate_are_taken(functions: InstalledFunctions) -> None:
    """What opens connections or files, imports, reaches under the hood or evaluates text is refused."""
    assert functions.known == {"add", "pair", "shape", "root", "for_ever", "duration"}
    assert functions.refused.keys() == {"fetch", "through", "calculate", "hidden", "loads", "writes"}
    assert functions.missing("fetch") == "fetch needs a network"
    assert functions.missing("through") == "through uses fetch"
    for name in functions.refused:
        assert functions.call(FunctionCall(name, {})).error
        assert name not in functions.source


def test_results_decide_and_not_the_words(functions: InstalledFunctions) -> None:
    """Another order of arguments, or others with the same result, are right; another result is wrong."""
    one = "exec_simple"
    assert judged(functions, ["add(1, b=2)"], ("add", {"b": 2, "a": 1}), category=one) is None
    assert judged(functions, ["add(1, 2)"], ("add", {"a": 2, "b": 1}), category=one) is None
    assert (
        judged(functions, ["add(1, 2)"], ("add", {"a": 2, "b": 2}), category=one) == "executable_checker:wrong_result"
    )
    assert judged(functions, ["add(1/4, 2*3)"], ("add", {"a": 0.25, "b": 6}), category=one) is None
    assert judged(functions, ["pair(1)"], ("pair", {"a": 1, "b": 2}), category=one) is None


@pytest.mark.parametrize(
    ("calls", "error"),
    [
        ([], "simple_exec_checker:wrong_count"),
        ([("add", {"a": 1, "b": 2})] * 2, "simple_exec_checker:wrong_count"),
        ([("add", {"a": 1})], "executable_checker:execution_error"),
        ([("nothing", {})], "executable_checker:execution_error"),
        ([("for_ever", {})], "executable_checker:execution_error"),
        ([("shape", {"n": 1e12})], "executable_checker:execution_error"),
    ],
)
def test_what_cannot_be_run_is_wrong(functions: InstalledFunctions, calls: Any, error: str) -> None:
    """Counts, missing arguments, unknown functions, endless loops and endless memory are the answer's fault."""
    assert judged(functions, ["add(1, 2)"], *calls, category="exec_simple") == error


def test_words_instead_of_calls_are_wrong(functions: InstalledFunctions) -> None:
    """Text, and calls that cannot be read, are no calls."""
    expected = {"category": "exec_simple", "answer": ["add(1, 2)"], "match_types": ["exact_match"]}
    for outcome in ("text", "unparsable", "no_call", "error"):
        verdict = judge_execution(expected, Reply(outcome), functions, "strict")
        assert verdict.error_type == "executable_decoder:decoder_failed"


@pytest.mark.parametrize(
    ("kind", "answer", "call", "error"),
    [
        ("real_time_match", "add(100, 0)", ("add", {"a": 119, "b": 0}), None),
        ("real_time_match", "add(100, 0)", ("add", {"a": 121, "b": 0}), "wrong_result_real_time"),
        ("real_time_match", "pair(1)", ("pair", {"a": 1}), "wrong_result_real_time"),
        ("structural_match", "shape(2)", ("shape", {"n": 3}), None),
        ("structural_match", "shape(2)", ("add", {"a": 1, "b": 1}), "wrong_result_type"),
        ("structural_match", "pair(1)", ("pair", {"a": 9, "b": "x"}), None),
    ],
)
def test_kinds_of_match(functions: InstalledFunctions, kind: str, answer: str, call: Any, error: str | None) -> None:
    """Numbers within 20 %, or the same type and keys."""
    found = judged(functions, [answer], call, category="exec_simple", kinds=kind)
    assert found == (error and f"executable_checker:{error}")


def test_several_calls_in_any_order(functions: InstalledFunctions) -> None:
    """Each expected call needs one of its own; only strict looks for an assignment that works."""
    answer = ["add(1, 2)", "add(2, 2)"]
    right = [("add", {"a": 2, "b": 2}), ("add", {"a": 1, "b": 2})]
    assert judged(functions, answer, *right) is None
    assert judged(functions, answer, right[0], right[0]) == "executable_checker:cannot_find_match"
    assert judged(functions, answer, right[0]) == "value_error:exec_result_count"
    # Within 20 % of 100 are both, of 119 only the second: taking the first that fits leaves 119 without one.
    near = ["add(100, 0)", "add(140, 0)"]
    calls = [("add", {"a": 115, "b": 0}), ("add", {"a": 100, "b": 0})]
    assert judged(functions, near, *calls, kinds="real_time_match") == "executable_checker:cannot_find_match"
    assert judged(functions, near, *calls, kinds="real_time_match", mode="strict") is None


@pytest.mark.parametrize("source", ["add(__import__('os'))", "add(1).x", "add", "add(x)", "add(2**9)", "add(1/0)"])
def test_expected_calls_hold_literals_only(source: str) -> None:
    """A row is data: names, attributes and powers in it are a data error."""
    with pytest.raises(DataError):
        expected_calls([source])


def test_rows_are_read_and_those_that_cannot_be_run_are_left_out(tmp_path: Path) -> None:
    """Answers and kinds of match stand in the row; rows that need a network are counted as not run."""
    package = tmp_path / "bfcl"
    (package / "data").mkdir(parents=True)
    (package / INSTALLED_AT).parent.mkdir(parents=True)
    (package / INSTALLED_AT).write_text(SOURCE, encoding="utf-8")
    document = {"name": "add", "description": "", "parameters": {"type": "dict", "properties": {}, "required": []}}
    rows = [
        {
            "id": f"exec_simple_{number}",
            "question": [[{"role": "user", "content": f"question {number}"}]],
            "function": [document],
            "execution_result_type": ["exact_match"],
            "ground_truth": [truth],
        }
        for number, truth in enumerate(["add(1, 2)", "fetch('http://example.org')", "calculate('1')"])
    ]
    file = package / "data" / "BFCL_v3_exec_simple.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    functions = find_functions(str(package / "data"))
    assert functions is not None
    loaded = load_categories(find_data(str(package)), ["exec_simple"], functions=functions)
    assert [sample.expected["answer"] for sample in loaded.samples.samples] == [["add(1, 2)"]]
    assert loaded.not_run["exec_simple"].startswith("not run: 2 of 3 rows call functions that need ")
    without = load_categories(find_data(str(package)), ["exec_simple"])
    assert without.samples.samples == ()
    assert "pip install --no-deps nvidia-bfcl" in without.not_run["exec_simple"]
