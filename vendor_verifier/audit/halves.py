"""The two halves of a run with ``--fresh-prompts``: a vendor that does well on published questions alone.

Which samples are made anew is drawn by the run, so without recognition it does not matter to a vendor's distance from
the baseline in which half a sample is: the labels are exchangeable. Both sides are asked the same bytes, and what the
baseline differs by from itself is taken off, so that questions which became harder charge nobody. Two distances are
tested, decisions to call and whole answers; all tests of a run share one budget of 1 % (Holm).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from msgspec import structs

from vendor_verifier.audit.finding import finding
from vendor_verifier.loaders.fresh_prompts import Half
from vendor_verifier.scoring.answer_texts import AnswerText, Question
from vendor_verifier.scoring.trigger_f1 import Run
from vendor_verifier.stats.answers_test import holm, leanings
from vendor_verifier.stats.label_permutation import larger_in_first
from vendor_verifier.stats.ratio_table import Trials
from vendor_verifier.values.halves import HalvesTest
from vendor_verifier.values.judgement import Finding
from vendor_verifier.words import english

if TYPE_CHECKING:
    import numpy as np

# The chance of any false finding of this kind in a run of honest vendors.
BUDGET = 0.01
LEAST_OF_HALF = 20
Halves = Mapping[str, Half]
Answers = Mapping[Question, Mapping[int, AnswerText]]


def halves_tests(
    trials: Sequence[Trials],
    answers: Mapping[str, Answers],
    baseline: str | None,
    halves: Halves,
    rng: np.random.Generator,
) -> dict[str, HalvesTest]:
    """The test of every vendor but the baseline by label; ``halves`` is by sample id, empty in an ordinary run."""
    if not halves:
        return {}
    by_label = {each.label: each for each in trials}
    reference = by_label.get(baseline or "")
    tests: dict[str, HalvesTest] = {}
    found: dict[tuple[str, str], float] = {}
    for label, own in by_label.items():
        if label == baseline:
            continue
        if reference is None:
            tests[label] = HalvesTest(0, 0, not_measurable=english("answers_no_baseline"))
            continue
        gaps = _decision_gaps(own.runs, reference.runs, halves)
        tests[label] = _shares(own.runs, reference.runs, gaps, halves)
        if tests[label].not_measurable is None:
            texts = _answer_gaps(answers.get(label, {}), answers.get(baseline or "", {}), halves)
            p_values = {"decisions": _p_value(gaps, halves, rng), "answers": _p_value(texts, halves, rng)}
            found |= {(label, name): p_value for name, p_value in p_values.items() if p_value is not None}
    adjusted = dict(zip(found, holm(list(found.values())), strict=True))
    return {
        label: structs.replace(
            test, p_value=min((p for (owner, _), p in adjusted.items() if owner == label), default=None)
        )
        for label, test in tests.items()
    }


def halves_findings(tests: Mapping[str, HalvesTest]) -> Iterator[Finding]:
    """A finding for every vendor that is proven to be nearer to the baseline on known questions than on new ones."""
    for label, test in tests.items():
        if test.p_value is not None and test.p_value <= BUDGET:
            shares = {"agrees_fresh": test.agrees_fresh or 0.0, "agrees_known": test.agrees_known or 0.0}
            evidence = {"fresh": test.fresh, "known": test.known, **shares, "p_value": test.p_value}
            words = {name: f"{100 * share:.0f}" for name, share in shares.items()}
            yield finding("known_prompts_favoured", label, evidence, (), **words)


def _decision_gaps(own: Sequence[Run], base: Sequence[Run], halves: Halves) -> dict[str, float]:
    """By sample, how often the vendor decides otherwise than the baseline, less how often that does than itself."""
    gaps = {}
    for sample in halves:
        mine, theirs = ([run[sample] for run in runs if sample in run] for runs in (own, base))
        if mine and theirs:
            apart = fmean(one != other for one in mine for other in theirs)
            gaps[sample] = apart - (float(theirs[0] != theirs[1]) if len(theirs) > 1 else 0.0)
    return gaps


def _answer_gaps(own: Answers, base: Answers, halves: Halves) -> dict[str, float]:
    """By sample: the leaning of the vendor's answer away from two of the baseline's."""
    asked = [
        question
        for question, both in base.items()
        if question[1] in halves and {0, 1} <= both.keys() and 0 in own.get(question, {})
    ]
    triples = [tuple(_plain(one) for one in (own[each][0], base[each][0], base[each][1])) for each in asked]
    found = leanings(triples)  # type: ignore[arg-type]
    return {question[1]: float(gap) for question, gap in zip(asked, found[:, 0], strict=True)}


def _plain(answer: AnswerText) -> str:
    return f"{answer.text}\n{answer.calls}"


def _shares(own: Sequence[Run], base: Sequence[Run], gaps: Mapping[str, float], halves: Halves) -> HalvesTest:
    """The halves with their shares of agreement, or the reason why they are not compared."""
    agrees: dict[Half, list[bool]] = {"fresh": [], "known": []}
    for sample in gaps:
        mine, theirs = (next(run[sample] for run in runs if sample in run) for runs in (own, base))
        agrees[halves[sample]].append(mine == theirs)
    fresh, known = agrees["fresh"], agrees["known"]
    if min(len(fresh), len(known)) < LEAST_OF_HALF:
        return HalvesTest(len(fresh), len(known), not_measurable=english("halves_too_few", least=LEAST_OF_HALF))
    return HalvesTest(len(fresh), len(known), fmean(fresh), fmean(known))


def _p_value(gaps: Mapping[str, float], halves: Halves, rng: np.random.Generator) -> float | None:
    """The chance that so much of the gaps is in the fresh half; None where a half has too few."""
    fresh, known = ([gap for sample, gap in gaps.items() if halves[sample] == half] for half in ("fresh", "known"))
    return None if min(len(fresh), len(known)) < LEAST_OF_HALF else larger_in_first(fresh, known, rng)
