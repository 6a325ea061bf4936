"""What an examination costs."""

from __future__ import annotations

import pytest
from doctor_cases import DONE, answer, chunk, entry, good, refused, sse, text_question, words

from vendor_verifier.features.doctor.diagnose import spending
from vendor_verifier.features.doctor.values import first_questions, next_question


def test_reported_tokens_are_summed_and_priced() -> None:
    """Two answers of 20 and 8 tokens at 1 and 10 dollars a million."""
    spent = spending(good(), {"input": 1.0, "output": 10.0})
    assert (spent.requests, spent.input_tokens, spent.output_tokens, spent.estimated) == (2, 40, 16, False)
    assert spent.cost_usd == pytest.approx((40 * 1 + 16 * 10) / 1e6)


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        (None, None),
        ({"input": 1.0}, None),
        ({"input": 1.0, "output": 10.0, "currency": "CNY"}, None),
        ({"input": 1.0, "output": 10.0, "currency": "CNY", "rate": 0.1}, 0.1 * (20 + 80) / 1e6),
        ({"input": 0.0, "output": 0.0, "request": 0.5}, 0.5),
    ],
)
def test_a_price_that_is_not_known_gives_no_cost(price: dict[str, object] | None, cost: float | None) -> None:
    """Never zero for not known."""
    found = spending([answer(text_question(), words())], price).cost_usd
    assert found == (None if cost is None else pytest.approx(cost))


def test_what_the_vendor_says_it_charged_counts_first() -> None:
    """usage.cost wins over the configured price."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25}
    made = answer(text_question(), [(1, chunk("stop", content="x") + sse({"choices": [], "usage": usage}) + DONE)])
    assert spending([made], {"input": 9.0, "output": 9.0}).cost_usd == 0.25


def test_without_usage_a_quarter_of_the_characters_is_said_to_be_an_estimate() -> None:
    """And refusals cost nothing."""
    made = answer(text_question(), [(1, chunk("stop", content="x" * 40) + DONE)])
    spent = spending([made, refused(text_question(), 500)], None)
    assert (spent.requests, spent.output_tokens, spent.estimated) == (2, 10, True)


def test_an_examination_stays_under_a_cent_at_three_and_fifteen_dollars_a_million() -> None:
    """All three budgets used up, and prompts of 120 tokens each."""
    tools = answer(first_questions(entry())[0], words())
    text = answer(text_question(), words())
    third = next_question(entry(), [tools, text])
    assert third is not None
    questions = [tools.question, text.question, third]
    budgets = [question.turn.parameters["max_tokens"] for question in questions]
    assert sum(budgets) * 15 / 1e6 + len(questions) * 120 * 3 / 1e6 < 0.01
