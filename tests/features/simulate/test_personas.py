"""Each persona shows its trait at its rate, and no other trait."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from questions import many

from vendor_verifier.features.simulate.answer import Answer
from vendor_verifier.features.simulate.performance import (
    PERSONAS,
    Performance,
    Refusal,
    first_refusals,
    perform,
    persona_answer,
)
from vendor_verifier.features.simulate.question import Question

QUESTIONS = many(700)


def _answers(name: str) -> list[Answer]:
    return [persona_answer(question, PERSONAS[name], 0) for question in QUESTIONS]


def _performances(name: str) -> list[Performance]:
    found = [perform(question, PERSONAS[name], 0, refused=9, asked=1) for question in QUESTIONS]
    return [outcome for outcome in found if isinstance(outcome, Performance)]


def _is_valid(question: Question, name: str, arguments: str) -> bool:
    try:
        return name in question.tools and jsonschema_rs.is_valid(question.tools[name], json.loads(arguments))
    except ValueError:
        return False


FAITHFUL = _answers("faithful")


@pytest.mark.parametrize("name", ["padded", "slow", "bursty", "cutter", "buffering"])
def test_other_faults_leave_the_answer_alone(name: str) -> None:
    """Vendors that only bill, time or deliver badly say exactly what the faithful one says."""
    mine = _answers(name)
    assert [(answer.text, answer.calls) for answer in mine] == [(answer.text, answer.calls) for answer in FAITHFUL]


def test_quantised_misses_and_invents_triggers() -> None:
    """About 12 % of the calls are missed and a few are made that were not due."""
    pairs = list(zip(FAITHFUL, _answers("quantised"), strict=True))
    due = [bool(mine.calls) for honest, mine in pairs if honest.calls]
    undue = [bool(mine.calls) for honest, mine in pairs if not honest.calls]
    assert 0.07 < due.count(False) / len(due) < 0.17
    assert 0.01 < undue.count(True) / len(undue) < 0.12


def test_quantised_spoils_calls_in_every_way() -> None:
    """About 8 % of the calls are invalid; unknown tools and unreadable JSON are among them."""
    calls = [
        (question, call)
        for question, answer in zip(QUESTIONS, _answers("quantised"), strict=True)
        for call in answer.calls
    ]
    bad = [call for question, call in calls if not _is_valid(question, call.name, call.arguments)]
    assert 0.04 < len(bad) / len(calls) < 0.12
    assert any(call.name.endswith("_v2") for call in bad)
    assert any(not call.arguments.endswith("}") for call in bad)
    assert any(call.arguments.endswith("}") and call.name == "get_weather" for call in bad)


def test_padded_bills_more_for_the_prompt_only() -> None:
    """Prompt tokens grow by 35 % and 120, output tokens not at all."""
    for honest, mine in zip(FAITHFUL, _answers("padded"), strict=True):
        assert mine.prompt_tokens == round(honest.prompt_tokens * 1.35) + 120
        assert mine.output_tokens == honest.output_tokens


def test_slow_is_late_and_slow() -> None:
    """The slow vendor's first token and pace are both worse than the faithful one's by a factor of two at least."""
    for honest, mine in zip(_performances("faithful"), _performances("slow"), strict=True):
        assert mine.first_token_s >= 2 * honest.first_token_s
        assert mine.decode_s >= 1.5 * honest.decode_s


def test_leaker_leaks_half_of_its_calls() -> None:
    """About half of the calling answers have markup in the text and no call, in two dialects."""
    pairs = [pair for pair in zip(FAITHFUL, _answers("text-leaker"), strict=True) if pair[0].calls]
    leaked = [mine for _, mine in pairs if not mine.calls]
    assert 0.42 < len(leaked) / len(pairs) < 0.58
    assert all(mine.finish == "stop" for mine in leaked)
    sections = [mine for mine in leaked if "<|tool_calls_section_begin|>" in mine.text]
    elements = [mine for mine in leaked if "<tool_call>" in mine.text]
    assert sections
    assert elements
    assert len(sections) + len(elements) == len(leaked)


def test_substitute_decides_otherwise_and_says_so() -> None:
    """15 % of its decisions differ, and model, fingerprint and id family are another's."""
    pairs = list(zip(FAITHFUL, _answers("substitute"), strict=True))
    differing = sum(bool(honest.calls) != bool(mine.calls) for honest, mine in pairs)
    assert 0.10 < differing / len(pairs) < 0.20
    honest, mine = _performances("faithful")[0], _performances("substitute")[0]
    assert (honest.served_model, mine.served_model) == (None, "simulated-mini-8b")
    assert honest.fingerprint != mine.fingerprint
    assert honest.answer_id.split("-")[0] != mine.answer_id.split("-")[0]


