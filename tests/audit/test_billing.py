"""Each way of counting more or fewer tokens than the baseline is told apart, and honest tokenizer noise is none."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from changing import replace

from vendor_verifier.audit.billing import (
    PromptPair,
    cache_finding,
    cost_finding,
    hidden_reasoning_finding,
    prompt_findings,
    prompt_pairs,
    prompt_token_findings,
    same_counter_findings,
)
from vendor_verifier.audit.cost import money
from vendor_verifier.records.event import Usage
from vendor_verifier.records.money import Price
from vendor_verifier.scoring.observation import Try
from vendor_verifier.stats.ratio_table import Trials


def pairs(count: Callable[[int], float], n: int = 200) -> list[PromptPair]:
    """Prompts of 50 … 4000 tokens by the baseline's count, as ``count`` bills them."""
    dice = random.Random(1)
    lengths = [dice.randint(50, 4000) for _ in range(n)]
    return [PromptPair(f"s{i}", length, count(length)) for i, length in enumerate(lengths)]


def names(found: list[PromptPair]) -> list[str]:
    return [finding.name for finding in prompt_token_findings("v", found)]


def test_equal_counts_are_no_finding() -> None:
    """Nor are too few prompts to say anything."""
    assert names(pairs(lambda tokens: tokens)) == []
    assert names(pairs(lambda tokens: tokens + 100, n=9)) == []


def test_noise_around_nothing_is_no_finding() -> None:
    """A token more here and one fewer there has no direction."""
    dice = random.Random(2)
    assert names(pairs(lambda tokens: tokens + dice.choice((-1, 0, 1)))) == []


def test_a_hidden_prompt_is_a_constant() -> None:
    """87 tokens more on every prompt, with the deltas as evidence."""
    [finding] = prompt_token_findings("v", pairs(lambda tokens: tokens + 87))
    assert finding.name == "prompt_tokens_constant"
    assert finding.evidence["median"] == 87
    assert finding.evidence["deltas"] == "+87: 200"
    assert "counts +87 prompt tokens" in finding.statement


def test_inflation_is_a_slope() -> None:
    """5 % more per token beside a constant of 12, in spite of a tenth of wild rows."""
    dice = random.Random(3)
    [finding] = prompt_token_findings(
        "v", pairs(lambda tokens: dice.choice((tokens + 900,) + (round(tokens * 1.05 + 12),) * 9))
    )
    assert finding.name == "prompt_tokens_slope"
    assert finding.evidence["slope"] == pytest.approx(0.05, abs=0.002)
    assert finding.evidence["constant"] == pytest.approx(12, abs=4)


def test_cut_prompts_are_told_from_a_shorter_tokenizer() -> None:
    """Only the long prompts lack tokens and stop at one length; fewer everywhere is a slope instead."""
    [cut] = prompt_token_findings("v", pairs(lambda tokens: min(tokens, 3000)))
    assert cut.name == "prompt_truncated"
    assert cut.evidence["most_tokens"] == 3000
    assert names(pairs(lambda tokens: round(tokens * 0.9))) == ["prompt_tokens_slope"]


def test_cut_prompts_do_not_hide_a_constant() -> None:
    """Both are found at once."""
    assert names(pairs(lambda tokens: min(tokens + 40, 3000))) == ["prompt_truncated", "prompt_tokens_constant"]


def test_the_order_of_prompts_does_not_matter() -> None:
    """The same evidence comes out for any order of rows."""
    rows = pairs(lambda tokens: round(tokens * 1.03 + 5))
    [one], [other] = prompt_token_findings("v", rows), prompt_token_findings("v", rows[::-1])
    assert one.evidence == pytest.approx(other.evidence)


def test_prompts_cut_by_as_much_are_named_in_their_order() -> None:
    """Equal cuts leave the choice of examples to the samples' ids, not to chance."""
    rows = [PromptPair(f"s{number:02}", 100 + number, 100 + number) for number in range(20)]
    rows += [PromptPair(f"t{number}", 900, 500) for number in range(9)]
    [cut] = prompt_token_findings("v", rows)
    assert cut.samples == ("t0", "t1", "t2")


