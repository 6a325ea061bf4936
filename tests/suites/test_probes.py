"""The suite ``probes``: questions from a seed, one token each over every protocol, the first visible token."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Attempt, Failure, Response
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.score import Score
from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.suites.probes import (
    LENGTHS,
    ProbesSuite,
    first_token,
    group_of,
    is_string,
    kind_of,
    probes_samples,
)
from vendor_verifier.wire.openai_completions import OpenAICompletions

ALL = {**WIRES, "openai_completions": OpenAICompletions(render=lambda _turn: "hi")}
ENDPOINT = Endpoint("https://vendor.example/v1", "m", key="k")
SAMPLE = probes_samples(2, 2)[0]
NO_SWITCH = Attempt(1, failure=Failure.of("untranslatable", "no switch"))


def judged(*attempts: Attempt) -> Score:
    play = ProbesSuite().play(SAMPLE)
    next(play)
    try:
        for attempt in attempts:
            play.send(attempt)
    except StopIteration as end:
        score: Score = end.value()
        return score
    raise AssertionError("the play asks for more")


def test_60_english_questions_20_times_and_24_strings() -> None:
    samples = probes_samples()
    assert len({sample.id for sample in samples}) == 60 * 20 + 24 + 60 + 5 + 2
    assert sum(len(str(sample.turn.messages)) for sample in samples) / 4 < 150_000
    short = [sample for sample in samples if sample.tags["category"] in ("probe", "string")]
    groups = {group_of(sample.id): str(sample.turn.messages[0]["content"]) for sample in short}
    assert len(set(groups.values())) == 84
    assert all(text.isascii() for group, text in groups.items() if not is_string(group))
    assert [kind_of(name) for name in sorted(filter(is_string, groups))] == [*range(8)] * LENGTHS


def test_the_seed_draws_the_questions() -> None:
    one, again, other = ({str(each.turn.messages) for each in probes_samples(60, 2, seed)} for seed in (1, 1, 2))
    assert one == again
    assert len(one & other) < 30


@pytest.mark.parametrize("options", [{"questions": 1}, {"questions": 61}, {"repeats": 1_001}])
def test_numbers_out_of_bounds_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must be from 2 to"):
        ProbesSuite(**options)


@pytest.mark.parametrize(
    ("text", "token"),
    [("73", "73"), (" Oslo is", "Oslo"), ("蓝色", "蓝"), ("**Blue", "*"), ("🦔", "🦔"), ("\n", "(blank)"), ("", None)],
)
def test_the_first_visible_token_counts(text: str, token: str | None) -> None:
    assert first_token(text) == token


def test_no_switch_for_reasoning_asks_plainly() -> None:
    details = judged(NO_SWITCH, Attempt(1, response=Response("7"))).details
    assert (details["status"], details["evidence"]) == ("kept", "7")


@pytest.mark.parametrize(
    "attempt", [Attempt(1, response=Response("", reasoning="Let me")), Attempt(1, failure=Failure.of("dns", "no"))]
)
def test_no_visible_token_is_not_measurable(attempt: Attempt) -> None:
    assert judged(attempt).details["status"] == "not_measurable"


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
def test_each_protocol_asks_for_its_smallest_output(wire: str, place: tuple[str, ...], least: int) -> None:
    """With the address and headers of any other question, so that a vendor cannot know it by these."""
    usual = ALL[wire].request(Turn(({"role": "user", "content": "hi"},)), ENDPOINT)
    probe = ALL[wire].request(SAMPLE.turn, ENDPOINT)
    assert (probe.url, probe.headers) == (usual.url, usual.headers)
    found: Any = json.loads(probe.body)
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
def test_reasoning_is_switched_off(wire: Any, switch: dict[str, Any]) -> None:
    off = next(ProbesSuite().play(SAMPLE))
    sent, plain = (json.loads(wire.request(turn, ENDPOINT).body) for turn in (off, SAMPLE.turn))
    assert {key: value for key, value in sent.items() if plain.get(key) != value} == switch
