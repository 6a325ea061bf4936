"""Known questions against new ones: who favours the known, who is merely worse, and what was too little."""

from __future__ import annotations

import numpy as np
import pytest

from vendor_verifier.audit.halves import BUDGET, Answers, Halves, halves_findings, halves_tests
from vendor_verifier.scoring.answer_texts import AnswerText
from vendor_verifier.stats.ratio_table import Trials
from vendor_verifier.values.halves import HalvesTest

IDS = [f"s{number:03d}" for number in range(160)]
HALVES: Halves = {name: "fresh" if number % 2 else "known" for number, name in enumerate(IDS)}


def _trials(label: str, seed: int, *, fresh: float = 0.0, known: float = 0.0, runs: int = 1) -> Trials:
    """Decisions that are wrong at these rates in either half."""
    rng = np.random.default_rng(seed)
    rates = {"fresh": fresh, "known": known}
    decided = [
        {name: bool(int(name[1:]) % 3) ^ (rng.random() < rates[HALVES[name]]) for name in IDS} for _ in range(runs)
    ]
    return Trials(label, tuple(decided))


def _texts(seed: int, mind: str = "a", fresh_mind: str = "a") -> Answers:
    """Two answers to every question, of words that the mind says in this order with some chance."""
    rng = np.random.default_rng(seed)
    found: dict[tuple[str, str], dict[int, AnswerText]] = {}
    for name in IDS:
        said = fresh_mind if HALVES[name] == "fresh" else mind
        for repetition in range(2):
            usual = [f"{said}{name}{place}" for place in range(12)]
            words = [word if rng.random() > 0.05 else "xxxxxx" for word in usual]
            text = AnswerText(" ".join(words), "", "", 10, None)
            found.setdefault(("trigger", name), {})[repetition] = text
    return found


def _tests(
    *vendors: Trials, answers: dict[str, Answers] | None = None, halves: Halves = HALVES
) -> dict[str, HalvesTest]:
    trials = [_trials("official", 1, runs=2), *vendors]
    return halves_tests(trials, answers or {}, "official", halves, np.random.default_rng(1))


def test_who_decides_well_on_known_questions_alone_is_named() -> None:
    tests = _tests(_trials("knows", 2, fresh=0.15), _trials("twin", 3), _trials("worse", 4, fresh=0.15, known=0.15))
    (found,) = halves_findings(tests)
    assert (found.name, found.label) == ("known_prompts_favoured", "knows")
    assert tests["knows"].agrees_known == 1.0
    assert (tests["twin"].p_value or 0.0) > BUDGET


def test_other_words_on_new_questions_show_it_where_decisions_do_not() -> None:
    answers = {"official": _texts(1), "knows": _texts(2, fresh_mind="b"), "other": _texts(3, "b", "b")}
    tests = _tests(_trials("knows", 2), _trials("other", 3), answers=answers)
    assert [found.label for found in halves_findings(tests)] == ["knows"]


def test_questions_that_became_harder_for_the_baseline_too_charge_nobody() -> None:
    reference = _trials("official", 1, fresh=0.2, runs=2)
    tests = halves_tests([reference, _trials("twin", 5, fresh=0.2)], {}, "official", HALVES, np.random.default_rng(2))
    assert (tests["twin"].p_value or 0.0) > BUDGET


def test_of_too_few_questions_it_says_nothing_and_of_an_ordinary_run_it_is_not_asked() -> None:
    few: Halves = {name: HALVES[name] for name in IDS[:30]}
    test = _tests(_trials("one", 2), halves=few)["one"]
    assert (test.p_value, test.fresh, test.known) == (None, 15, 15)
    assert "fewer than 20" in (test.not_measurable or "")
    assert _tests(_trials("one", 2), halves={}) == {}


def test_without_a_baseline_there_is_nothing_to_be_near_to() -> None:
    tests = halves_tests([_trials("one", 2)], {}, None, HALVES, np.random.default_rng(1))
    assert "no baseline" in (tests["one"].not_measurable or "")


@pytest.mark.slow
def test_three_honest_vendors_are_named_in_one_run_of_a_hundred_at_most() -> None:
    """Equal disagreement in both halves, 400 runs with seeds of their own: 10 and more have a chance below 1 %."""
    named = 0
    for seed in range(70_000, 70_400):
        vendors = [_trials(f"v{number}", 10 * seed + number, fresh=0.1, known=0.1) for number in range(3)]
        reference = _trials("official", 10 * seed + 9, fresh=0.05, known=0.05, runs=2)
        tests = halves_tests([reference, *vendors], {}, "official", HALVES, np.random.default_rng(seed))
        named += any(True for _ in halves_findings(tests))
    assert named < 10
