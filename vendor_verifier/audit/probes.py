"""The suite ``probes`` judged: one-token answers whose frequencies differ, and token counts of another tokenizer.

All vendors of a run share one budget of 1 % (Holm).
Counts of tokens need no test: the same bytes have the same number of tokens, up to one constant, the template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import structs

from vendor_verifier.audit.finding import finding
from vendor_verifier.records.judgement import Finding
from vendor_verifier.records.probes import ProbesTest
from vendor_verifier.records.sample import Sample
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.answers_test import holm
from vendor_verifier.stats.probe_test import ProbeCounts, counted, seen_mixture, unlikeness
from vendor_verifier.suites.probes import LENGTHS, NAME, group_of, is_string, kind_of
from vendor_verifier.words import english

if TYPE_CHECKING:
    import numpy as np

# The chance of any false finding of this kind in a run of honest vendors.
BUDGET = 0.01
LEAST_PROBES = 10
_LEAST_STRINGS = 8
# A side that bills more than this for an answer was asked for more than one token.
_SHORT = 2
# Tokens by which a count may miss a rounded product, and the least factor that is one.
_ROUNDING, _LEAST_FACTOR = 1.01, 0.02
_CUT_TOKENS = 8
Pattern = Literal["tokenizer", "cut", "scaled", "formula", "varying", "unclear"]
NOTHING: Mapping[str, tuple[int, int]] = MappingProxyType({})


class Replies(msgspec.Struct):
    """One side's answers: tokens by probe, prompt tokens by probe or string, output tokens billed, and for each answer
    whether the limit ended it."""

    tokens: dict[str, list[str]] = msgspec.field(default_factory=dict)
    prompts: dict[str, list[int]] = msgspec.field(default_factory=dict)
    billed: list[int] = msgspec.field(default_factory=list)
    cut: list[bool] = msgspec.field(default_factory=list)

    @property
    def is_short(self) -> bool:
        """Whether its answers were held to one token: by what it billed, else by how they ended.

        A wire whose smallest output is larger lets a short answer come to its own end.
        """
        return median(self.billed) <= _SHORT if self.billed else 2 * sum(self.cut) >= len(self.cut)


def replies_of(table: ObservationTable) -> Replies:
    """The answers in an entry's table of the tasks that stand apart."""
    found = Replies()
    for row in table.every():
        if row.traits.suite != NAME or not row.tries or not row.tries[-1].answered:
            continue
        group, usage = group_of(row.sample), row.tries[-1].usage
        if usage.input is not None:
            found.prompts.setdefault(group, []).append(usage.input)
        if row.traits.status == "kept" and not is_string(group):
            found.tokens.setdefault(group, []).append(row.traits.evidence)
            found.billed += [] if usage.output is None else [usage.output]
            found.cut.append(row.traits.finish_reason == "length")
    return found


def probes_tests(
    replies: Mapping[str, Replies], baseline: str | None, rng: np.random.Generator
) -> dict[str, ProbesTest]:
    """The test of every vendor but the baseline that was asked, by label."""
    asked = {label: each for label, each in replies.items() if each.prompts or each.tokens}
    reference = asked.get(baseline or "")
    tests: dict[str, ProbesTest] = {}
    counts: dict[str, list[ProbeCounts]] = {}
    for label, own in asked.items():
        if label == baseline:
            continue
        if reference is None:
            tests[label] = ProbesTest(0, not_measurable=english("answers_no_baseline"))
            continue
        counts[label] = _counts(own, reference)
        whole = unlikeness(counts[label], rng) if len(counts[label]) >= LEAST_PROBES else None
        if whole is None:
            words = "probes_too_few" if len(counts[label]) < LEAST_PROBES else "probes_all_agree"
            tests[label] = ProbesTest(len(counts[label]), not_measurable=english(words))
        else:
            tests[label] = ProbesTest(whole.probes, whole.n, whole.z, whole.p_value)
    return {**tests, **_corrected(tests, counts, rng)}


def _counts(own: Replies, reference: Replies) -> list[ProbeCounts]:
    """The counts of both sides; where only one was held to one token, of the first signs alone."""
    if own.is_short == reference.is_short:
        return counted(own.tokens, reference.tokens)
    mine, theirs = (
        {probe: [token[:1] for token in tokens] for probe, tokens in side.tokens.items()} for side in (own, reference)
    )
    return counted(mine, theirs)


def _corrected(
    tests: Mapping[str, ProbesTest],
    counts: Mapping[str, Sequence[ProbeCounts]],
    rng: np.random.Generator,
) -> dict[str, ProbesTest]:
    """The tests with p-values for so many tests and, of those not proven unlike, with what would have been seen."""
    raw = {label: test.p_value for label, test in tests.items() if test.p_value is not None}
    adjusted = dict(zip(raw, holm([*raw.values()]), strict=True))
    level = BUDGET / max(1, len(raw))
    return {
        label: structs.replace(
            tests[label],
            p_value=p_value,
            seen_mixture=None if p_value <= BUDGET else seen_mixture(counts[label], level, rng),
        )
        for label, p_value in adjusted.items()
    }


def probes_findings(tests: Mapping[str, ProbesTest]) -> Iterator[Finding]:
    """A finding for every vendor whose one-token answers are proven to come otherwise than the baseline's."""
    for label, test in tests.items():
        if test.p_value is not None and test.p_value <= BUDGET:
            evidence = {"probes": test.probes, "answers": test.n, "z": test.z or 0.0, "p_value": test.p_value}
            yield finding("probes_unlike_baseline", label, evidence, z=f"{test.z or 0.0:.1f}")


