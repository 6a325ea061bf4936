"""Is it the same model? Served names, prompts that are cut, and answers compared as texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from vendor_verifier.findings.base import ModelRun, Reach, Test, hindrance, percent, shown
from vendor_verifier.findings.baseline import fault
from vendor_verifier.records.model_names import same_model
from vendor_verifier.scoring.texts import AnswerText
from vendor_verifier.stats.answers import LEAST, leanings, odd_one_out, reach, similarity
from vendor_verifier.text import listed

FACET = "model"
LEAST_FINGERPRINTS = 5
# Above this share of equal answers the baseline's own noise is too small to measure others by it.
REPEATS_ITSELF = 0.98
ENOUGH = 0.5
_TESTS = 2
_LOSS, _LOST_TOKENS, _NEAR, _NEAR_TOKENS, _LEAST_CUT = 0.05, 20, 0.02, 8, 3


def model_tests(run: ModelRun) -> list[Test]:
    """Facts and tests on every vendor."""
    return [
        test
        for label in run.vendors
        for each in (_served, _fingerprint, _cut_prompts, _answers)
        for test in each(run, label)
    ]


def _served(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers that name another model than was asked for, and none that the baseline names, too."""
    asked = run.model_ids.get(label, run.model)
    fine = [asked, run.model, *_names(run, run.baseline)]
    own = run.rows[label].dropna(subset=["served_model"])
    strange = [name for name in _names(run, label) if not any(same_model(each, name) for each in fine)]
    if strange:
        rows = own[own["served_model"].isin(strange)]
        text = f"{len(rows)} of {len(own)} answers come from {listed(strange)}, not from {asked}."
        yield Test(
            vendor=label, facet=FACET, name="another_model", text=text, value=len(rows) / len(own), n=len(own),
            samples=shown(rows),
        )  # fmt: skip


def _names(run: ModelRun, label: str | None) -> list[str]:
    return [] if label is None else [str(name) for name in run.rows[label]["served_model"].dropna().unique()]


def _fingerprint(run: ModelRun, label: str) -> Iterator[Test]:
    """Noted: answers that carry the baseline's own system fingerprint come from the same servers."""
    own = run.rows[label]["fingerprint"].dropna().astype(str)
    base = set() if run.baseline is None else set(run.rows[run.baseline]["fingerprint"].dropna().astype(str))
    same = own[own.isin(base)]
    if len(same) >= LEAST_FINGERPRINTS:
        text = (
            f"{len(same)} of {len(own)} answers carry the baseline's own fingerprint: a reseller of the official API."
        )
        yield Test(
            vendor=label, facet=FACET, name="baseline_fingerprint", text=text, status="matches",
            value=len(same) / len(own), n=len(own),
        )  # fmt: skip


def _cut_prompts(run: ModelRun, label: str) -> Iterator[Test]:
    """Prompts counted short, the longest only, and all at one ceiling.

    Three or more, each more than 5 % and 20 tokens short, nine in ten of them within 2 % (or 8 tokens) of one ceiling,
    and none counted longer; Mann–Whitney on the baseline's count. An honest host with a shorter template is short by
    the same at every length.
    """
    if run.baseline is None:
        return
    rows = run.triples(label).dropna(subset=["input_tokens", "input_tokens_one"])
    base, own = rows["input_tokens_one"].to_numpy(), rows["input_tokens"].to_numpy()
    short = (base - own > _LOSS * base) & (base - own > _LOST_TOKENS)
    cut = int(short.sum())
    if cut < _LEAST_CUT or cut == len(rows):
        return
    ceiling = float(np.median(own[short]))
    margin = max(_NEAR_TOKENS, _NEAR * ceiling)
    at_ceiling = np.abs(own[short] - ceiling) <= margin
    if at_ceiling.mean() < 0.9 or (own > ceiling + margin).any():
        return
    few = cut * (len(rows) - cut) <= 20_000
    method = "exact" if few else "asymptotic"
    p_value = float(stats.mannwhitneyu(base[short], base[~short], alternative="greater", method=method).pvalue)
    text = (
        f"Cuts prompts: {cut} of {len(rows)} are counted as about {ceiling:.0f} tokens, "
        f"up to {base.max():.0f} at the baseline."
    )
    longest = rows[short].sort_values("input_tokens_one", ascending=False)
    yield Test(
        vendor=label, facet=FACET, name="cut_prompts", text=text, p_value=p_value, beyond=True, value=ceiling,
        n=len(rows), samples=shown(longest),
    )  # fmt: skip


