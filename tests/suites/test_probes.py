"""The suite ``probes``: questions from a seed, one token each over every protocol, the first visible token."""

from __future__ import annotations

import json

import pytest

from vendor_verifier.records.record import Attempt, Failure, Response, Score, ToolCall
from vendor_verifier.records.request import Turn
from vendor_verifier.suites import replay
from vendor_verifier.suites.probes import (
    STRING_LENGTHS,
    ProbesSuite,
    group_of,
    is_string,
    kind_of,
    probes_samples,
    read_echo,
)

SAMPLE = probes_samples(2, 2)[0]
NO_SWITCH = Attempt(1, failure=Failure.of("untranslatable", "no switch"))


def judged(*attempts: Attempt) -> Score:
    score = replay(ProbesSuite().play(SAMPLE), attempts)
    assert score is not None
    return score


def test_60_english_questions_20_times_and_24_strings() -> None:
    samples = probes_samples()
    assert len({sample.id for sample in samples}) == 60 * 20 + 24 + 60 + 5 + 2
    assert sum(len(str(sample.turn.messages)) for sample in samples) / 4 < 150_000
    short = [sample for sample in samples if sample.tags["category"] in ("probe", "string")]
    groups = {group_of(sample.id): str(sample.turn.messages[0]["content"]) for sample in short}
    assert len(set(groups.values())) == 84
    assert all(text.isascii() for group, text in groups.items() if not is_string(group))
    assert [kind_of(name) for name in sorted(filter(is_string, groups))] == [*range(8)] * STRING_LENGTHS


def test_the_seed_draws_the_questions() -> None:
    one, again, other = ({str(each.turn.messages) for each in probes_samples(60, 2, seed)} for seed in (1, 1, 2))
    assert one == again
    assert len(one & other) < 30


@pytest.mark.parametrize(
    ("text", "token"),
    [("73", "73"), (" Oslo is", "Oslo"), ("蓝色", "蓝"), ("**Blue", "*"), ("🦔", "🦔"), ("\n", "(blank)")],
)
def test_the_first_visible_token_counts(text: str, token: str) -> None:
    """Also of a vendor without a switch for reasoning, which is asked plainly."""
    for attempts in ([], [NO_SWITCH]):
        details = judged(*attempts, Attempt(1, response=Response(text))).details
        assert (details["status"], details["evidence"]) == ("kept", token)
    for attempt in (Attempt(1, response=Response("", reasoning="Hm")), Attempt(1, failure=Failure.of("dns", "no"))):
        assert judged(attempt).details["status"] == "not_measurable"


@pytest.mark.parametrize(
    ("copied", "status"),
    [("   Grüße  ", "kept"), ("Grüße", "broken"), ("   grüße  ", "broken"), ("   Grüße  \n", "broken")],
)
def test_copied_text_is_compared_as_it_is(copied: str, status: str) -> None:
    turn = Turn(({"role": "user", "content": "Copy.\n<text>   Grüße  </text>"},))
    call = ToolCall("submit_text", json.dumps({"text": copied}))
    assert read_echo(turn, Response(tool_calls=(call,)))[0] == status