def sizes_of(samples: Iterable[Sample]) -> dict[str, tuple[int, int]]:
    """Characters and bytes of every probe and string."""
    texts = {group_of(sample.id): str(sample.turn.messages[0]["content"]) for sample in samples}
    return {group: (len(text), len(text.encode())) for group, text in texts.items()}


def tokenizer_findings(
    replies: Mapping[str, Replies], baseline: str | None, sizes: Mapping[str, tuple[int, int]] = NOTHING
) -> Iterator[Finding]:
    """A finding for every vendor whose prompt tokens are not the baseline's up to one constant.

    ``sizes`` are characters and bytes by prompt. Where the baseline itself counts one prompt now so, now otherwise (a
    cache taken off, several hosts), nothing can be told.
    """
    reference = replies.get(baseline or "", Replies())
    for label, own in replies.items():
        common = sorted(own.prompts.keys() & reference.prompts.keys())
        if label == baseline or sum(map(is_string, common)) < _LEAST_STRINGS:
            continue
        pairs = [Pair(name, median(reference.prompts[name]), median(own.prompts[name])) for name in common]
        template = Counter(each.delta for each in pairs).most_common(1)[0][0]
        unequal = [each for each in pairs if each.delta != template]
        varying = sum(len(set(own.prompts[name])) > 1 for name in common)
        of_baseline = sum(len(set(reference.prompts[name])) > 1 for name in common)
        if of_baseline or not (unequal or varying):
            continue
        pattern: Pattern = "varying" if varying else pattern_of(pairs, template, sizes)
        evidence: dict[str, float | int | str] = {
            "pattern": pattern, "prompts": len(pairs), "unequal": len(unequal), "constant": template,
            "least": min(each.delta for each in pairs), "most": max(each.delta for each in pairs),
        }  # fmt: skip
        shown = {name: f"{evidence[name]:+.0f}" for name in ("least", "most", "constant")}
        yield finding(
            "tokenizer_unlike_baseline", label, evidence, (), meaning=english(f"tokenizer_{pattern}"), **shown
        )


class Pair(msgspec.Struct, frozen=True):
    """Prompt tokens that baseline and vendor report for one prompt."""

    name: str
    baseline: float
    vendor: float

    @property
    def delta(self) -> float:
        return self.vendor - self.baseline


def pattern_of(pairs: Sequence[Pair], template: float, sizes: Mapping[str, tuple[int, int]] = NOTHING) -> Pattern:
    """The cause that the differences point to, given those of all prompts and the constant of most of them.

    Counts times one factor were multiplied; those that follow the characters or the bytes alone, whatever stands there,
    come from a formula. Lacking tokens on the longest prompts alone, which all end at one count or which alone are
    longer than some number of characters, were cut. Another tokenizer differs by kind of string, by more the longer it
    is, and in a ratio that is not the same for all kinds.
    """
    if _on_a_line([(each.baseline, each.vendor) for each in pairs], least_factor=_LEAST_FACTOR):
        return "scaled"
    known = [(sizes[each.name], each.vendor) for each in pairs if each.name in sizes]
    if len(known) == len(pairs) and any(_on_a_line([(size[way], count) for size, count in known]) for way in (0, 1)):
        return "formula"
    if _is_cut(pairs, template) or _is_cut_by_size(pairs, template, sizes):
        return "cut"
    return "tokenizer" if _differs_by_kind(pairs, template) else "unclear"


def _on_a_line(points: Sequence[tuple[float, float]], least_factor: float = 0.0) -> bool:
    """Whether y = constant + factor · x, rounded, with a factor that is so far from 1."""
    low, high = min(points), max(points)
    if high[0] == low[0]:
        return False
    factor = (high[1] - low[1]) / (high[0] - low[0])
    constant = median(y - factor * x for x, y in points)
    return abs(factor - 1) >= least_factor and all(abs(y - constant - factor * x) <= _ROUNDING for x, y in points)


def _is_cut(pairs: Sequence[Pair], template: float) -> bool:
    unequal = [each for each in pairs if each.delta != template]
    most = max((each.vendor for each in unequal), default=0.0)
    return (
        bool(unequal)
        and all(each.delta < template and most - each.vendor <= _CUT_TOKENS for each in unequal)
        and all(each.vendor <= most + _CUT_TOKENS for each in pairs)
        and min(each.baseline for each in unequal) + template >= most
    )


def _is_cut_by_size(pairs: Sequence[Pair], template: float, sizes: Mapping[str, tuple[int, int]]) -> bool:
    """Whether all prompts up to some number of characters or bytes are equal, and all beyond it lack tokens."""
    unequal = [each for each in pairs if each.delta != template]
    equal = [each for each in pairs if each.delta == template]
    if not (unequal and equal) or any(each.delta > template or each.name not in sizes for each in unequal):
        return False
    known = [sizes[each.name] for each in equal if each.name in sizes]
    return len(known) == len(equal) and any(
        max(size[way] for size in known) <= min(sizes[each.name][way] for each in unequal) for way in (0, 1)
    )


def _differs_by_kind(pairs: Sequence[Pair], template: float) -> bool:
    """Whether at least three kinds of strings differ, each by more the longer it is, and not all in one ratio."""
    kinds: dict[int, list[Pair]] = {}
    for each in sorted((each for each in pairs if is_string(each.name)), key=lambda each: each.name):
        kinds.setdefault(kind_of(each.name), []).append(each)
    growing, ratios = 0, set()
    for found in kinds.values():
        gaps = [each.delta - template for each in found]
        if len(found) == LENGTHS and gaps[-1] and abs(gaps[0]) <= abs(gaps[1]) <= abs(gaps[2]):
            growing += 1
        ratios.add(round(gaps[-1] / max(found[-1].baseline, 1.0), 1))
    return growing >= 3 and len(ratios) > 1
