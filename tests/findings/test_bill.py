"""Bills: tokens counted beyond the baseline's, what they cost, and what honest hosts may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from model_runs import BASE, model_run, records, twice

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.findings.bill import reach
from vendor_verifier.findings.verdict import every_test, judge
from vendor_verifier.records.plan import Price
from vendor_verifier.scoring.money import Money

N = 200
RNG = np.random.default_rng(1)
TENTH = np.arange(N) % 10 == 0
PROMPTS = RNG.integers(50, 4000, N).astype(float)
LENGTHS = np.exp(RNG.uniform(3.7, 7.6, N)).round()
Counts = Any


def run_of(count: Callable[[Counts], Counts], n: int = N, **more: Any) -> ModelRun:
    own = records("v", n, input_tokens=count(PROMPTS[:n]))
    return model_run(own, twice(n, input_tokens=PROMPTS[:n]), **more)


def seen(run: ModelRun, vendor: str = "v") -> dict[str, str]:
    """Finding → status, after the correction."""
    return {
        found.name: found.status
        for found in judge(run, {}).findings
        if found.facet == "bill" and found.vendor == vendor
    }


def named(run: ModelRun, name: str) -> Any:
    return next(test for _, test in every_test(run) if test.name == name)


@pytest.mark.parametrize(
    ("count", "found"),
    [
        (lambda tokens: tokens, {}),
        (lambda tokens: tokens - 50, {}),
        (lambda tokens: np.round(tokens * 0.9), {}),
        (lambda tokens: tokens + RNG.choice((-1, 0, 1), N), {}),
        (lambda tokens: np.round(tokens * 1.008), {}),
        (lambda tokens: np.minimum(tokens, 3000), {}),
        (lambda tokens: tokens + RNG.integers(4, 12, N), {"template_tokens": "matches"}),
        (lambda tokens: tokens + 87, {"more_prompt_tokens": "differs"}),
        (lambda tokens: np.round(tokens * 1.05), {"more_prompt_tokens": "differs"}),
        (lambda tokens: np.where(TENTH, tokens - 900, np.round(tokens * 1.02 + 12)), {"more_prompt_tokens": "differs"}),
        (lambda tokens: np.where(np.arange(N) % 3, tokens, tokens + 500), {}),
    ],
    ids=[
        "equal", "fewer", "a tenth fewer", "noise", "below the line", "cut", "another template", "hidden prompt",
        "inflated", "inflated with wild rows", "a third of the rows",
    ],
)  # fmt: skip
def test_prompt_tokens(count: Callable[[Counts], Counts], found: dict[str, str]) -> None:
    assert seen(run_of(count)) == found


def test_padding_says_what_a_buyer_pays() -> None:
    run = run_of(lambda tokens: np.round(tokens * 1.35 + 120), prices={"v": Price(1.0, 4.0)})
    test = named(run, "more_prompt_tokens")
    ratio = float((np.round(PROMPTS * 1.35 + 120) / 1).sum() / PROMPTS.sum() - 1)
    assert test.value == pytest.approx(ratio)
    paid, due = (float((prompts + 4 * 100).sum()) for prompts in (np.round(PROMPTS * 1.35 + 120), PROMPTS))
    assert f"Bills {100 * ratio:.0f} % more prompt tokens" in test.text
    assert "120 a request and 35 % a token" in test.text
    assert f"cost {100 * (paid / due - 1):.0f} % more" in test.text


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (lambda tokens: np.where(TENTH, tokens - 900, np.round(tokens * 1.02 + 12)), "for most requests (12 a request"),
        (lambda tokens: tokens + (tokens > 2500), "prompt tokens for the same requests."),
    ],
)
def test_surpluses_are_described(count: Callable[[Counts], Counts], words: str) -> None:
    assert words in named(run_of(count), "more_prompt_tokens").text


def test_few_prompts_are_not_tested() -> None:
    few = run_of(lambda tokens: tokens + 100, n=11)
    assert seen(few) == {}
    assert not reach(few, "v").enough
    assert judge(few, {}).verdicts["v"].facets["bill"].status == "not_tested"
    assert reach(run_of(lambda tokens: tokens), "v").enough


@pytest.mark.parametrize(("own", "base", "found"), [("", "", True), ("x", "", False), ("x", "x", True)])
def test_prompts_in_other_words_are_not_compared(own: str, base: str, found: bool) -> None:
    notes = [["schema:format" if side else None] * N for side in (own, base)]
    vendor = records("v", N, input_tokens=PROMPTS + 60, reworded=notes[0])
    assert bool(seen(model_run(vendor, twice(N, input_tokens=PROMPTS, reworded=notes[1])))) == found


def test_conversations_are_not_compared() -> None:
    """A vendor that calls one more tool sends a longer prompt."""
    vendor = records("v", N, input_tokens=2 * PROMPTS, turns=3)
    assert seen(model_run(vendor, twice(N, input_tokens=PROMPTS, turns=2))) == {}


def answers(factor: float = 1.0, more: float = 0.0, seed: int = 2, **columns: Any) -> Any:
    """The lengths and tokens of answers at about four characters a token, a tenth of them the same on every side."""
    rng = np.random.default_rng(seed)
    length = np.round(LENGTHS * np.where(np.arange(N) % 10, rng.uniform(0.9, 1.1, N), 1.0))
    tokens = np.round(length / 4 * np.where(np.arange(N) % 10, rng.normal(1, 0.05, N), 1.0) * factor + more)
    return {"characters": length, "output_tokens": np.maximum(tokens, 1), **columns}


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (answers(), {}),
        (answers(more=1), {}),
        (answers(0.92), {}),
        (answers(1.08), {"more_output_tokens": "check"}),
        (answers(1.15), {"more_output_tokens": "differs"}),
        (answers(1.08, reasoning_tokens=300.0), {}),
        (answers(1.08, decision="called"), {}),
    ],
    ids=["honest", "one end token", "fewer", "8 % more", "15 % more", "reasoning", "answers of another kind"],
)
def test_output_tokens(columns: Any, found: dict[str, str]) -> None:
    base = [records(BASE, N, repetition=again, **answers(seed=5 + again)) for again in (0, 1)]
    assert seen(model_run(records("v", N, **columns), *base)) == found


def test_honest_vendors_are_not_accused() -> None:
    base = [records(BASE, N, repetition=again, input_tokens=PROMPTS, **answers(seed=5 + again)) for again in (0, 1)]
    twins = [records(f"v{seed}", N, input_tokens=PROMPTS, **answers(seed=seed)) for seed in range(100, 120)]
    assert judge(model_run(*twins, *base), {}).findings == ()


def test_tokens_beyond_the_text() -> None:
    hidden = [None if number % 10 else "tokens_not_shown" for number in range(N)]
    own = records("v", N, anomalies=hidden)
    assert seen(model_run(own, twice(N))) == {"hidden_tokens": "differs"}
    assert seen(model_run(own, twice(N, anomalies=hidden))) == {}
    assert seen(model_run(own, baseline=None)) == {}
    some = [None if number % 5 else "tokens_not_shown" for number in range(60)]
    assert seen(model_run(records("v", 60, anomalies=some), twice(60, anomalies=hidden[:60]))) == {}


def test_more_cached_tokens_than_the_prompt_has() -> None:
    own = records("v", N, cached_tokens=[501.0] + [500.0] * (N - 1))
    test = named(model_run(own, twice(N)), "cached_tokens")
    assert (test.status, test.samples) == ("check", ("s0000",))
    assert seen(model_run(own, twice(N, cached_tokens=501.0))) == {}


@pytest.mark.parametrize(
    ("reported", "n", "found"), [(1.04, N, None), (1.12, N, "differs"), (1.12, 1, None), (0.9, N, "matches")]
)
def test_charges_against_the_price_list(reported: float, n: int, found: str | None) -> None:
    money = Money(1.0, 0.0, 1.0, 1.0, N, 0, reported_ratio=reported, reported=n)
    run = model_run(records("v", N), twice(N), money={"v": money})
    assert seen(run).get("charged") == found