def _answers(run: ModelRun, label: str) -> Iterator[Test]:
    """The answers test (:mod:`vendor_verifier.stats.answers`): never worse than *check*, for want of a line."""
    questions, triples = _texts(run, label)
    if len(triples) < LEAST or _repeats(run) is not None:
        return
    found = leanings(triples)
    result = odd_one_out(found, np.random.default_rng(run.seed))
    if result is None:
        return
    equal, base = (np.mean([triple[side] == triple[1] for triple in triples]) for side in (0, 2))
    how = (
        "Answers differ from the baseline's: another model, template or sampling"
        if result.z > 0
        else "Answers are nearer to the baseline's than it is to itself: colder sampling or a copy"
    )
    text = f"{how} ({percent(equal)} of {len(triples)} equal to it; its own {percent(base)})."
    telling = np.argsort(-found[:, 0] if result.z > 0 else found[:, 0], kind="stable")[:10]
    yield Test(
        vendor=label, facet=FACET, name="answers_differ" if result.z > 0 else "answers_too_near", text=text,
        p_value=result.p_value, value=result.z, n=result.n, samples=tuple(questions[place] for place in telling),
    )  # fmt: skip


def _texts(run: ModelRun, label: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The samples, and the answers as compared: the vendor's and the baseline's two, of those asked in the same words.

    Reasoning is compared only where all three sides show some.
    """
    if run.baseline is None or not run.asked_twice or run.redacted:
        return [], []
    own, base = run.texts.get(label, {}), run.texts.get(run.baseline, {})
    rows = run.triples(label)
    first = rows[rows["repetition"] == 0]
    found = []
    for question in zip(first["suite"].astype(str), first["sample"].astype(str), strict=True):
        answers, twice = own.get(question, {}), base.get(question, {})
        if 0 in answers and 0 in twice and 1 in twice:
            found.append((question[1], (answers[0], twice[0], twice[1])))
    reasons = all(any(answers[side].reasoning for _, answers in found) for side in range(3))
    whole: Callable[[AnswerText], str] = (lambda a: f"{a.shown}\0{a.reasoning}") if reasons else (lambda a: a.shown)
    return [sample for sample, _ in found], [(whole(a), whole(b), whole(c)) for _, (a, b, c) in found]


def _base_texts(run: ModelRun) -> list[tuple[str, str]]:
    base = run.texts.get(run.baseline or "", {})
    return [(both[0].shown, both[1].shown) for both in base.values() if 0 in both and 1 in both]


def _repeats(run: ModelRun) -> str | None:
    """Why texts cannot be compared; None where they can."""
    if run.redacted:
        return "the texts are redacted"
    if not run.asked_twice:
        return "the baseline was asked once: set --baseline-repeats 2"
    pairs = _base_texts(run)
    if len(pairs) < LEAST:
        return f"only {len(pairs)} samples were answered twice by the baseline"
    equal = np.mean([one == other for one, other in pairs])
    if equal >= REPEATS_ITSELF:
        return (
            "the baseline repeats its answers (temperature 0, or a cache), so texts are not comparable: use "
            "--temperature 0.7, or --suite probes"
        )
    return None


def model_reach(run: ModelRun) -> list[Reach]:
    """The share of answers by another model that the answers test finds, of every vendor."""
    reason = fault(run, FACET) or _repeats(run)
    found, n = None, 0
    if reason is None:
        pairs = _base_texts(run)
        n = len(pairs)
        agreement = np.array([similarity(one, other) for one, other in pairs])
        found = reach(agreement, 0.01 / (_TESTS * max(1, len(run.vendors))))
    reaches = []
    for label in run.vendors:
        why = hindrance(run, label) or reason
        if why is not None or found is None:
            reaches.append(Reach(label, FACET, False, f"{(why or 'texts are not comparable')}."))
            continue
        needed = None if found <= ENOUGH else math.ceil(n * (found / ENOUGH) ** 2)
        text = f"Another model behind {percent(min(1.0, found))} of the answers would have been seen."
        if needed is not None:
            text = f"{n} samples are too few to see another model behind half of the answers."
        reaches.append(Reach(label, FACET, needed is None, text, found, n, needed=needed))
    return reaches
