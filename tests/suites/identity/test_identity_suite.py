"""The suite ``identity``: questions made from a seed, the first visible token, reasoning off where it can be."""

from __future__ import annotations

import pytest
from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.registry import WIRES
from vendor_verifier.suites import Play, suite_kind
from vendor_verifier.suites.identity.questions import LENGTHS, group_of, identity_samples, is_string, kind_of
from vendor_verifier.suites.identity.suite import IdentitySuite, first_token
from vendor_verifier.values.event import TokenLogprob
from vendor_verifier.values.record import Attempt, Failure, Response
from vendor_verifier.values.request import Endpoint, Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions


def _asked(samples: tuple[Sample, ...]) -> list[str]:
    return [str(sample.turn.messages[0]["content"]) for sample in samples]


def test_the_seed_makes_the_questions() -> None:
    one, again, other = (identity_samples(60, 2, seed) for seed in (1, 1, 2))
    assert one == again
    assert len(set(_asked(one)) & set(_asked(other))) < 20


def test_60_probes_asked_20_times_and_24_strings_are_what_a_vendor_is_asked() -> None:
    samples = identity_samples()
    assert len(samples) == len({sample.id for sample in samples}) == 1_224
    groups = {group_of(sample.id) for sample in samples}
    strings = sorted(filter(is_string, groups))
    assert (len(groups), len(strings)) == (84, 24)
    assert [kind_of(name) for name in strings] == [*range(8)] * LENGTHS


def test_every_probe_is_another_question() -> None:
    samples = identity_samples(500, 2, 3)
    texts = _asked(tuple(sample for sample in samples if not is_string(group_of(sample.id))))
    assert len(set(texts)) == 500


def test_one_sampled_token_is_asked_for_whatever_the_entry_says() -> None:
    turn = identity_samples(2, 2)[0].turn
    assert turn.parameters == {"max_tokens": 1, "temperature": 1}
    assert {"max_tokens", "temperature"} <= set(turn.fixed)


@pytest.mark.parametrize(
    ("text", "token"),
    [("73", "73"), (" Oslo is", "Oslo"), ("蓝色", "蓝"), ("**Blue", "*"), ("🦔", "🦔"), ("\n", "(blank)"), ("", None)],
)
def test_the_first_visible_word_or_sign_counts(text: str, token: str | None) -> None:
    assert first_token(text) == token


def _judged(play: Play, *attempts: Attempt) -> Score:
    next(play)
    try:
        for attempt in attempts:
            play.send(attempt)
    except StopIteration as end:
        score: Score = end.value()
        return score
    raise AssertionError("the play asks for more")


def test_without_a_switch_for_reasoning_the_question_is_asked_plainly() -> None:
    sample = identity_samples(2, 2)[0]
    refused = Attempt(1, failure=Failure.of("untranslatable", "no switch"))
    score = _judged(IdentitySuite().play(sample), refused, Attempt(1, response=Response("7")))
    assert (score.details["status"], score.details["evidence"]) == ("kept", "7")


_NO_WORD = Attempt(1, failure=Failure.of("untranslatable", "no word"))
_REFUSED = Attempt(1, failure=Failure.of("bad_request", "logprobs is not supported", 400))
_STATED = Response("7", first_logprobs=(TokenLogprob("7", -0.5),))


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ([Attempt(1, response=_STATED)], "given"),
        ([_NO_WORD, Attempt(1, response=_STATED)], "given"),
        ([_NO_WORD, _REFUSED, _NO_WORD, Attempt(1, response=Response("7"))], "refused"),
        ([_REFUSED, _REFUSED, Attempt(1, response=Response("7"))], "refused"),
        ([_NO_WORD, _NO_WORD, Attempt(1, response=Response("7"))], "no_word"),
        ([Attempt(1, response=Response("7"))], "absent"),
        ([Attempt(1, response=structs.replace(_STATED, reasoning="Let"))], "absent"),
    ],
)
def test_log_probabilities_are_left_out_last_and_what_became_of_them_is_said(
    attempts: list[Attempt], told: str
) -> None:
    """A vendor without a word for reasoning is still asked for them; one that refuses them gives its answer without."""
    sample = identity_samples(2, 5)[0]
    score = _judged(IdentitySuite(logprobs=True).play(sample), *attempts)
    assert (score.details["status"], score.details["evidence"], score.details["logprobs"]) == ("kept", "7", told)


def test_log_probabilities_are_asked_for_beside_five_answers_to_each_probe_if_at_all() -> None:
    asked = {True: 0, False: 0}
    for wanted in asked:
        for sample in identity_samples(3, 20):
            turn = next(IdentitySuite(logprobs=wanted).play(sample))
            assert ("logprobs" in turn.parameters) == ("top_logprobs" in turn.fixed)
            asked[wanted] += "logprobs" in turn.parameters
    assert asked == {True: 15, False: 0}


def test_no_visible_token_measures_nothing() -> None:
    sample = identity_samples(2, 2)[0]
    score = _judged(IdentitySuite().play(sample), Attempt(1, response=Response("", reasoning="Let me")))
    assert score.details["status"] == "not_measurable"


@pytest.mark.parametrize("options", [{"probes": 1}, {"samples": 1_001}])
def test_numbers_out_of_bounds_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="is from 2 to"):
        IdentitySuite(**options)  # type: ignore[arg-type]


def test_it_stands_apart_from_the_ranking() -> None:
    kind = suite_kind("identity")
    assert kind is not None
    assert kind.apart
    assert not kind.compares


WIRES_AND_RAW: dict[str, Wire] = {**WIRES, "openai_completions": OpenAICompletions(render=lambda _turn: "hi")}


@pytest.mark.parametrize("wire", WIRES_AND_RAW)
def test_a_probe_travels_with_the_headers_and_to_the_address_of_any_other_question(wire: str) -> None:
    asked = identity_samples(2, 2)[0].turn
    usual = Turn(({"role": "user", "content": "Is it raining?"},), parameters={"temperature": 0})
    endpoint = Endpoint("https://vendor.example/v1", "m", key="k")
    probe, other = (WIRES_AND_RAW[wire].request(turn, endpoint) for turn in (asked, usual))
    assert (probe.url, probe.headers) == (other.url, other.headers)
