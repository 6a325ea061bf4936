"""Tool Correctness over a batch: the page's usage, tables of pandas, and what is no case."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier import EvalTestCase, ToolCorrectnessMetric, VerifierError, evaluate
from vendor_verifier.suites.tool_correctness import score

HOTEL = EvalTestCase(
    input="Search for hotels in Paris and book the cheapest one.",
    actual_output="I found and booked Hotel Le Marais for $120/night.",
    tools_called=["search_hotels", "sort_by_price", "book_hotel"],
    expected_tools=["search_hotels", "book_hotel"],
)
METRICS = (
    ToolCorrectnessMetric(threshold=0.5),
    ToolCorrectnessMetric(threshold=0.5, exact_match=True),
    ToolCorrectnessMetric(threshold=0.5, check_ordering=True),
)


def test_the_pages_usage() -> None:
    """The default passes, exact fails on the extra tool, and with ordering the search came first."""
    found = evaluate([HOTEL], METRICS)
    assert [(each.score, each.success) for each in found[0].results] == [(1.0, True), (0.0, False), (1.0, True)]
    assert list(found.scores.values()) == [1.0, 0.0, 1.0]
    assert not found[0].success
    assert evaluate([HOTEL])[0].success
    assert "sort_by_price" in found[0].results[1].reason


NAMES = st.lists(st.sampled_from("abc"), max_size=4)


@given(
    st.lists(st.tuples(NAMES, NAMES), max_size=5), st.booleans(), st.booleans(), st.sampled_from(["strict", "compat"])
)
def test_a_batch_scores_each_case_as_one_is_scored(
    sides: list[tuple[list[str], list[str]]], exact_match: bool, check_ordering: bool, mode: Any
) -> None:
    """A list of mappings, of cases and a table give the same results, in their order."""
    metric = ToolCorrectnessMetric(exact_match=exact_match, check_ordering=check_ordering, mode=mode)
    rows = [{"input": "q", "tools_called": called, "expected_tools": expected} for called, expected in sides]
    alone = [
        score(
            row["expected_tools"],
            row["tools_called"],
            exact_match=exact_match,
            check_ordering=check_ordering,
            mode=mode,
        )
        for row in rows
    ]
    for cases in (rows, [EvalTestCase(**row) for row in rows], pd.DataFrame(rows)):
        found = evaluate(cases, [metric])
        assert [case.results for case in found] == [(each,) for each in alone]
    mean = sum(each.score for each in alone) / len(alone) if alone else None
    assert found.scores == {metric.name: mean}


def test_a_table_comes_back_with_its_own_index() -> None:
    """What pandas has for nothing is no call; score, success and reason join the table they came from."""
    table = pd.DataFrame(
        {
            "input": ["a", "b", "c"],
            "tools_called": [["x"], None, float("nan")],
            "expected_tools": [["x"], ["z"], '["z"]'],
        },
        index=["q1", "q2", "q3"],
    )
    found = evaluate(table).frame()
    assert list(found.index) == ["q1", "q2", "q3"]
    assert list(table.join(found[["score", "success", "reason"]])["score"]) == [1.0, 0.0, 0.0]
    assert list(evaluate(table, METRICS).frame()["metric"].unique()) == [metric.name for metric in METRICS]
    empty = evaluate(pd.DataFrame({"tools_called": [], "expected_tools": []}))
    assert (len(empty), empty.scores, list(empty.frame().columns)[-1]) == (0, {"tool_correctness": None}, "reason")


def test_parameters_count_where_they_are_asked_for() -> None:
    """Calls instead of names: by name alone full marks, with parameters half of them."""
    case = {
        "input": "?",
        "tools_called": [{"name": "f", "parameters": {"a": 1, "b": 3}}],
        "expected_tools": [{"name": "f", "parameters": {"a": 1, "b": 2}}],
    }
    found = evaluate([case], [ToolCorrectnessMetric(), ToolCorrectnessMetric(compare_parameters=True)])
    assert list(found.scores.values()) == [1.0, 0.5]


def test_what_is_no_case_is_named_all_at_once() -> None:
    """Missing sides, bare texts and numbers, each with its place."""
    with pytest.raises(VerifierError) as caught:
        evaluate([{"tools_called": []}, {"tools_called": "x", "expected_tools": [1]}, HOTEL])
    text = str(caught.value)
    for words in ("case 0: expected_tools: there is none", "case 1: tools_called: read the text 'x'"):
        assert words in text
    assert "case 1: expected_tools: a call is an object, read a number" in text
    with pytest.raises(VerifierError, match="put the one case into a list"):
        evaluate({"tools_called": [], "expected_tools": []})  # type: ignore[arg-type]
    with pytest.raises(VerifierError, match="at least one metric"):
        evaluate([HOTEL], [])


@pytest.mark.parametrize(
    "options", [{"threshold": 2}, {"mode": "exact"}, {"mode": "compat", "compare_parameters": True}]
)
def test_a_metric_that_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    """A threshold above 1, an unknown mode, parameters of the original."""
    with pytest.raises(VerifierError, match=r"tool_correctness|mode is strict"):
        ToolCorrectnessMetric(**options)
