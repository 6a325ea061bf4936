"""The model: served names, cut prompts, and answers compared as texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from vendor_verifier.findings.base import ModelRun, Reach, Test, percent, shown
from vendor_verifier.records.plan import same_model
from vendor_verifier.records.results import FacetName
from vendor_verifier.stats.answers import LEAST, leanings, odd_one_out
from vendor_verifier.stats.answers import reach as smallest_share
from vendor_verifier.stats.compare import needed_size
from vendor_verifier.stats.intervals import wilson
from vendor_verifier.text import listed, too_few

FACET: FacetName = "model"
LEAST_FINGERPRINTS = 5
# Where the baseline repeats more of its answers, its noise is too small to measure others by.
REPEATS_ITSELF = 0.98
ENOUGH = 0.5
# Shorter answers of two models are often equal; fewer than this say little of the rest.
_LEAST_CHARACTERS, _LEAST_LONG = 40, 20
_TESTS = 2
_REPEATS = (
    "the baseline repeats its answers (temperature 0, or a cache), so only served names were compared: "
    "use --temperature 0.7, or --suite probes"
)
# Of prompts that are cut: share and tokens lost, nearness to the ceiling, number, share of them near it.
_LOSS, _LOST_TOKENS, _NEAR, _NEAR_TOKENS, _LEAST_CUT, _MOSTLY = 0.05, 20, 0.02, 8, 3, 0.9


def served(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers that name another model than was asked for, and none that the baseline names, too."""
    asked = run.model_ids.get(label, run.model)
    usual = [asked, run.model, *map(str, run.reference["served_model"].dropna().unique())]
    named = run.rows[label][["sample", "served_model"]].dropna()
    names = map(str, named["served_model"].unique())
    strange = [name for name in names if not any(same_model(each, name) for each in usual)]
    if strange:
        rows, n = named[named["served_model"].isin(strange)], len(named)
        text = f"{len(rows)} of {n} answers come from {listed(strange)}, not from {asked}."
        yield Test(FACET, "another_model", text, value=len(rows) / n, n=n, samples=shown(rows))


def fingerprint(run: ModelRun, label: str) -> Iterator[Test]:
    """Noted: answers that carry the baseline's own system fingerprint."""
    own = run.rows[label]["fingerprint"].dropna()
    same = int(own.isin(run.reference["fingerprint"].dropna().unique()).sum())
    if same >= LEAST_FINGERPRINTS:
        text = f"{same} of {len(own)} answers carry the baseline's own fingerprint: the same servers or software."
        yield Test(FACET, "baseline_fingerprint", text, status="matches", value=same / len(own), n=len(own))


def cut_prompts(run: ModelRun, label: str) -> Iterator[Test]:
    """Prompts counted short, the longest only, and all at one ceiling (Mann–Whitney on the baseline's count).

    An honest host with a shorter template counts the same number less at every length.
    """
    rows = run.triples[label][["sample", "input_tokens", "input_tokens_one"]].dropna()
    base, own = rows["input_tokens_one"].to_numpy(), rows["input_tokens"].to_numpy()
    short = (base - own > _LOSS * base) & (base - own > _LOST_TOKENS)
    cut = int(short.sum())
    if not _LEAST_CUT <= cut < len(rows):
        return
    ceiling = float(np.median(own[short]))
    margin = max(_NEAR_TOKENS, _NEAR * ceiling)
    if (np.abs(own[short] - ceiling) <= margin).mean() < _MOSTLY or (own > ceiling + margin).any():
        return
    # The exact distribution takes long where both are many, and the normal one is wrong where either is few.
    method = "exact" if min(cut, len(rows) - cut) <= 20 else "asymptotic"
    p_value = float(scipy.stats.mannwhitneyu(base[short], base[~short], alternative="greater", method=method).pvalue)
    text = (
        f"Cuts prompts: counts at most about {ceiling:.0f} tokens in {cut} of {len(rows)} prompts, "
        f"for which the baseline counts up to {base.max():.0f}."
    )
    samples = shown(rows[short].sort_values("input_tokens_one", ascending=False))
    yield Test(FACET, "cut_prompts", text, p_value=p_value, beyond=True, value=ceiling, n=len(rows), samples=samples)


