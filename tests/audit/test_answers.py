"""The answers test on vendors: measurable or not, one budget for all, where it shows, and since when."""

from __future__ import annotations

import numpy as np
import pytest
from changing import replace

from vendor_verifier.audit.answers import BUDGET, answers_findings, answers_tests
from vendor_verifier.records.judgement import AnswersTest
from vendor_verifier.scoring.answer_texts import AnswerText

_LETTERS = [chr(0x4E00 + 7 * number) * 4 for number in range(50)]
Kept = dict[tuple[str, str], dict[int, AnswerText]]


def _text(rng: np.random.Generator, question: int, spread: float = 0.2) -> str:
    right = [(question * 11 + place * 5) % 50 for place in range(12)]
    return "".join(_LETTERS[int(rng.integers(50)) if rng.random() < spread else each] for each in right)


def _answer(text: str, question: int, *, reasoning: str = "", provider: str | None = None) -> AnswerText:
    return AnswerText(text, reasoning, "", 10 * question, 1_000.0 + question, provider)


def _side(rng: np.random.Generator, n: int, *, times: int = 1, other: range = range(0), cold: bool = False) -> Kept:
    """``n`` answers asked ``times`` times; those to the questions ``other`` are another model's."""
    return {
        ("trigger", f"q{number}"): {
            again: _answer(
                _text(rng, number + (517 if number in other else 0), 0.0 if cold else 0.2),
                number,
                provider="b" if number in other else "a",
            )
            for again in range(times)
        }
        for number in range(n)
    }


def _tests(vendors: dict[str, Kept], baseline: Kept, seed: int = 3) -> dict[str, AnswersTest]:
    return answers_tests(
        {"official": baseline, **vendors}, "official", ["official", *vendors], np.random.default_rng(seed)
    )


def test_a_twin_is_consistent_and_says_what_would_have_been_seen() -> None:
    rng = np.random.default_rng(1)
    test = _tests({"twin": _side(rng, 200)}, _side(rng, 200, times=2))["twin"]
    assert test.p_value is not None
    assert test.p_value > BUDGET
    assert test.seen_mixture is not None
    assert 0 < test.seen_mixture < 1
    assert not list(answers_findings({"twin": test}))


def test_another_model_from_half_time_on_is_found_with_the_half_and_the_time() -> None:
    rng = np.random.default_rng(1)
    tests = _tests({"switch": _side(rng, 200, other=range(100, 200))}, _side(rng, 200, times=2))
    (found,) = answers_findings(tests)
    assert (found.name, found.label) == ("answers_unlike_baseline", "switch")
    since = tests["switch"].since
    assert since is not None
    assert "1970-01-01T00:18" in since
    halves = {part.value: part for part in tests["switch"].parts if part.name == "half"}
    assert halves["second"].p_value < 0.01 < halves["first"].p_value
    assert f"since about {since}" in found.statement


def test_the_upstream_provider_that_differs_is_named() -> None:
    rng = np.random.default_rng(2)
    tests = _tests({"router": _side(rng, 240, other=range(0, 240, 3))}, _side(rng, 240, times=2))
    parts = {part.value: part for part in tests["router"].parts if part.name == "provider"}
    assert parts["b"].p_value < 0.01 < parts["a"].p_value


def test_a_colder_vendor_is_too_like_the_baseline() -> None:
    rng = np.random.default_rng(1)
    (found,) = answers_findings(_tests({"cold": _side(rng, 300, cold=True)}, _side(rng, 300, times=2)))
    assert found.name == "answers_too_like_baseline"


def test_all_vendors_of_a_run_share_one_budget() -> None:
    rng = np.random.default_rng(1)
    baseline = _side(rng, 40, times=2)
    alone = _tests({"odd": _side(np.random.default_rng(7), 40, other=range(8))}, baseline)["odd"].p_value
    twins = {f"twin{number}": _side(rng, 40) for number in range(5)}
    among = _tests({"odd": _side(np.random.default_rng(7), 40, other=range(8)), **twins}, baseline)["odd"].p_value
    assert alone is not None
    assert among is not None
    assert among > alone


@pytest.mark.parametrize(
    ("baseline", "vendor", "words"),
    [
        (1, 40, "--baseline-repeats 2"),
        (2, 5, "fewer than 10"),
    ],
)
def test_what_hinders_the_test_is_said_with_what_would_help(baseline: int, vendor: int, words: str) -> None:
    rng = np.random.default_rng(1)
    test = _tests({"one": _side(rng, vendor)}, _side(rng, 40, times=baseline))["one"]
    assert test.p_value is None
    assert words in (test.not_measurable or "")


def test_a_baseline_that_repeats_itself_byte_for_byte_measures_nothing() -> None:
    rng = np.random.default_rng(1)
    cached = {question: {0: both[0], 1: both[0]} for question, both in _side(rng, 40).items()}
    test = _tests({"one": _side(rng, 40)}, cached)["one"]
    assert "repeats itself" in (test.not_measurable or "")


def test_reasoning_that_only_one_side_shows_is_no_difference() -> None:
    rng = np.random.default_rng(1)
    baseline = _side(rng, 100, times=2)
    plain = _side(rng, 100)
    telling = {
        question: {0: AnswerText(one[0].text, "I think. " * 9, "", one[0].asked_characters, one[0].sent_s, "a")}
        for question, one in plain.items()
    }
    assert _tests({"one": plain}, baseline)["one"].z == _tests({"one": telling}, baseline)["one"].z


def test_without_a_baseline_nothing_is_compared() -> None:
    rng = np.random.default_rng(1)
    tests = answers_tests({"one": _side(rng, 30)}, None, ["one"], np.random.default_rng(1))
    assert "no baseline" in (tests["one"].not_measurable or "")


def test_where_no_text_is_stored_that_is_said() -> None:
    tests = answers_tests(None, "official", ["official", "one"], np.random.default_rng(1))
    assert list(tests) == ["one"]
    assert "--redact-content" in (tests["one"].not_measurable or "")


def test_questions_that_our_wire_put_in_other_words_are_not_compared() -> None:
    """A vendor that was asked them otherwise may answer otherwise; where the baseline was too, they are."""
    rng = np.random.default_rng(1)
    other, official = _side(rng, 200, other=range(200)), _side(rng, 200, times=2)

    def reworded(side: Kept) -> Kept:
        return {
            question: {again: replace(each, reworded=("schema:format",)) for again, each in answers.items()}
            for question, answers in side.items()
        }

    assert "fewer" in (_tests({"other": reworded(other)}, official)["other"].not_measurable or "")
    assert _tests({"other": reworded(other)}, reworded(official))["other"].n == 200