def test_bursty_refuses_at_first_and_then_answers() -> None:
    """About a fifth of the questions are refused once or twice, in three ways; one more try is always answered."""
    persona = PERSONAS["bursty"]
    refused = [question for question in QUESTIONS if first_refusals(question, persona, 0)]
    assert 0.15 < len(refused) / len(QUESTIONS) < 0.25
    first = [perform(question, persona, 0, refused=0, asked=1) for question in refused]
    assert {outcome.status for outcome in first if isinstance(outcome, Refusal)} == {429, 500, 503}
    assert all(outcome.retry_after_s for outcome in first if isinstance(outcome, Refusal) and outcome.status == 429)
    assert all(isinstance(perform(question, persona, 0, refused=2, asked=3), Performance) for question in refused)


def test_cutter_cuts_a_tenth_in_three_ways() -> None:
    """About 10 % of the answers are cut: ended early, closed, or reset."""
    endings = [performance.ending for performance in _performances("cutter")]
    cut = [ending for ending in endings if ending != "complete"]
    assert 0.06 < len(cut) / len(endings) < 0.14
    assert set(cut) == {"early_end", "closed", "reset"}


@pytest.mark.parametrize(("name", "status"), [("down", 500), ("locked", 401)])
def test_refusing_personas_refuse_always(name: str, status: int) -> None:
    """The dead and the locked vendor never answer."""
    outcome = perform(QUESTIONS[0], PERSONAS[name], 0, refused=99, asked=99)
    assert isinstance(outcome, Refusal)
    assert outcome.status == status


@pytest.mark.parametrize("name", ["crowded", "queueing", "throttled"])
def test_up_to_its_room_a_loaded_persona_is_an_honest_one(name: str) -> None:
    """With six requests in flight nothing is missed, refused or late; with seven one trait shows, and no other."""
    persona, faithful = PERSONAS[name], PERSONAS["faithful"]
    assert persona.among(6) is persona
    traits = ("miss_rate", "refusal", "first_token_s")
    assert [getattr(persona, trait) for trait in traits] == [getattr(faithful, trait) for trait in traits]
    beyond = persona.among(7)
    changed = {trait for trait in traits if getattr(beyond, trait) != getattr(persona, trait)}
    assert changed == {{"crowded": "miss_rate", "queueing": "first_token_s", "throttled": "refusal"}[name]}


def test_queueing_is_later_the_longer_its_queue() -> None:
    """Two requests too many wait twice as long as one."""
    persona = PERSONAS["queueing"]
    waits = [persona.among(number).first_token_s[0] - persona.first_token_s[0] for number in (6, 7, 8)]
    assert waits == pytest.approx([0.0, 0.4, 0.8])


def test_every_persona_is_described_in_one_line() -> None:
    """A persona's name is its key and its description fits a line of help."""
    for name, persona in PERSONAS.items():
        assert persona.name == name
        assert 0 < len(persona.description) < 100
        assert "\n" not in persona.description


def test_timings_repeat() -> None:
    """When things are sent is a function of seed and question too."""
    assert [p.first_token_s for p in _performances("faithful")] == [p.first_token_s for p in _performances("faithful")]


def test_no_answer_is_told_so_fast_that_it_looks_buffered() -> None:
    """A listener that pauses for a few hundredths of a second still hears every honest vendor speak piece by piece."""
    for name in PERSONAS.keys() - {"down", "locked"}:
        assert min(performance.decode_s for performance in _performances(name)) >= 0.05
