"""Replies without calls to check, and the scores they give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from call_evaluations import any_json, called, failed, judged, said
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError
from vendor_verifier.pipeline.bfcl.data import find_data, load_categories
from vendor_verifier.records.record import Attempt, Score
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.bfcl import check
from vendor_verifier.suites.bfcl.categories import SINGLE_TURN
from vendor_verifier.suites.bfcl.literals import read_java, read_javascript
from vendor_verifier.suites.bfcl.results import VendorResult, result_pages
from vendor_verifier.suites.bfcl.suite import BfclSuite


@pytest.mark.parametrize(
    ("attempt", "outcome", "ast_error", "abstained"),
    [
        (failed(), "error", "ast_decoder:decoder_failed", 0.0),
        (said("No."), "text", "ast_decoder:decoder_failed", 1.0),
        (said(""), "no_call", "simple_function_checker:wrong_count", 1.0),
        (called(("geometry_cone_volume", "{oops")), "unparsable", "ast_decoder:decoder_failed", 0.0),
        (called(("geometry_cone_volume", "")), "unparsable", "ast_decoder:decoder_failed", 0.0),
        (called(("geometry_cone_volume", "[1]")), "unparsable", "ast_decoder:decoder_wrong_output_format", 0.0),
        (called(("invented", {})), "calls", "simple_function_checker:wrong_func_name", 0.0),
    ],
)
def test_replies_without_a_right_call(
    shipped_rows: dict[str, Sample], attempt: Attempt, outcome: str, ast_error: str, abstained: float
) -> None:
    """Error, text, silence and unreadable calls are different things; only text and silence are an abstention."""
    ast = judged(BfclSuite(), shipped_rows["simple_0"], attempt)
    assert (ast.details["outcome"], ast.details["error_type"]) == (outcome, ast_error)
    assert ast.values == {"correct": 0.0}
    assert judged(BfclSuite(), shipped_rows["irrelevance_0"], attempt).values["correct"] == abstained


ORACLES = Path(__file__).parents[2] / "oracles" / "bfcl_rows.jsonl"
ROWS = [row for line in ORACLES.read_text(encoding="utf-8").splitlines() if (row := json.loads(line))["answer"]]


@given(st.sampled_from(ROWS), any_json())
def test_no_value_makes_a_good_row_crash(row: dict[str, Any], value: Any) -> None:
    """Whatever JSON a vendor sends, there is a verdict, or the row's own data is at fault."""
    (name, accepted), *_ = row["answer"][0].items()
    calls = [{name.replace(".", "_"): dict.fromkeys(accepted, value) if isinstance(accepted, dict) else {}}]
    try:
        found = check(row["functions"], calls, row["answer"], row["category"])
    except DataError:
        return
    assert found.valid or found.error_type


@pytest.mark.parametrize(
    ("language", "kind", "source"),
    [
        ("java", "HashMap", 'new HashMap<>()} new HashMap<>(){' + " " * 1_900),
        ("java", "HashMap", "new HashMap<>() {{ " + 'put("",' * 270 + "}}"),
        ("java", "ArrayList", "new ArrayList<>() {{" + " " * 1_900 + "}"),
        ("javascript", "array", "[" + "[a]," * 450),
        ("javascript", "dict", "{" + "a" * 1_900 + "}"),
    ],
)  # fmt: skip
def test_no_source_takes_long_to_read(language: str, kind: str, source: str) -> None:
    # A pattern that runs away never ends, and the time limit of the test stops it.
    (read_java if language == "java" else read_javascript)(source, kind)


def test_a_row_that_cannot_be_judged_is_in_no_denominator() -> None:
    judged = [("simple_python", 1.0), ("simple_python", 0.0), ("simple_python", None), ("multiple", 1.0)]
    scores = [Score("bfcl", values={"correct": value}, details={"category": name}) for name, value in judged]
    found = VendorResult("v", scores)
    assert found.accuracies == {"simple_python": (0.5, 2), "multiple": (1.0, 1)}
    assert result_pages({"t": [found]})["v"]["run"]["t"] == {"accuracy": 2 / 3, "correct": 2, "rows": 3}


@pytest.fixture(scope="session")
def shipped_rows() -> dict[str, Sample]:
    loaded, _ = load_categories(find_data("shipped"), SINGLE_TURN)
    return {sample.expected["id"]: sample for sample in loaded.samples}


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ([{"x": 1}, {"x": 2}], None),
        ([{"x": 1}], "value_error:list_dict_count"),
        ([{"x": 1}, {"x": 2}, {"x": 3}], "value_error:list_dict_count"),
        ([{"x": 1}, {"x": 3}], "value_error:dict_value"),
        ([{"x": 1}, {"x": 2, "y": 1}], "value_error:dict_key"),
    ],
)
def test_lists_of_objects_fit_member_by_member(sent: list[dict[str, int]], error: str | None) -> None:
    """No member less, none more, and each with the accepted keys and values."""
    items = {"type": "array", "items": {"type": "dict", "properties": {"x": {"type": "integer"}}}}
    function = {"name": "f", "parameters": {"type": "dict", "properties": {"points": items}, "required": ["points"]}}
    answer = [{"f": {"points": [[{"x": [1]}, {"x": [2]}]]}}]
    found = check([function], [{"f": {"points": sent}}], answer, "simple")
    assert (found.valid, found.error_type) == (error is None, error)
