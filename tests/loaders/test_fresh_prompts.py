"""Samples made anew: every shipped one can be, says something else, keeps what is expected, and joins by its id."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from vendor_verifier.loaders.fresh_prompts import FreshSamples, asked_instead, bounded, half_of, made_anew
from vendor_verifier.loaders.fresh_words import CITIES, PEOPLE
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.resources import shipped
from vendor_verifier.sample_store import SampleReader, encode_sample
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, content_digest

SHIPPED = load_dataset(shipped("datasets/samples.jsonl")).samples


def _sample(text: str, template: dict[str, str], language: str = "en") -> Sample:
    turn = Turn(({"role": "user", "content": text},))
    return Sample("0123456789abcdef-1", turn, tags={"template": template, "language": language})


def _text(sample: Sample) -> str:
    return str(sample.turn.messages[-1]["content"])


def test_every_shipped_sample_says_something_else_in_every_run() -> None:
    for sample in SHIPPED:
        digests = {content_digest(made_anew(sample, seed).turn) for seed in range(3)}
        assert len(digests | {content_digest(sample.turn)}) == 4, sample.source


def test_what_is_expected_and_what_the_tools_say_stays() -> None:
    """Only words of the template change, tools at most in their order; nothing of a row gets lost."""
    for sample in SHIPPED:
        made = made_anew(sample, 11)
        assert (made.id, made.expected) == (sample.id, sample.expected)
        assert made.turn.parameters == sample.turn.parameters
        assert sorted(map(json.dumps, made.turn.tools)) == sorted(map(json.dumps, sample.turn.tools))
        template = sample.tags["template"]
        for before, after in zip(sample.turn.messages, made.turn.messages, strict=True):
            if before["role"] == "system":
                assert before == after
            one, other = (_shape(str(message.get("content") or ""), template) for message in (before, after))
            assert other.startswith(one)


def _shape(text: str, template: dict[str, str]) -> str:
    """The text without digits, cities and people: what no template may change."""
    if any(kind != "digits" for kind in template.values()):
        pool = sorted({each for words in (*CITIES.values(), *PEOPLE.values()) for each in words}, key=len, reverse=True)
        text = re.sub("|".join(map(bounded, pool)), "_", text)
    return re.sub("[0-9]", "#", text)


def test_a_word_is_replaced_everywhere_alike_and_never_inside_another() -> None:
    sample = _sample("Order 4471, not 44715 or A4471: is 4471 in Porto?", {"4471": "digits", "Porto": "city"})
    found = re.fullmatch(
        r"Order (4\d{3}), not 44715 or A4471: is (4\d{3}) in (\w[\w ]*)\?", _text(made_anew(sample, 3))
    )
    assert found is not None
    assert found[1] == found[2] != "4471"
    assert found[3] != "Porto"


def test_calls_and_results_of_the_conversation_keep_up() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"order_id":"9915"}'}}
    messages = (
        {"role": "user", "content": "Order 9915?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"order_id":"9915"}'},
    )
    made = made_anew(Sample("0-1", Turn(messages), tags={"template": {"9915": "digits"}}), 5)
    said = re.findall(r"9\d{3}", json.dumps(made.turn.messages))
    assert len(said) == 3
    assert len(set(said)) == 1
    assert said[0] != "9915"


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "zh", "ja", "eo"])
def test_what_has_no_word_to_change_is_signed(language: str) -> None:
    texts = {_text(made_anew(_sample("Hm?", {}, language), seed)) for seed in range(20)}
    assert len(texts) > 15
    assert all(text.startswith("Hm?\n") for text in texts)


def test_half_of_those_with_a_template_are_made_and_all_keep_their_ids() -> None:
    bare = Sample("x-1", Turn(({"role": "user", "content": "Hi"},)))
    samples = FreshSamples([*SHIPPED, bare], 8)
    halves = [half_of(sample) for sample in samples]
    assert (halves.count("fresh"), halves.count("known"), halves.count(None)) == (158, 157, 1)
    assert list(samples.ids) == [*(sample.id for sample in SHIPPED), "x-1"]
    for sample, half in zip(samples, halves, strict=True):
        if half == "fresh":
            assert asked_instead(sample) == content_digest(sample.turn)
            assert not sample.id.startswith(str(asked_instead(sample)))
        else:
            assert asked_instead(sample) is None
    others = [half_of(sample) for sample in FreshSamples(SHIPPED, 9)]
    assert 100 < sum(one != other for one, other in zip(halves, others, strict=False)) < 215


def test_the_same_seed_makes_the_same_bytes_also_of_stored_samples() -> None:
    one, again = ([encode_sample(sample) for sample in FreshSamples(SHIPPED, 21)] for _ in range(2))
    assert one == again
    read = SampleReader().read(one[0], SHIPPED[0].id)
    assert half_of(read) in ("fresh", "known")


def test_the_template_of_a_row_is_never_sent(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    row = {"messages": [{"role": "user", "content": "Order 4471?"}], "template": {"4471": "digits"}}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (sample,) = load_dataset(path).samples
    assert sample.tags["template"] == {"4471": "digits"}
    assert not sample.turn.parameters
