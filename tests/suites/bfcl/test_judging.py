"""Replies without calls to check, and the scores they give."""

from __future__ import annotations

import json

import pytest
from bfcl_replies import called, failed, said

from vendor_verifier.suites import replay
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.reference_calls import reference_calls
from vendor_verifier.suites.bfcl.replies import read_reply
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score


def judged(sample: Sample, attempt: Attempt) -> Score:
    score = replay(BfclSuite().play(sample), iter([attempt]))
    assert score is not None
    return score


def perfect(sample: Sample) -> Attempt:
    calls = reference_calls(sample.expected)
    return called(*calls) if calls else said("I cannot do that.")


def test_reference_calls_are_right_everywhere(shipped_rows: dict[str, Sample]) -> None:
    """Every shipped row accepts the calls written from its own answers: the faithful vendor's 100 %."""
    for sample in shipped_rows.values():
        score = judged(sample, perfect(sample))
        assert score.values == {"correct": 1.0}, (sample.expected["id"], score.details)


def test_a_failure_is_never_better_than_any_answer(shipped_rows: dict[str, Sample]) -> None:
    """By default a failed request scores 0 on every row, also where no call was to be made."""
    for sample in shipped_rows.values():
        score = judged(sample, failed())
        assert score.values["correct"] == 0.0
        assert score.details["outcome"] == "error"
        assert score.decision == "undecided"


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
    shipped_rows: dict[str, Sample],
    attempt: Attempt,
    outcome: str,
    ast_error: str,
    abstained: float,
) -> None:
    """Error, text, silence and unreadable calls are kept apart; only text and silence are an abstention."""
    ast = judged(shipped_rows["simple_0"], attempt)
    assert (ast.details["outcome"], ast.details["error_type"]) == (outcome, ast_error)
    assert ast.values == {"correct": 0.0}
    assert judged(shipped_rows["irrelevance_0"], attempt).values["correct"] == abstained


def test_relevance_wants_any_readable_call(shipped_rows: dict[str, Sample]) -> None:
    """A relevance row accepts any call, and neither words nor a call that cannot be read."""
    sample = shipped_rows["live_relevance_0-0-0"]
    assert judged(sample, called(("anything", {}))).values["correct"] == 1.0
    assert judged(sample, said("hm")).details["error_type"] == "relevance_error:decoder_failed"
    assert judged(sample, called(("anything", "{"))).values["correct"] == 0.0


def test_text_beside_calls_is_ignored(shipped_rows: dict[str, Sample]) -> None:
    """Words that come with a right call change nothing."""
    sample = shipped_rows["simple_5"]
    attempt = called(*reference_calls(sample.expected), text="Let me see.")
    assert judged(sample, attempt).values["correct"] == 1.0


def test_pieces_that_are_no_calls_are_left_out() -> None:
    """A call with neither name nor arguments is a stream's artefact, not a call."""
    assert read_reply(called(("", ""))).outcome == "no_call"


def test_what_is_sent_has_legal_names_and_json_schema(shipped_rows: dict[str, Sample]) -> None:
    """No sent tool has a dotted name or a type name that JSON Schema does not know."""
    known = {"object", "string", "integer", "number", "boolean", "array"}

    def types(value: object) -> set[object]:
        if isinstance(value, list):
            return set().union(*map(types, value)) if value else set()
        if not isinstance(value, dict):
            return set()
        own = {value["type"]} if isinstance(value.get("type"), str) else set()
        return own.union(*map(types, value.values()))

    for sample in shipped_rows.values():
        for tool in sample.turn.tools:
            assert "." not in tool["function"]["name"]
            assert types(tool["function"]["parameters"]) <= known
        json.dumps([dict(tool) for tool in sample.turn.tools])
        if "irrelevance" not in sample.expected["category"]:
            names = {tool["function"]["name"] for tool in sample.turn.tools}
            assert {sent_name(name) for answer in sample.expected["answer"] or () for name in answer} <= names
