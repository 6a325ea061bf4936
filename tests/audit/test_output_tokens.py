"""Inflated output tokens: found where the excess grows with the answer, never where it is a way of counting."""

from __future__ import annotations

import numpy as np
import pytest

from vendor_verifier.audit.output_tokens import output_token_findings
from vendor_verifier.scoring.answer_texts import AnswerText

Kept = dict[tuple[str, str], dict[int, AnswerText]]


def _side(seed: int, *, factor: float = 1.0, more: int = 0, times: int = 1, n: int = 100, same: float = 0.3) -> Kept:
    """Answers of 40 to 2,000 characters at about four characters a token; ``same`` of them alike on every side."""
    kept: Kept = {}
    for number in range(n):
        shared = np.random.default_rng(number)
        length = int(40 * 50 ** shared.random())
        kept["trigger", f"q{number}"] = {}
        for again in range(times):
            rng = np.random.default_rng([seed, number, again])
            is_same = shared.random() < same
            characters = length if is_same else int(length * rng.uniform(0.9, 1.1))
            tokens = length / 4 if is_same else characters / 4 * rng.normal(1, 0.05)
            text = "same" if is_same else f"{seed}-{again}"
            billed = round(tokens * factor) + more
            kept["trigger", f"q{number}"][again] = AnswerText(
                text, "", "", 10, 0.0, characters=characters, output_tokens=billed
            )
    return kept


def test_eight_percent_more_is_named_with_its_size() -> None:
    answers = {"official": _side(1, times=2), "inflating": _side(2, factor=1.08)}
    (found,) = output_token_findings(answers, "official")
    assert (found.name, found.label) == ("output_tokens_inflated", "inflating")
    assert 0.06 < float(found.evidence["slope"]) < 0.10
    assert int(found.evidence["same_answers"]) > 10
    assert "more output tokens" in found.statement


@pytest.mark.parametrize("more", [1, 7])
def test_a_constant_is_a_way_of_counting(more: int) -> None:
    answers = {"official": _side(1, times=2), "counting": _side(2, more=more)}
    assert not list(output_token_findings(answers, "official"))


def test_no_honest_vendor_of_a_hundred_is_named() -> None:
    answers = {"official": _side(1, times=2), **{f"twin{seed}": _side(seed) for seed in range(10, 110)}}
    assert not list(output_token_findings(answers, "official"))


def test_too_few_answers_and_unknown_tokens_say_nothing() -> None:
    answers = {"official": _side(1, times=2, n=10), "inflating": _side(2, factor=1.5, n=10)}
    assert not list(output_token_findings(answers, "official"))
    unknown = {each: {0: AnswerText("a", "", "", 10, 0.0, characters=9)} for each in _side(1)}
    assert not list(output_token_findings({"official": _side(1, times=2), "silent": unknown}, "official"))
