"""What vendors of one model count for one question, held against each other."""

from __future__ import annotations

from typing import Any

import pytest
from doctor_cases import DONE, MS, USAGE, answer, case, chunk, refused, sse, text_question, tool_question
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.features.doctor.hints import MIN_RATIO, MIN_TOKENS, hints
from vendor_verifier.features.doctor.values import Answer, Case
from vendor_verifier.words import Sentence


def counted(given: int | None, got: int = 8, text: str = "1 2 3", question: str = "text") -> Answer:
    asked = text_question() if question == "text" else tool_question()
    usage = {**USAGE, "usage": {"prompt_tokens": given, "completion_tokens": got}}
    return answer(asked, [(MS, chunk("stop", content=text) + (sse(usage) if given is not None else b"") + DONE)])


def vendor(label: str, *answers: Answer, baseline: bool = False, model: str = "m") -> Case:
    return case(answers, label=label, is_baseline=baseline, model=model)


def said(*cases: Case) -> dict[str, list[tuple[str, Any, Any]]]:
    """By label, the hints' names, with count and reference."""
    told: list[tuple[Sentence, ...]] = list(hints(cases))
    return {
        one.entry.label: [(hint.name, hint.values["count"], hint.values["reference"]) for hint in each]
        for one, each in zip(cases, told, strict=True)
        if each
    }


def test_many_more_prompt_tokens_than_the_baseline_counts_are_a_hint() -> None:
    """143 against 17 for one question: named at the one that differs, with whom it differs from."""
    found = said(
        vendor("official", counted(17), baseline=True), vendor("same", counted(19)), vendor("other", counted(143))
    )
    assert found == {"other": [("hint_prompt_more", 143, 17)]}


def test_far_fewer_are_a_hint_too() -> None:
    """The baseline may be the one with a system prompt of its own, and then everybody else differs from it."""
    found = said(vendor("official", counted(143), baseline=True), vendor("other", counted(17)))
    assert found == {"other": [("hint_prompt_fewer", 17, 143)]}


def test_without_a_baseline_the_middle_is_the_measure() -> None:
    """Two that agree show the third."""
    found = said(vendor("a", counted(143)), vendor("b", counted(17)), vendor("c", counted(18)))
    assert found == {"a": [("hint_prompt_more", 143, 18)]}


def test_one_cause_is_said_once() -> None:
    """A vendor that adds to the question of text adds to that with tools; the second says nothing new."""
    few, many = (counted(17), counted(50, question="tools")), (counted(143), counted(188, question="tools"))
    assert said(vendor("a", *few, baseline=True), vendor("b", *many)) == {"b": [("hint_prompt_more", 143, 17)]}
    same_text = (counted(17), counted(188, question="tools"))
    assert said(vendor("a", *few, baseline=True), vendor("b", *same_text)) == {"b": [("hint_prompt_more", 188, 50)]}


def test_models_are_not_held_against_each_other() -> None:
    """Another model has another tokenizer."""
    assert said(vendor("a", counted(17)), vendor("b", counted(143), model="n")) == {}


def test_output_tokens_are_compared_for_the_same_text_only() -> None:
    """The same words for ten times as many tokens; of other words nothing can be said."""
    base = vendor("official", counted(17, 8), baseline=True)
    assert said(base, vendor("b", counted(17, 80))) == {"b": [("hint_output_more", 80, 8)]}
    assert said(base, vendor("b", counted(17, 80, text="1 2 3 4"))) == {}


@pytest.mark.parametrize("silent", [(), (refused(text_question(), 401),), (counted(None),)])
def test_who_reports_nothing_is_neither_hinted_at_nor_a_measure(silent: tuple[Answer, ...]) -> None:
    """No count is not a count of 0."""
    assert said(vendor("official", *silent, baseline=True), vendor("b", counted(143))) == {}


@given(st.lists(st.integers(1, 400), min_size=2, max_size=6))
def test_a_hint_is_always_a_large_difference(counts: list[int]) -> None:
    """Never for less than the stated ratio and the stated number of tokens."""
    cases = [vendor(str(number), counted(count)) for number, count in enumerate(counts)]
    for name, count, reference in (hint for each in said(*cases).values() for hint in each):
        fewer, more = sorted((count, reference))
        assert name.startswith("hint_prompt")
        assert more >= MIN_RATIO * fewer
        assert more - fewer >= MIN_TOKENS