def answers(run: ModelRun, label: str) -> Iterator[Test]:
    """The answers test (:mod:`vendor_verifier.stats.answers`): never worse than *check*, for want of a line."""
    samples, triples = _texts(run, label)
    if len(triples) < LEAST or _not_comparable(run) is not None:
        return
    found = leanings(triples)
    result = odd_one_out(found, np.random.default_rng(run.seed))
    if result is None:
        return
    own, base = (percent(sum(each[side] == each[1] for each in triples) / len(triples)) for side in (0, 2))
    if result.z > 0:
        name, how = "answers_differ", "Answers differ from the baseline's: another model, template or sampling"
    else:
        name, how = "answers_too_near", "Answers are closer to the baseline's than its own repeats: lower temperature"
    text = f"{how} ({own} of {len(triples)} equal the baseline; {base} of its own repeats do)."
    telling = np.argsort(-found[:, 0] if result.z > 0 else found[:, 0], kind="stable")[:10]
    shown_first = tuple(samples[place] for place in telling)
    yield Test(FACET, name, text, p_value=result.p_value, value=result.z, n=result.n, samples=shown_first)


def _texts(run: ModelRun, label: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The samples, and the answers as compared: the vendor's and the baseline's two, of those asked in the same words.

    Reasoning is compared only where all three sides show some.
    """
    rows = run.triples[label]
    rows = rows[["suite", "sample"]][rows["repetition"] == 0].astype(object)
    own, base = run.texts.get(label, {}), run.texts.get(run.baseline or "", {})
    samples, sides = [], []
    for question in zip(rows["suite"], rows["sample"], strict=True):
        answers, twice = own.get(question, {}), base.get(question, {})
        if 0 in answers and 0 in twice and 1 in twice:
            samples.append(question[1])
            sides.append((answers[0], twice[0], twice[1]))
    reasons = all(any(each.reasoning for each in side) for side in zip(*sides, strict=True))
    texts = [[f"{each.shown}\0{each.reasoning}" if reasons else each.shown for each in three] for three in sides]
    return samples, [(own, one, two) for own, one, two in texts]


def _not_comparable(run: ModelRun) -> str | None:
    if run.redacted:
        return "the texts are redacted; --suite probes would test the model"
    if not run.asked_twice:
        return run.asked_once
    if run.agreements and np.mean([agreement == 1 for agreement in run.agreements.values()]) >= REPEATS_ITSELF:
        return _REPEATS
    return None


def reach(run: ModelRun, label: str) -> Reach:
    """The share of answers by another model that the answers test finds, from the baseline's agreement with itself."""
    why = run.thin(label) or run.asked_otherwise(label) or run.fault(FACET) or _not_comparable(run)
    if why == _REPEATS:
        # Equal answers show that at most the others come from another model. Unequal ones may, as from other hardware.
        triples = [three for three in _texts(run, label)[1] if len(three[1]) >= _LEAST_CHARACTERS]
        equal = sum(own == one for own, one, _ in triples)
        share = wilson(len(triples) - equal, len(triples))[1] if len(triples) >= _LEAST_LONG else 1.0
        if share <= ENOUGH:
            text = f"{equal} of {len(triples)} answers equal the baseline's word for word: another model behind "
            return Reach(True, f"{text}{percent(share)} of the answers would have been seen.", len(triples))
    if why is not None:
        meant = run.asked_twice or bool((run.reference["decision"] != "undecided").any())
        return Reach(False, why, meant=meant)
    base = run.texts.get(run.baseline or "", {})
    long = [each for question, each in run.agreements.items() if len(base[question][0].shown) >= _LEAST_CHARACTERS]
    agreement, alpha = np.array(long), run.alpha(_TESTS)
    n, share = len(agreement), smallest_share(agreement, alpha, len(agreement))
    if share <= ENOUGH:
        return Reach(True, f"Another model behind {percent(share)} of the answers would have been seen.", n)
    text = f"{too_few(n, 'longer answer')} to see another model behind half of the answers"
    needed = needed_size(n, lambda size: smallest_share(agreement, alpha, size) <= ENOUGH)
    return Reach(False, text, n, needed=needed)


TESTS = (served, fingerprint, cut_prompts, answers)
