"""Custom rows: both forms, and that no answer is ever sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bfcl_replies import called, failed, said

from vendor_verifier.errors import DataError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.records.record import Attempt
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import Score
from vendor_verifier.suites import replay
from vendor_verifier.suites.bfcl.custom_rows import read_custom
from vendor_verifier.suites.bfcl.suite import BfclSuite

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


def load(*rows: dict[str, Any], **options: Any) -> LoadedSamples:
    return read_custom([json.dumps(row).encode() for row in rows], file=FILE, **options)


def one(row: dict[str, Any], **options: Any) -> Sample:
    return load(row, **options).samples[0]


def judged(sample: Sample, attempt: Attempt) -> Score:
    score = replay(BfclSuite().play(sample), iter([attempt]))
    assert score is not None
    return score


def test_the_pages_row() -> None:
    """The published row is sent without its answer and expects the call it names."""
    sample = one(PAGE_ROW)
    assert sample.turn.messages == (USER,)
    assert sample.expected["calls"] == [{"name": "book_table", "arguments": {"people": 2, "time": "7pm"}}]
    assert judged(sample, called(("book_table", {"time": "7pm", "people": 2}))).values == {
        "correct": 1.0,
        "function_name_accuracy": 1.0,
        "function_name_and_args_accuracy": 1.0,
    }


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
    for sample in load(*rows).samples:
        assert sample.turn.messages == (USER,)


def test_disagreeing_answers_are_refused() -> None:
    """A row whose messages and tool_calls name different calls says so, with line and key."""
    with pytest.raises(DataError) as caught:
        one({"messages": [USER, ANSWER], "tool_calls": [{"name": "other", "args": {}}]})
    assert (caught.value.problems[0].line, caught.value.problems[0].key) == (1, "messages[1].tool_calls")


def test_rows_without_tools_get_those_of_their_calls() -> None:
    """The page's own row runs as it stands, and says that its tools are made up."""
    sample = one(PAGE_ROW)
    assert sample.tags["bfcl_inferred"] is True
    assert sample.turn.tools[0]["function"]["parameters"]["properties"] == {
        "people": {"type": "integer"},
        "time": {"type": "string"},
    }


@pytest.mark.parametrize(
    ("calls", "schema"),
    [
        ([{"name": "f", "args": {"a": 1}}, {"name": "f", "args": {"a": "1"}}], {}),
        ([{"name": "f", "args": {"a": None}}], {}),
        ([{"name": "f", "args": {"a": []}}], {"type": "array", "items": {}}),
    ],
)
def test_made_tools_leave_open_what_calls_leave_open(calls: list[dict[str, Any]], schema: dict[str, Any]) -> None:
    """An argument of several types, or of none, has no type."""
    tools = one({"messages": [USER], "tool_calls": calls}).turn.tools
    assert tools[0]["function"]["parameters"]["properties"] == {"a": schema}


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


def test_bad_rows() -> None:
    """Bad rows are refused, or left out and listed."""
    bad = {"messages": "no"}
    loaded = load(bad, PAGE_ROW, PAGE_ROW, skip_bad=True)
    assert [sample.id[-2:] for sample in loaded.samples] == ["-1", "-2"]
    assert [problem.line for problem in loaded.skipped] == [1]
    with pytest.raises(DataError):
        load(bad, PAGE_ROW)
