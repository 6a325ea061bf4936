"""What a vendor is asked: few and small requests, and none without a reason."""

from __future__ import annotations

import pytest
from doctor_cases import answer, broken, calling, chunk, entry, refused, sse, text_question, tool_question, words
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.features.doctor.values import (
    MAX_REQUESTS,
    Answer,
    Question,
    first_questions,
    next_question,
    pause_s,
    within_budget,
)

ENTRY = entry()
ANSWERERS = [
    lambda question: answer(question, words()),
    lambda question: answer(question, calling()),
    lambda question: answer(question, []),
    lambda question: refused(question, 429),
    lambda question: refused(question, 404),
    lambda question: refused(question, 500),
    lambda question: broken(question, "connection_reset"),
]


@given(st.lists(st.sampled_from(ANSWERERS), min_size=5, max_size=5))
def test_no_vendor_is_ever_asked_more_than_three_times(answerers: list[object]) -> None:
    """Whatever it answers."""
    answers: list[Answer] = []
    while (question := next_question(ENTRY, answers)) is not None:
        answers.append(answerers[len(answers)](question))  # type: ignore[operator]
        assert len(answers) <= MAX_REQUESTS
    assert [one.question.topic for one in answers[:2]] == ["tools", "text"]


@pytest.mark.parametrize("kind", ["dns", "tls", "connect_refused", "timeout_connect"])
def test_who_cannot_be_reached_is_not_asked_again(kind: str) -> None:
    """One failed connection settles it."""
    assert next_question(ENTRY, [broken(tool_question(), kind)]) is None


@pytest.mark.parametrize("status", [401, 402, 307])
def test_a_refused_key_or_a_redirect_ends_the_questions(status: int) -> None:
    """Nothing can be learned from asking on."""
    assert next_question(ENTRY, [refused(tool_question(), status)]) is None


def test_a_good_vendor_is_asked_twice() -> None:
    """A call and a text that streams leave no question."""
    assert next_question(ENTRY, [answer(tool_question(), calling()), answer(text_question(), words())]) is None


def test_a_passing_failure_is_asked_once_more_after_the_wait_the_vendor_asks_for() -> None:
    """A 503 with a hint: the same question, after at most five seconds."""
    failed = refused(text_question(), 503)
    third = next_question(ENTRY, [answer(tool_question(), calling()), failed])
    assert third == Question("text, again", "text", failed.question.turn)
    assert pause_s([failed]) == 1.0
    hurried = answer(text_question(), [(1, b"{}")], 429, {"retry-after": "0"})
    patient = answer(text_question(), [(1, b"{}")], 429, {"retry-after": "900"})
    assert (pause_s([hurried]), pause_s([patient])) == (0.0, 5.0)
    assert pause_s([]) == pause_s([answer(text_question(), words())]) == 0.0


def test_no_call_is_followed_by_a_question_that_requires_one() -> None:
    """Only then is tool_choice used, which some vendors refuse."""
    third = next_question(ENTRY, [answer(tool_question(), words()), answer(text_question(), words())])
    assert third is not None
    assert third.turn.parameters["tool_choice"] == "required"
    assert "tool_choice" not in tool_question().turn.parameters


def test_the_budget_is_ours_and_other_settings_the_entrys() -> None:
    """A config's max_tokens cannot make a tiny question a large one, in the settings or in the body."""
    for question in first_questions(entry(parameters={"temperature": 0.5, "max_tokens": 99999})):
        assert question.turn.parameters["temperature"] == 0.5
        assert question.turn.parameters["max_tokens"] <= 200
    assert within_budget({"max_completion_tokens": 9, "max_tokens": 9, "top_k": 1}) == {"top_k": 1}


def test_reasoning_alone_counts_as_no_call() -> None:
    """A budget used up by reasoning gives the model one larger chance."""
    thinking = answer(tool_question(), [(1, chunk(reasoning_content="hmm")), (2, chunk("length") + sse(b"[DONE]"))])
    third = next_question(ENTRY, [thinking, answer(text_question(), words())])
    assert third is not None
    assert third.turn.parameters["max_tokens"] > tool_question().turn.parameters["max_tokens"]
