"""Replies without calls to check, and the scores they give."""

from __future__ import annotations

import pytest
from bfcl_replies import called, failed, said

from vendor_verifier.records.record import Attempt
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import Score
from vendor_verifier.suites import replay
from vendor_verifier.suites.bfcl.reference_calls import reference_calls
from vendor_verifier.suites.bfcl.suite import BfclSuite


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
