"""The answers test on every vendor: unlike the baseline, nearer to it than it is to itself, where, and since when.

It needs no request of its own: a question that the baseline answered twice and the vendor once is a triple. All
vendors of a run share one budget of 1 % (Holm).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from vendor_verifier.audit.billing import template_band
from vendor_verifier.audit.finding import finding
from vendor_verifier.records.judgement import AnswersPart, AnswersTest, Finding, PartName
from vendor_verifier.scoring.answer_texts import AnswerText, Question
from vendor_verifier.stats.answers_test import change_point, holm, leanings, odd_one_out, seen_shift, similarity
from vendor_verifier.words import english

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The chance of any false finding of this kind in a run of honest vendors.
BUDGET = 0.01
LEAST_TRIPLES = 10
_LEAST_OF_PART = 10
# A part is named, and a beginning, where the whole is proven already.
_PART_LEVEL = 0.05
# Two models agree with each other this much less than one with itself; real hosts of one model differed by a half.
_ASSUMED_LOSS = 0.5
Answers = Mapping[Question, Mapping[int, AnswerText]]


class _Triple(msgspec.Struct, frozen=True):
    own: AnswerText
    one: AnswerText
    other: AnswerText


def answers_tests(
    answers: Mapping[str, Answers] | None, baseline: str | None, labels: Sequence[str], rng: np.random.Generator
) -> dict[str, AnswersTest]:
    """The test of every vendor but the baseline by label, given the answers by label; None where no text is stored."""
    if answers is None:
        redacted = AnswersTest(0, not_measurable=english("answers_redacted"))
        return {label: redacted for label in labels if label != baseline}
    reference = answers.get(baseline or "", {})
    twice = {question: both for question, both in reference.items() if 0 in both and 1 in both}
    tests: dict[str, AnswersTest] = {}
    rows: dict[str, NDArray[np.float64]] = {}
    triples: dict[str, list[_Triple]] = {}
    for label in labels:
        if label == baseline:
            continue
        found = _triples(answers.get(label, {}), twice)
        reason = _hindrance(baseline, reference, twice, found)
        if reason is not None:
            tests[label] = AnswersTest(len(found), not_measurable=english(reason))
            continue
        rows[label], triples[label] = leanings(_texts(found)), found
        whole = odd_one_out(rows[label], rng)
        if whole is None:
            tests[label] = AnswersTest(len(found), not_measurable=english("answers_all_agree"))
        else:
            tests[label] = structs.replace(_shares(found), z=whole.z, p_value=whole.p_value)
    return {**tests, **_corrected(tests, rows, triples, rng)}


def answers_findings(tests: Mapping[str, AnswersTest], others: Sequence[Finding] = ()) -> Iterator[Finding]:
    """A finding for every vendor whose answers are proven to be unlike the baseline's, or too near to them.

    Of the ``others``, a constant surcharge of prompt tokens says where the difference may lie.
    """
    constants = {each.label: each for each in others if each.name == "prompt_tokens_constant"}
    for label, test in tests.items():
        if test.p_value is None or test.z is None or test.p_value > BUDGET:
            continue
        evidence: dict[str, float | int | str] = {"questions": test.n, "z": test.z, "p_value": test.p_value}
        evidence |= {"equal": test.equal or 0.0, "baseline_equal": test.baseline_equal or 0.0}
        shares = {"own": f"{100 * (test.equal or 0.0):.0f}", "base": f"{100 * (test.baseline_equal or 0.0):.0f}"}
        part = _strongest(test)
        where = "" if part is None else english("answers_where", part=part)
        since = "" if test.since is None else english("answers_since", time=test.since)
        band = None if label not in constants else template_band(constants[label])
        template = "" if band is None else english("answers_template", band=band)
        words = {**shares, "where": where, "since": since, "template": template}
        if test.z > 0:
            yield finding("answers_unlike_baseline", label, evidence, (), **words)
        else:
            yield finding("answers_too_like_baseline", label, evidence, (), **words)


def _strongest(test: AnswersTest) -> str | None:
    """The part that shows the difference best, of those kinds that do not show it in every part."""
    proven = [part for part in test.parts if part.p_value <= _PART_LEVEL and part.z * (test.z or 0.0) > 0]
    kinds, shown = (Counter(part.name for part in parts) for parts in (test.parts, proven))
    telling = [part for part in proven if shown[part.name] < kinds[part.name]]
    if not telling:
        return None
    best = min(telling, key=lambda part: part.p_value)
    if best.name == "provider":
        return english("answers_provider", value=best.value)
    return english(f"answers_{best.name}_{best.value}")


def _hindrance(
    baseline: str | None, reference: Answers, twice: Mapping[Question, object], found: Sequence[_Triple]
) -> str | None:
    """The reason for there being no test, as the name of its sentence; None where there is one."""
    if baseline is None:
        return "answers_no_baseline"
    if reference and not twice:
        return "answers_asked_once"
    if len(found) < LEAST_TRIPLES:
        return "answers_too_few"
    if all(_whole(each.one) == _whole(each.other) for each in found):
        # A cache, or decoding without chance: nothing tells how far two honest answers lie apart.
        return "answers_baseline_repeats"
    return None


def _triples(own: Answers, twice: Mapping[Question, Mapping[int, AnswerText]]) -> list[_Triple]:
    """In the order in which the vendor was asked, of questions that our wires asked both in the same words."""
    found = [
        _Triple(own[question][0], both[0], both[1]) for question, both in twice.items() if 0 in own.get(question, {})
    ]
    found = [each for each in found if each.own.reworded == each.one.reworded == each.other.reworded]
    return sorted(found, key=lambda each: each.own.sent_s or 0.0)


def _texts(found: Sequence[_Triple]) -> list[tuple[str, str, str]]:
    """The answers as compared: reasoning only where all three sides show some."""
    sides: list[Callable[[_Triple], AnswerText]] = [lambda t: t.own, lambda t: t.one, lambda t: t.other]
    shown = all(any(side(each).reasoning for each in found) for side in sides)
    return [(_joined(each.own, shown), _joined(each.one, shown), _joined(each.other, shown)) for each in found]


def _joined(answer: AnswerText, with_reasoning: bool) -> str:
    return "\x00".join([answer.text, answer.calls, answer.reasoning] if with_reasoning else [answer.text, answer.calls])


def _whole(answer: AnswerText) -> tuple[str, str]:
    return answer.text, answer.calls


def _shares(found: Sequence[_Triple]) -> AnswersTest:
    """The shares of answers byte for byte equal to the baseline's first."""
    n = len(found)
    return AnswersTest(
        n,
        equal=sum(_whole(each.own) == _whole(each.one) for each in found) / n,
        baseline_equal=sum(_whole(each.other) == _whole(each.one) for each in found) / n,
    )


