"""What the simulated model says follows the question and nothing else."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from questions import CLOCK, WEATHER, ask, many

from vendor_verifier.features.simulate.answer import CALL_RATE, compose, limited, pieces, wants_call
from vendor_verifier.features.simulate.performance import persona_answer
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.question import BadQuestion, question_of
from vendor_verifier.values.event import TextDelta
from vendor_verifier.values.request import Turn

FAITHFUL = PERSONAS["faithful"]


def test_the_same_question_gets_the_same_answer_under_any_setting() -> None:
    """A seed in the request and temperature 0 change nothing; another seed of the simulation does."""
    plain, warm = many(40), many(40, temperature=0, seed=7)
    answers = [persona_answer(question, FAITHFUL, 0) for question in plain]
    assert answers == [persona_answer(question, FAITHFUL, 0) for question in warm]
    assert answers != [persona_answer(question, FAITHFUL, 1) for question in plain]


def test_tools_are_called_about_as_often_as_said() -> None:
    """The share of questions with a call is near its rate, and small after a tool's result."""
    questions = many(600)
    assert abs(sum(wants_call(question, 0) for question in questions) / 600 - CALL_RATE) < 0.05
    after = [
        question_of(Turn((*question.turn.messages, {"role": "tool", "content": "ok"}), (WEATHER,), {}))
        for question in questions
    ]
    assert sum(wants_call(question, 0) for question in after) / 600 < 0.3


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("none", set()),
        ("required", {"get_weather", "clock.now-utc"}),
        ({"type": "function", "function": {"name": "get_weather"}}, {"get_weather"}),
    ],
)
@pytest.mark.parametrize("persona", ["faithful", "quantised", "substitute"])
def test_tool_choice_is_obeyed(choice: Any, expected: set[str], persona: str) -> None:
    """``none``, ``required`` and a named tool decide whether and what is called, for every persona."""
    called: set[str] = set()
    for question in many(60, tool_choice=choice):
        calls = persona_answer(question, PERSONAS[persona], 0).calls
        assert bool(calls) == bool(expected)
        called |= {call.name.removesuffix("_v2") for call in calls}
    assert called == expected


def test_parallel_calls_only_where_allowed() -> None:
    """Several calls are made in some answers, and never when ``parallel_tool_calls`` is false."""
    assert any(len(persona_answer(question, FAITHFUL, 0).calls) > 1 for question in many(60))
    assert all(
        len(persona_answer(question, FAITHFUL, 0).calls) <= 1 for question in many(60, parallel_tool_calls=False)
    )


def test_without_tools_there_is_text() -> None:
    """A question without tools is answered in words with finish ``stop``."""
    answer = persona_answer(ask("Hello?", tools=()), FAITHFUL, 0)
    assert (bool(answer.text), answer.calls, answer.finish) == (True, (), "stop")


def test_arguments_fit_the_called_tool() -> None:
    """Every argument text is JSON valid against the schema of the tool it calls."""
    for question in many(80):
        for call in persona_answer(question, FAITHFUL, 0).calls:
            assert jsonschema_rs.is_valid(question.tools[call.name], json.loads(call.arguments))


@pytest.mark.parametrize("budget", [1, 3, 7])
def test_the_output_budget_is_kept(budget: int) -> None:
    """``max_tokens`` cuts text and calls, finishes ``length`` and is what is billed."""
    for question in many(40, max_tokens=budget):
        answer = persona_answer(question, FAITHFUL, 0)
        said = len(answer.text) + sum(len(call.name) + len(call.arguments) for call in answer.calls)
        assert said <= 4 * budget
        assert answer.output_tokens <= budget
        whole = compose(question, 0, calling=wants_call(question, 0))
        assert (answer.finish == "length") == (whole.output_tokens > budget)


def test_stop_ends_the_text() -> None:
    """A ``stop`` text is where the answer ends, and is not in it."""
    question = ask("Tell me about the harbour", tools=(), stop=["."])
    assert "." not in persona_answer(question, FAITHFUL, 0).text


def test_response_formats_give_json() -> None:
    """``json_object`` and ``json_schema`` are answered in JSON, the latter valid."""
    question = ask("As JSON", tools=(), response_format={"type": "json_object"})
    assert isinstance(json.loads(persona_answer(question, FAITHFUL, 0).text), dict)
    schema = WEATHER["function"]["parameters"]
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    question = ask("As JSON", tools=(), response_format=form)
    assert jsonschema_rs.is_valid(schema, json.loads(persona_answer(question, FAITHFUL, 0).text))


@pytest.mark.parametrize("count", [1, 8, 25])
def test_pieces_put_together_are_the_answer(count: int) -> None:
    """No character is lost or added when an answer is cut into pieces."""
    for question in many(30):
        answer = limited(question, compose(question, 0, calling=True))
        parts = pieces(answer, count, [f"id{index}" for index in range(len(answer.calls))])
        assert "".join(part.text for part in parts if isinstance(part, TextDelta)) == answer.text
        for index, call in enumerate(answer.calls):
            own = [part for part in parts if not isinstance(part, TextDelta) and part.index == index]
            assert [part.name for part in own if part.name] == [call.name]
            assert "".join(str(part.arguments) for part in own) == call.arguments


@pytest.mark.parametrize(
    ("messages", "tools", "parameters"),
    [
        ((), (), {}),
        (({"content": "no role"},), (), {}),
        (({"role": "user"},), ("nonsense",), {}),
        (({"role": "user"},), (), {"max_tokens": 0}),
        (({"role": "user"},), (), {"max_completion_tokens": "many"}),
        (({"role": "user"},), (), {"temperature": 2.5}),
        (({"role": "user"},), (), {"n": 2}),
        (({"role": "user"},), (), {"tool_choice": "required"}),
        (({"role": "user"},), (CLOCK,), {"tool_choice": {"type": "function", "function": {"name": "other"}}}),
    ],
)
def test_bad_questions_are_refused(messages: Any, tools: Any, parameters: Any) -> None:
    """What every real vendor answers with 400 is refused here too."""
    with pytest.raises(BadQuestion):
        question_of(Turn(messages, tools, parameters))


def test_the_first_of_two_tools_with_one_name_counts() -> None:
    """A name declared twice means its first declaration."""
    twin = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "array"}}}
    assert ask("?", tools=(WEATHER, twin)).tools["get_weather"] == WEATHER["function"]["parameters"]
