"""The native layout: identities, pairing, and rows that are the data's own fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from call_evaluations import called, failed, said

from vendor_verifier.errors import DataError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.records.record import Attempt, Score
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import replay
from vendor_verifier.suites.bfcl.rows import read_category, read_custom
from vendor_verifier.suites.bfcl.suite import BfclSuite

QUESTIONS, ANSWERS = Path("BFCL_v3_simple.json"), Path("possible_answer/BFCL_v3_simple.json")


def question(name: str, kind: str = "integer", **more: Any) -> dict[str, Any]:
    properties = {"p": {"type": kind, "description": "P."}}
    function = {
        "name": "do.it",
        "description": "Do it.",
        "parameters": {"type": "dict", "properties": properties, "required": ["p"]},
    }
    return {"id": name, "question": [[{"role": "user", "content": "Do it."}]], "function": [function], **more}


def answer(name: str, value: object = 1) -> dict[str, Any]:
    return {"id": name, "ground_truth": [{"do.it": {"p": [value]}}]}


def lines(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def load(
    questions: list[dict[str, Any]],
    answers: list[dict[str, Any]] | None,
    category: str = "simple_python",
    **options: Any,
) -> LoadedSamples:
    pairs = lines(answers or [])
    return read_category(lines(questions), pairs, category=category, file=QUESTIONS, answer_file=ANSWERS, **options)


def problems(*args: Any, **options: Any) -> list[tuple[int | None, str | None, str]]:
    with pytest.raises(DataError) as caught:
        load(*args, **options)
    return [(problem.line, problem.key, problem.message) for problem in caught.value.problems]


def test_all_problems_come_together_and_can_be_skipped() -> None:
    """All bad rows are reported at once; skipping leaves them out and lists them."""
    rows = [question("a"), question("lost"), question("gone"), question("b", "number")]
    answers = [answer("a"), answer("b")]
    assert [line for line, _, _ in problems(rows, answers)] == [2, 3, 4]
    loaded = load(rows, answers, skip_bad=True)
    assert (len(loaded.samples), len(loaded.skipped)) == (1, 3)


def test_one_misspelled_answer_id_is_mended_and_said() -> None:
    """One question without answer and one answer without question belong together; two are not guessed."""
    loaded = load([question("a"), question("b")], [answer("a"), answer("bb")])
    assert loaded.defects == ("b: its answer is filed under bb",)
    assert len(problems([question("a"), question("b")], [answer("aa"), answer("bb")])) == 2


def test_executable_rows_state_their_calls() -> None:
    """Calls in source become possible answers: places get names, arithmetic is done, anything else is refused."""
    function = {
        "name": "add",
        "parameters": {"type": "dict", "properties": {"a": {"type": "float"}, "b": {"type": "tuple"}}, "required": []},
    }
    function["parameters"]["properties"]["b"]["items"] = {"type": "integer"}  # type: ignore[index]
    row = {"id": "x", "question": [[{"role": "user", "content": "?"}]], "function": [function]}
    (sample,) = load([{**row, "ground_truth": ["add(1/4, b=(1, 2))"]}], None, "exec_simple").samples
    assert sample.expected["answer"] == [{"add": {"a": [0.25], "b": [[1, 2]]}}]
    ((_, key, _),) = problems([{**row, "ground_truth": ["add(open('x'))"]}], None, "exec_simple")
    assert key == "ground_truth"


FILE = Path("mine.jsonl")
USER = {"role": "user", "content": "Book a table for 2 at 7pm."}
CALL = {"name": "book_table", "args": {"people": 2, "time": "7pm"}}
ANSWER = {"role": "assistant", "content": "Booking a table...", "tool_calls": [CALL]}
PAGE_ROW = {"messages": [USER, ANSWER], "tool_calls": [CALL]}


def tool(name: str, **properties: str) -> dict[str, Any]:
    schema = {key: {"type": kind} for key, kind in properties.items()}
    parameters = {"type": "object", "properties": schema, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("book_table", people="integer", time="string")]


def load_custom(*rows: dict[str, Any], **options: Any) -> LoadedSamples:
    return read_custom([json.dumps(row).encode() for row in rows], file=FILE, **options)


def one(row: dict[str, Any], **options: Any) -> Sample:
    return load_custom(row, **options).samples[0]


def judged(sample: Sample, attempt: Attempt) -> Score:
    score = replay(BfclSuite().play(sample), iter([attempt]))
    assert score is not None
    return score


def test_the_answer_never_leaks() -> None:
    """No spelling of the expected call, nor the words around it, is in what is sent."""
    rows = [
        PAGE_ROW,
        {"messages": [USER, ANSWER]},
        {"messages": [USER, {"role": "assistant", "content": "7pm it is: 2 booked"}], "tool_calls": [CALL]},
        {
            "messages": [USER, ANSWER, {"role": "tool", "content": "booked"}, {"role": "assistant", "content": "ok"}],
            "tool_calls": [CALL],
        },
    ]
    for sample in load_custom(*rows).samples:
        assert sample.turn.messages == (USER,)


def test_no_expected_call_is_an_irrelevance_row() -> None:
    """An empty list of calls expects abstention, and a failure is none."""
    sample = one({"messages": [USER], "tool_calls": [], "tools": TOOLS})
    assert sample.expected["category"] == "irrelevance"
    assert judged(sample, said("Sorry.")).values["correct"] == 1.0
    assert judged(sample, failed()).values["correct"] == 0.0
    assert judged(sample, called(("book_table", {}))).values["correct"] == 0.0
    with pytest.raises(DataError, match="means none"):
        one({"messages": [USER], "tools": TOOLS})
    with pytest.raises(DataError, match="no row expects a call"):
        one({"messages": [USER], "tool_calls": []})


def test_calls_are_matched_as_a_multiset() -> None:
    """Order does not matter, but how often a call is made does; dots equal underscores; true is not 1."""
    calls = [{"name": "a.b", "args": {"x": 1}}, {"name": "a.b", "args": {"x": 1}}, {"name": "a.b", "args": {"x": 2}}]
    sample = one({"messages": [USER], "tool_calls": calls, "tools": [tool("a.b", x="integer")]})
    one_one_two = [("a_b", {"x": 2}), ("a_b", {"x": 1}), ("a_b", {"x": 1})]
    assert judged(sample, called(*one_one_two)).values["correct"] == 1.0
    assert judged(sample, called(*one_one_two[:2])).values["function_name_accuracy"] == 0.0
    two_two_one = judged(sample, called(("a_b", {"x": 2}), ("a_b", {"x": 2}), ("a_b", {"x": 1})))
    assert (two_two_one.values["function_name_accuracy"], two_two_one.values["correct"]) == (1.0, 0.0)
    as_true = judged(sample, called(("a_b", {"x": True}), ("a_b", {"x": 1}), ("a_b", {"x": 2})))
    assert as_true.values["correct"] == 0.0