def test_one_counter_behind_two_names() -> None:
    """Equal counts on every prompt, unlike the baseline's; one prompt apart is enough to say nothing."""
    base = {f"s{i}": 100.0 + i for i in range(40)}
    resold = {name: count + (4 if count % 2 else 8) for name, count in base.items()}
    counts = {"base": base, "a": resold, "b": dict(resold), "c": {**resold, "s0": 1.0}, "d": dict(base)}
    found = same_counter_findings(counts, "base")
    assert [(finding.label, finding.evidence["other"]) for finding in found] == [("a", "b")]


def test_reasoning_and_cache_claims() -> None:
    """Billed and not shown; more cached than sent."""
    finding = hidden_reasoning_finding("v", [("a", 50, False), ("b", 70, False), ("c", 10, True), ("d", 0, False)])
    assert finding is not None
    assert (finding.evidence["tokens"], finding.samples) == (120, ("b", "a"))
    assert hidden_reasoning_finding("v", [("c", 10, True)]) is None
    cached = cache_finding("v", [("a", 100, 100), ("b", 100, 128)])
    assert cached is not None
    assert cached.samples == ("b",)
    assert cache_finding("v", [("a", 100, 64)]) is None


def test_pairs_come_from_trials_by_sample() -> None:
    """Repetitions are averaged, and a sample that one side did not report is in no pair."""
    base = Trials("b", (), {"input_tokens": {("a", 0): (10.0, 1.0), ("a", 1): (12.0, 1.0), ("b", 0): (5.0, 1.0)}})
    vendor = Trials("v", (), {"input_tokens": {("a", 0): (15.0, 1.0), ("c", 0): (5.0, 1.0)}})
    assert prompt_pairs(base, vendor) == [PromptPair("a", 11.0, 15.0)]
    assert prompt_pairs(base, Trials("w")) == []


def test_prompts_that_our_wire_put_in_other_words_are_not_compared() -> None:
    """Unless both were asked in the same other words. The vendor counts 50 fewer on a third, the long ones."""
    counts = {f"s{number:02d}": 100.0 + 10 * number for number in range(30)}
    fewer = {name: tokens - 50 * (number >= 20) for number, (name, tokens) in enumerate(counts.items())}
    base, vendor = (
        Trials(label, (), {"input_tokens": {(name, 0): (tokens, 1) for name, tokens in side.items()}})
        for label, side in (("base", counts), ("v", fewer))
    )
    notes = {name: frozenset({"schema:format"}) for name in list(counts)[20:]}
    found = [
        [each.name for each in prompt_findings([base, vendor], "base", reworded)]
        for reworded in ({}, {"v": notes}, {"v": notes, "base": notes})
    ]
    assert found == [["prompt_truncated"], [], ["prompt_truncated"]]
    assert [pair.sample for pair in prompt_pairs(base, vendor, {"v": notes})] == list(counts)[:20]
    others = {label: fewer if label != "base" else counts for label in ("base", "v", "w")}
    assert same_counter_findings(others, "base", {"v": notes, "w": notes}) == ()


def test_a_cost_is_held_against_the_price_list_with_and_without_the_discount() -> None:
    """Within 5 % nothing is said; the full price for cached tokens is named; anything else is a difference."""
    price = Price(1.0, 4.0, cached=0.1)
    usage = Usage(1_000_000, 0, cached=800_000)

    def said(cost: float) -> str | None:
        told = replace(usage, cost_usd=cost)
        finding = cost_finding("v", money([(("a", 0), Try(told, True))], price, requests=1, valid_calls=1))
        return None if finding is None else finding.name

    assert (said(0.28), said(0.29)) == (None, None)
    assert said(1.0) == "cache_not_discounted"
    assert said(0.6) == "reported_cost_differs"
    assert cost_finding("v", money([], price, requests=0, valid_calls=0)) is None
