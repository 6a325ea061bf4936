"""The native layout: identities, pairing, and rows that are the data's own fault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from call_evaluations import called, failed, judged, said

from vendor_verifier.errors import DataError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.bfcl.rows import read_category, read_custom
from vendor_verifier.suites.bfcl.suite import BfclSuite

QUESTIONS, ANSWERS = Path("BFCL_v3_simple.json"), Path("possible_answer/BFCL_v3_simple.json")


def question(name: str, kind: str = "integer") -> dict[str, Any]:
    parameters = {"type": "dict", "properties": {"p": {"type": kind}}, "required": ["p"]}
    function = {"name": "do.it", "description": "Do it.", "parameters": parameters}
    return {"id": name, "question": [[{"role": "user", "content": "Do it."}]], "function": [function]}


def answer(name: str) -> dict[str, Any]:
    return {"id": name, "ground_truth": [{"do.it": {"p": [1]}}]}


def lines(rows: Sequence[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def load(questions: list[Any], answers: list[Any], category: str = "simple_python", **options: Any) -> LoadedSamples:
    pairs = lines(answers)
    return read_category(lines(questions), pairs, category=category, file=QUESTIONS, answer_file=ANSWERS, **options)


def problems(*args: Any) -> list[tuple[int | None, str | None]]:
    with pytest.raises(DataError) as caught:
        load(*args)
    return [(problem.line, problem.key) for problem in caught.value.problems]


def test_all_problems_come_together_and_can_be_skipped() -> None:
    """All bad rows are reported at once; skipping leaves them out and lists them."""
    rows = [question("a"), question("lost"), question("gone"), question("b", "number")]
    answers = [answer("a"), answer("b")]
    assert [line for line, _ in problems(rows, answers)] == [2, 3, 4]
    loaded = load(rows, answers, skip_bad=True)
    assert (len(loaded.samples), len(loaded.skipped)) == (1, 3)


def test_one_misspelled_answer_id_is_fixed_with_a_warning() -> None:
    """One question without answer and one answer without question belong together; two are not guessed."""
    loaded = load([question("a"), question("b")], [answer("a"), answer("bb")])
    assert loaded.defects == ("b: its answer is filed under bb",)
    assert len(problems([question("a"), question("b")], [answer("aa"), answer("bb")])) == 2


def test_executable_rows_state_their_calls() -> None:
    """Calls in source become possible answers: places get names, arithmetic is done, anything else is refused."""
    properties = {"a": {"type": "float"}, "b": {"type": "tuple", "items": {"type": "integer"}}}
    function = {"name": "add", "parameters": {"type": "dict", "properties": properties, "required": []}}
    row = {"id": "x", "question": [[{"role": "user", "content": "?"}]], "function": [function]}
    (sample,) = load([{**row, "ground_truth": ["add(1/4, b=(1, 2))"]}], [], "exec_simple").samples
    assert sample.expected["answer"] == [{"add": {"a": [0.25], "b": [[1, 2]]}}]
    assert problems([{**row, "ground_truth": ["add(open('x'))"]}], [], "exec_simple") == [(1, "ground_truth")]


USER = {"role": "user", "content": "Book a table for 2 at 7pm."}
CALL = {"name": "book_table", "args": {"people": 2, "time": "7pm"}}
ANSWER = {"role": "assistant", "content": "Booking a table...", "tool_calls": [CALL]}
PAGE_ROW = {"messages": [USER, ANSWER], "tool_calls": [CALL]}


def tool(name: str, **properties: str) -> dict[str, Any]:
    schema = {key: {"type": kind} for key, kind in properties.items()}
    parameters = {"type": "object", "properties": schema, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("book_table", people="integer", time="string")]


def load_custom(*rows: dict[str, Any]) -> Sequence[Sample]:
    return read_custom(lines(rows), file=Path("mine.jsonl")).samples


def test_the_answer_never_leaks() -> None:
    """No spelling of the expected call, nor the words around it, is in what is sent."""
    rows = [
        PAGE_ROW,
        {"messages": [USER, ANSWER]},
        {"messages": [USER, {"role": "assistant", "content": "7pm it is: 2 booked"}], "tool_calls": [CALL]},
        {"messages": [USER, ANSWER, {"role": "tool", "content": "booked"}], "tool_calls": [CALL]},
    ]
    for sample in load_custom(*rows):
        assert sample.turn.messages == (USER,)


def test_no_expected_call_is_an_irrelevance_row() -> None:
    """An empty list of calls expects abstention, and a failure is none."""
    (sample,) = load_custom({"messages": [USER], "tool_calls": [], "tools": TOOLS})
    assert sample.expected["category"] == "irrelevance"
    answers = (said("Sorry."), failed(), called(("book_table", {})))
    assert [judged(BfclSuite(), sample, each).values["correct"] for each in answers] == [1.0, 0.0, 0.0]
    for row, words in (({"tools": TOOLS}, "means none"), ({"tool_calls": []}, "no row expects a call")):
        with pytest.raises(DataError, match=words):
            load_custom({"messages": [USER], **row})


def test_calls_are_matched_as_a_multiset() -> None:
    """Order does not matter, but how often a call is made does; dots equal underscores; true is not 1."""
    calls = [{"name": "a.b", "args": {"x": 1}}, {"name": "a.b", "args": {"x": 1}}, {"name": "a.b", "args": {"x": 2}}]
    (sample,) = load_custom({"messages": [USER], "tool_calls": calls, "tools": [tool("a.b", x="integer")]})
    cases = {(2, 1, 1): (1.0, 1.0), (2, 1): (0.0, 0.0), (2, 2, 1): (1.0, 0.0), (True, 1, 2): (1.0, 0.0)}
    for given, expected in cases.items():
        found = judged(BfclSuite(), sample, called(*[("a_b", {"x": each}) for each in given])).values
        assert (found["function_name_accuracy"], found["correct"]) == expected, given
