"""Calls written into text are read back by the product's own parser, for every family."""

from __future__ import annotations

import json

import pytest
from questions import many

from vendor_verifier.features.simulate.answer import Answer, Call
from vendor_verifier.features.simulate.performance import persona_answer
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.wires.completions import FAMILIES, family_of, written
from vendor_verifier.wire.openai_completions.text_tool_calls import parse_text


@pytest.mark.parametrize("family", list(FAMILIES))
def test_what_is_written_is_read_back(family: str) -> None:
    """Text and calls of faithful answers come back, whatever the family's markup."""
    for question in many(60):
        answer = persona_answer(question, PERSONAS["faithful"], 0)
        parsed = parse_text(written(answer, family), question.turn.tools)
        assert parsed.text == answer.text
        assert [(call.name, json.loads(str(call.arguments))) for call in parsed.tool_calls] == [
            (call.name, json.loads(call.arguments)) for call in answer.calls
        ]


@pytest.mark.parametrize("family", ["hermes", "kimi", "deepseek"])
def test_broken_arguments_stay_broken(family: str) -> None:
    """Arguments without their last brace are read back without it."""
    answer = Answer("", (Call("look", '{"a": {"b": 1}'), Call("see", '{"c": "x"')), "tool_calls", 1, 1)
    parsed = parse_text(written(answer, family))
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [
        ("look", '{"a": {"b": 1}'),
        ("see", '{"c": "x"'),
    ]


@pytest.mark.parametrize("family", ["hermes", "kimi", "deepseek"])
def test_a_call_cut_by_the_budget_stays_open(family: str) -> None:
    """The last call of an answer cut for length has no end marker, and its arguments end where they were cut."""
    answer = Answer("Hm.", (Call("look", '{"a": 1}'), Call("see", '{"c": "x')), "length", 1, 1)
    text = written(answer, family)
    assert text.endswith('{"c": "x')
    parsed = parse_text(text, is_cut=True)
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("look", '{"a": 1}'), ("see", '{"c": "x')]


def test_every_family_is_known_by_its_own_example() -> None:
    """The example a prompt shows is what its family is recognised by; a prompt without one means Hermes."""
    assert {name: family_of(family.example) for name, family in FAMILIES.items()} == {name: name for name in FAMILIES}
    assert family_of("") == "hermes"
