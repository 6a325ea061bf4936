"""Each persona shows its trait at its rate, and no other trait."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from questions import ask, many

from vendor_verifier.features.simulate.answer import Answer
from vendor_verifier.features.simulate.performance import Performance, Refusal, first_refusals, perform, persona_answer
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.question import Question

QUESTIONS = many(700)
OF_DELIVERY = ["inflated", "fake-stream", "upstream-retries", "cold", "hot", "caching"]


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


@pytest.mark.parametrize("name", ["padded", "slow", "bursty", "cutter", "buffering", *OF_DELIVERY])
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


def _asked_thrice(name: str, temperature: float = 1.0) -> list[list[Answer]]:
    """The answers to every question when it is asked for the first, second and third time."""
    questions = many(300, temperature=temperature)
    return [[persona_answer(each, PERSONAS[name], 0, asked=again) for again in (1, 2, 3)] for each in questions]


def test_a_sampled_answer_varies_with_the_asking_and_keeps_its_decision() -> None:
    """At temperature 1 half of the answers differ when asked again; decisions, tools and the prompt's bill do not."""
    asked = _asked_thrice("faithful")
    assert 0.3 < sum(one == other for one, other, _ in asked) / len(asked) < 0.8
    for each in asked:
        assert len({tuple(call.name for call in answer.calls) for answer in each}) == 1
        assert len({answer.prompt_tokens for answer in each}) == 1
    assert asked == _asked_thrice("faithful")
    assert all(len(set(each)) == 1 for each in _asked_thrice("faithful", 0))


def test_sampled_arguments_still_meet_their_schema() -> None:
    """Whatever is left to chance, no call is spoilt by it."""
    for question in many(300, temperature=2):
        for call in persona_answer(question, PERSONAS["hot"], 0, asked=5).calls:
            assert _is_valid(question, call.name, call.arguments)


@pytest.mark.parametrize("name", ["cold", "caching"])
def test_cold_and_caching_vendors_repeat_themselves(name: str) -> None:
    """Asked again at temperature 1 they say the same bytes; only the cold one says those of temperature 0."""
    asked = _asked_thrice(name)
    assert all(len(set(each)) == 1 for each in asked)
    greedy = [persona_answer(each, PERSONAS[name], 0) for each in many(300)]
    assert ([each[0] for each in asked] == greedy) is (name == "cold")


def test_hot_varies_more_than_asked() -> None:
    """Fewer of its answers are the same when asked again than of the faithful vendor's."""
    same = {name: sum(one == other for one, other, _ in _asked_thrice(name)) for name in ("faithful", "hot")}
    assert same["hot"] < 0.7 * same["faithful"]


def test_mixture_lets_another_model_answer_a_fifth() -> None:
    """About 20 % of its answers are another model's, and nothing else tells: model, fingerprint and ids are its own."""
    mine = _answers("mixture")
    assert 0.15 < sum(one != other for one, other in zip(mine, FAITHFUL, strict=True)) / len(mine) < 0.25
    honest, other = _performances("faithful")[0], _performances("mixture")[0]
    assert (honest.served_model, honest.fingerprint) == (other.served_model, other.fingerprint)


def test_switching_answers_with_another_model_from_a_request_on() -> None:
    """Up to request 100 it is the faithful one, and from 101 on another model under the same names."""
    persona = PERSONAS["switching"]
    assert persona.after(100) is persona
    later = [persona_answer(question, persona.after(101), 0) for question in QUESTIONS]
    assert sum(one != other for one, other in zip(later, FAITHFUL, strict=True)) > 0.9 * len(later)
    assert persona.after(101).served_model is None


def test_inflated_bills_more_than_it_said_within_the_limit_and_in_the_same_time() -> None:
    """Output tokens grow by 8 %, never above ``max_tokens``; prompt tokens and pace are honest."""
    for honest, mine in zip(_performances("faithful"), _performances("inflated"), strict=True):
        assert mine.answer.output_tokens == round(1.08 * honest.answer.output_tokens)
        assert mine.answer.prompt_tokens == honest.answer.prompt_tokens
        assert mine.piece_count == honest.piece_count
    limited = many(50, max_tokens=20)
    assert max(persona_answer(each, PERSONAS["inflated"], 0).output_tokens for each in limited) == 20


def test_fake_stream_begins_when_all_is_there_and_sends_evenly() -> None:
    """The longer the answer, the later its first token; pieces are 1.5 to 5 ms apart whatever its length."""
    told = _performances("fake-stream")
    for each in told:
        assert 0.0015 <= each.decode_s / (each.piece_count - 1) <= 0.005
        assert each.first_token_s >= 0.015 + 0.8 * each.answer.output_tokens / 250
    assert max(each.first_token_s for each in told) > 3 * min(each.first_token_s for each in told)


def test_upstream_retries_are_rare_and_late() -> None:
    """About 3 % of the first tokens come six times later or more, and all others as the faithful one's."""
    pairs = zip(_performances("faithful"), _performances("upstream-retries"), strict=True)
    late = [mine.first_token_s / 0.015 for _, mine in pairs if mine.first_token_s > 0.031]
    assert 0.015 < len(late) / len(QUESTIONS) < 0.05
    assert min(late) >= 6


def test_long_cutter_answers_what_it_heard_and_bills_the_whole() -> None:
    """Short questions are answered as by the faithful one; long ones by their end, with the prompt tokens of all."""
    long = [ask(f"Town {number}. " + "Tell me of its weather and its people. " * 20) for number in range(60)]
    ends = [persona_answer(question, PERSONAS["faithful"], 0) for question in long]
    mine = [persona_answer(question, PERSONAS["long-cutter"], 0) for question in long]
    assert [each.prompt_tokens for each in mine] == [each.prompt_tokens for each in ends]
    assert len({(each.text, each.calls) for each in mine}) == 1 < len({(each.text, each.calls) for each in ends})
    assert [each.text for each in _answers("long-cutter")] == [each.text for each in FAITHFUL]


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
    for name in PERSONAS.keys() - {"down", "locked", "fake-stream"}:
        assert min(performance.decode_s for performance in _performances(name)) >= 0.05