def _corrected(
    tests: Mapping[str, AnswersTest],
    rows: Mapping[str, NDArray[np.float64]],
    triples: Mapping[str, Sequence[_Triple]],
    rng: np.random.Generator,
) -> dict[str, AnswersTest]:
    """The tests with p-values for so many vendors, what they would have seen, and of proven ones where and when."""
    raw = {label: test.p_value for label, test in tests.items() if test.p_value is not None}
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    made = {}
    for label, p_value in adjusted.items():
        seen = _seen(rows[label], triples[label], len(raw))
        test = structs.replace(tests[label], p_value=p_value, seen_mixture=seen)
        if p_value <= BUDGET:
            since, since_p = _since(rows[label], triples[label], rng)
            parts = tuple(_parts(rows[label], triples[label], rng))
            test = structs.replace(test, parts=parts, since=since, since_p=since_p)
        made[label] = test
    return made


def _seen(found: NDArray[np.float64], triples: Sequence[_Triple], vendors: int) -> float | None:
    """The share of answers by another model that the run shows in 8 of 10 cases, at the agreement assumed."""
    agreements = [similarity(one, other) for _, one, other in _texts(triples)]
    lost = _ASSUMED_LOSS * sum(agreements) / len(agreements)
    return min(1.0, seen_shift(found, BUDGET / vendors) / lost) if lost > 0 else None


def _since(
    found: NDArray[np.float64], triples: Sequence[_Triple], rng: np.random.Generator
) -> tuple[str | None, float | None]:
    change = change_point(found, rng)
    if change is None or change[1] > BUDGET:
        return None, None
    moment = triples[change[0]].own.sent_s
    return (None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")), change[1]


def _parts(found: NDArray[np.float64], triples: Sequence[_Triple], rng: np.random.Generator) -> Iterator[AnswersPart]:
    """The same test by thirds of prompt length, calls and texts, halves of the run, and serving provider (Holm)."""
    made = []
    for name, places in _divided(triples):
        for value, rows in places.items():
            whole = odd_one_out(found[rows], rng) if len(rows) >= _LEAST_OF_PART else None
            if whole is not None and len(places) > 1:
                made.append(AnswersPart(name, value, whole.n, whole.z, whole.p_value))
    for part, p_value in zip(made, holm([part.p_value for part in made]), strict=True):
        yield structs.replace(part, p_value=p_value)


def _divided(triples: Sequence[_Triple]) -> Iterator[tuple[PartName, dict[str, list[int]]]]:
    lengths = sorted(each.one.asked_characters for each in triples)
    low, high = lengths[len(lengths) // 3], lengths[2 * len(lengths) // 3]
    ways: dict[PartName, Callable[[int, _Triple], str]] = {
        "length": lambda _, t: _third(t.one.asked_characters, low, high),
        "kind": lambda _, t: "calls" if t.one.calls else "texts",
        "half": lambda place, _: "first" if 2 * place < len(triples) else "second",
        "provider": lambda _, t: t.own.provider or "",
    }
    for name, way in ways.items():
        places: dict[str, list[int]] = {}
        for place, each in enumerate(triples):
            places.setdefault(way(place, each), []).append(place)
        yield name, places


def _third(length: int, low: int, high: int) -> str:
    return "short" if length < low else "middle" if length < high else "long"
