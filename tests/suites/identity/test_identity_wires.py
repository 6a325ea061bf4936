"""The suite ``identity`` over every protocol: the smallest output, no reasoning, and the first visible token."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.suites.identity.questions import identity_samples
from vendor_verifier.suites.identity.suite import IdentitySuite
from vendor_verifier.values.record import Attempt, Exchange
from vendor_verifier.values.request import Endpoint
from vendor_verifier.values.score import Score
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.parse_answer import read_answer

RAW = OpenAICompletions(render=lambda _turn: "hi")
ALL: dict[str, Wire] = {**WIRES, "openai_completions": RAW}
ENDPOINT = Endpoint("https://vendor.example/v1", "m", key="k")
SAMPLE = identity_samples(2, 2)[0]
OFF = structs.replace(SAMPLE.turn, thinking="off")


def _body(wire: Wire, *, off: bool) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(wire.request(OFF if off else SAMPLE.turn, ENDPOINT).body)
    return found


@pytest.mark.parametrize(
    ("wire", "place", "least"),
    [
        ("openai", ("max_tokens",), 1),
        ("openai_completions", ("max_tokens",), 1),
        ("anthropic", ("max_tokens",), 1),
        ("gemini", ("generationConfig", "maxOutputTokens"), 1),
        ("openai_responses", ("max_output_tokens",), 16),
    ],
)
def test_as_little_is_asked_for_as_the_protocol_takes(wire: str, place: tuple[str, ...], least: int) -> None:
    found: Any = _body(ALL[wire], off=False)
    for key in place:
        found = found[key]
    assert found == least


@pytest.mark.parametrize(
    ("wire", "switch"),
    [
        (WIRES["anthropic"], {"thinking": {"type": "disabled"}}),
        (WIRES["openai_responses"], {"reasoning": {"effort": "none"}}),
        (find_vendors().vendors["openai"].vendor.wire, {"reasoning_effort": "none"}),
        (find_vendors().vendors["openrouter"].vendor.wire, {"reasoning": {"effort": "none"}}),
        (find_vendors().vendors["deepseek"].vendor.wire, {"thinking": {"type": "disabled"}}),
        (find_vendors().vendors["siliconflow"].vendor.wire, {"enable_thinking": False}),
    ],
    ids=["anthropic", "responses", "openai", "openrouter", "deepseek", "siliconflow"],
)
def test_reasoning_is_switched_off_in_the_words_of_wire_and_vendor(wire: Wire, switch: dict[str, Any]) -> None:
    sent, plain = _body(wire, off=True), _body(wire, off=False)
    assert {key: value for key, value in sent.items() if plain.get(key) != value} == switch


def test_gemini_gets_no_budget_for_thoughts_beside_its_other_settings() -> None:
    settings = _body(WIRES["gemini"], off=True)["generationConfig"]
    assert settings == {"temperature": 1, "maxOutputTokens": 1, "thinkingConfig": {"thinkingBudget": 0}}


@pytest.mark.parametrize("wire", ["openai", "openai_completions"])
def test_without_a_word_for_it_the_wire_says_so_and_the_suite_asks_plainly(wire: str) -> None:
    assert ALL[wire].request(OFF, ENDPOINT).untranslatable == ("thinking switch",)
    assert ALL[wire].request(SAMPLE.turn, ENDPOINT).untranslatable == ()


# A whole answer by wire: one whose smallest output is a sentence, and one whose budget the reasoning used up.
_USED_UP = {"effort": "medium"}
ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "openai": (
        {"choices": [{"message": {"content": "Oslo"}, "finish_reason": "length"}]},
        {"choices": [{"message": {"content": "", "reasoning_content": "Let"}, "finish_reason": "length"}]},
    ),
    "openai_completions": (
        {"choices": [{"text": "Oslo", "finish_reason": "length"}]},
        {"choices": [{"text": "<think>Let", "finish_reason": "length"}]},
    ),
    "openai_responses": (
        {
            "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Oslo, as it is a city"}]}],
        },
        {
            "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
            "output": [{"type": "reasoning", "summary": []}], "reasoning": _USED_UP,
        },
    ),
    "anthropic": (
        {"content": [{"type": "text", "text": "Oslo"}], "stop_reason": "max_tokens"},
        {"content": [{"type": "thinking", "thinking": "Let"}], "stop_reason": "max_tokens"},
    ),
    "gemini": (
        {"candidates": [{"content": {"parts": [{"text": "Oslo"}]}, "finishReason": "MAX_TOKENS"}]},
        {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("wire", ANSWERS)
def test_the_first_visible_token_counts_and_reasoning_alone_measures_nothing(wire: str) -> None:
    shown, used_up = (_judged(wire, body) for body in ANSWERS[wire])
    assert (shown.details["status"], shown.details["evidence"]) == ("kept", "Oslo")
    assert used_up.details["status"] == "not_measurable"


def _judged(wire: str, body: dict[str, Any]) -> Score:
    exchange = Exchange(
        "2026-01-01T00:00:00Z", 2, 200, {"content-type": "application/json"}, [(1, json.dumps(body).encode())]
    )
    timing, response, failure = read_answer(exchange, ALL[wire].reader(), asked_stream=False)
    play = IdentitySuite().play(SAMPLE)
    next(play)
    try:
        play.send(Attempt(1, timing, response, failure))
    except StopIteration as end:
        score: Score = end.value()
        return score
    raise AssertionError("the play asks for more")
