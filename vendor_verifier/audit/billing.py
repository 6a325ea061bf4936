"""Findings on bills: tokens against the baseline's, cache claims against common beginnings of prompts.

The same prompt has as many tokens everywhere if template and tokenizer are the same. The shape of a difference names
its cause: a constant (a template or hidden prompt), a slope (inflation), less on long prompts only (truncation).

A cache holds beginnings of earlier prompts. A prompt that was sent once can share at most as many tokens with another
as its text begins like that one's. Tokens reported as cached beyond that were cached before the run, or never.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from statistics import median
from types import MappingProxyType

import msgspec

from vendor_verifier.audit.finding import finding
from vendor_verifier.records.judgement import Finding
from vendor_verifier.records.money import Money
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.ratio_table import Trials
from vendor_verifier.stats.theil_sen import theil_sen
from vendor_verifier.words import english

LEAST_PROMPTS = 10
# A slope is reported when it adds this many tokens to the longer prompts over the shorter ones, and 1 %.
_LEAST_RISE, _LEAST_SLOPE = 10.0, 0.01
# Tokens a prompt may lack before it counts as cut: tokenizers differ by a few.
_CUT_TOKENS, _CUT_SHARE = 8, 0.02
_MOST_PAIRS_FOR_SLOPE = 1500
_COST_TOLERANCE = 0.05


class PromptPair(msgspec.Struct, frozen=True):
    """Prompt tokens that baseline and vendor reported for one sample."""

    sample: str
    baseline: float
    vendor: float

    @property
    def delta(self) -> float:
        return self.vendor - self.baseline


def prompt_tokens(trials: Trials) -> dict[str, float]:
    """Sample → prompt tokens as reported, the mean over its repetitions."""
    sums: dict[str, array[float]] = {}
    for (sample, _), (tokens, answers) in trials.ratios.get("input_tokens", {}).items():
        sums.setdefault(sample, array("d")).append(tokens / answers)
    return {sample: math.fsum(each) / len(each) for sample, each in sums.items()}


Rewordings = Mapping[str, Mapping[str, frozenset[str]]]
"""Label → sample → the notes of our wire on what it asked in other words."""
NO_REWORDINGS: Rewordings = MappingProxyType({})
_AS_WRITTEN: frozenset[str] = frozenset()


def rewordings(tables: Mapping[str, ObservationTable]) -> Rewordings:
    """Those of all samples that any of these entries was asked in other words."""
    return {
        label: {key[1]: frozenset(traits.reworded) for key, traits in table.recorded() if traits.reworded}
        # Nearly always no row is, and then none need be looked at.
        if any(traits.reworded for traits in table.coded()[0])
        else {}
        for label, table in tables.items()
    }


def prompt_pairs(baseline: Trials, vendor: Trials, reworded: Rewordings = NO_REWORDINGS) -> list[PromptPair]:
    """The samples for which both reported prompt tokens, by sample id, where we asked both in the same words."""
    expected, got = prompt_tokens(baseline), prompt_tokens(vendor)
    common = _alike(expected.keys() & got.keys(), (baseline.label, vendor.label), reworded)
    return [PromptPair(sample, expected[sample], got[sample]) for sample in common]


def _alike(samples: Iterable[str], labels: Sequence[str], reworded: Rewordings) -> list[str]:
    """The samples, in order, that our wires asked of all these entries in the same words."""
    each = [reworded.get(label, {}) for label in labels]
    return sorted(name for name in samples if len({notes.get(name, _AS_WRITTEN) for notes in each}) == 1)


def prompt_token_findings(label: str, pairs: Sequence[PromptPair]) -> tuple[Finding, ...]:
    """Constant, slope and truncation of the prompt-token delta; empty below ``LEAST_PROMPTS`` prompts.

    Robust line delta = a + b·baseline: b the median of all pairwise slopes with its 95 % interval, a the median of the
    rest (Theil 1950; Sen, JASA 1968), so that up to 29 % odd prompts do not bend it. Cut prompts are set aside first.
    """
    if len(pairs) < LEAST_PROMPTS:
        return ()
    cut = _cut(pairs)
    whole = [pair for pair in pairs if pair not in cut]
    findings = [_truncation(label, sorted(cut, key=_by_delta), len(pairs))] if cut else []
    if len(whole) >= LEAST_PROMPTS:
        slope = _slope(label, whole)
        line = slope if slope is not None else _constant(label, whole)
        findings += [line] if line is not None else []
    return tuple(findings)


def same_counter_findings(
    counts: Mapping[str, Mapping[str, float]], baseline: str | None, reworded: Rewordings = NO_REWORDINGS
) -> tuple[Finding, ...]:
    """Vendors whose prompt tokens are equal on every common prompt and differ from the baseline's on most.

    ``counts``: label → sample → prompt tokens. Consistent with one host behind several names.
    """
    reference = counts.get(baseline or "", {})
    findings = []
    for one, other in combinations([label for label in counts if label != baseline], 2):
        every = counts[one].keys() & counts[other].keys() & reference.keys()
        common = _alike(every, (one, other, baseline or ""), reworded)
        if len(common) < LEAST_PROMPTS or any(counts[one][name] != counts[other][name] for name in common):
            continue
        apart = sum(counts[one][name] != reference[name] for name in common)
        if 2 * apart > len(common):
            evidence: dict[str, float | int | str] = {"other": other, "prompts": len(common), "unlike_baseline": apart}
            samples = tuple(common[:3])
            findings.append(finding("same_token_counter", one, evidence, samples, baseline=baseline))
    return tuple(findings)


def hidden_reasoning_finding(label: str, rows: Iterable[tuple[str, int, bool]]) -> Finding | None:
    """Reasoning tokens that were billed and not shown; rows are (sample, reasoning tokens, any reasoning shown)."""
    hidden = {sample: tokens for sample, tokens, shown in rows if tokens > 0 and not shown}
    if not hidden:
        return None
    worst = sorted(hidden, key=lambda sample: -hidden[sample])[:3]
    evidence = {"tokens": sum(hidden.values()), "answers": len(hidden)}
    return finding("reasoning_not_shown", label, evidence, tuple(worst))


def cache_finding(label: str, rows: Iterable[tuple[str, int, int]]) -> Finding | None:
    """Cache claims that cannot be: more cached than prompt tokens; rows are (sample, prompt tokens, cached tokens)."""
    impossible = [(sample, prompt, cached) for sample, prompt, cached in rows if cached > prompt]
    if not impossible:
        return None
    samples = tuple(name for name, _, _ in impossible[:3])
    return finding("cache_impossible", label, {"answers": len(impossible)}, samples)


def cost_finding(label: str, money: Money) -> Finding | None:
    """The vendor's own cost ÷ ours at the known price, over attempts with both, if it is off by more than 5 %.

    Where it fits a price without any discount for cached tokens, the finding states that instead.
    """
    ratio, full = money.reported_ratio, money.undiscounted_ratio
    if ratio is None or money.reported_usd is None or abs(ratio - 1) <= _COST_TOLERANCE:
        return None
    if full is not None and abs(full - 1) <= 0.01:
        evidence = {"ratio": ratio, "undiscounted_ratio": full}
        return finding("cache_not_discounted", label, evidence, ratio_3=f"{ratio:.3f}")
    evidence = {"ratio": ratio, "reported_usd": money.reported_usd}
    return finding("reported_cost_differs", label, evidence, ratio_3=f"{ratio:.3f}")


def _cut(pairs: Sequence[PromptPair]) -> frozenset[PromptPair]:
    """Prompts that lack tokens, if they are the minority and the longer ones; otherwise the tokenizer differs."""
    lacking = frozenset(pair for pair in pairs if pair.delta < -max(_CUT_TOKENS, _CUT_SHARE * pair.baseline))
    if not lacking or len(lacking) >= len(pairs) / 2:
        return frozenset()
    others = [pair.baseline for pair in pairs if pair not in lacking]
    longer = median(pair.baseline for pair in lacking) > median(others)
    return lacking if longer else frozenset()


def _truncation(label: str, cut: Sequence[PromptPair], prompts: int) -> Finding:
    longest = max(pair.vendor for pair in cut)
    evidence = {
        "prompts": len(cut),
        "most_tokens": longest,
        "shortest_affected": min(pair.baseline for pair in cut),
        "median_delta": median(pair.delta for pair in cut),
    }
    samples = tuple(pair.sample for pair in cut[:3])
    return finding("prompt_truncated", label, evidence, samples, all=prompts, longest=f"{longest:g}")


def _slope(label: str, pairs: Sequence[PromptPair]) -> Finding | None:
    ordered = sorted(pairs, key=lambda pair: pair.baseline)
    used = ordered[:: math.ceil(len(ordered) / _MOST_PAIRS_FOR_SLOPE)]
    spread = ordered[int(0.95 * (len(ordered) - 1))].baseline - ordered[int(0.05 * (len(ordered) - 1))].baseline
    if len({pair.baseline for pair in used}) < 3 or len({pair.delta for pair in used}) < 2:
        return None
    slope, intercept, low, high = theil_sen([pair.baseline for pair in used], [pair.delta for pair in used])
    proven = (low > 0 or high < 0) and abs(slope) >= _LEAST_SLOPE
    if not proven or abs(slope) * spread < _LEAST_RISE:
        return None
    more = english("finding_more" if slope > 0 else "finding_fewer", percent=f"{100 * abs(slope):.3g}")
    evidence = {"slope": slope, "slope_low": low, "slope_high": high, "constant": intercept, "prompts": len(pairs)}
    worst = sorted(pairs, key=lambda pair: -abs(pair.delta))[:3]
    samples = tuple(pair.sample for pair in worst)
    return finding("prompt_tokens_slope", label, evidence, samples, more=more, constant_1=f"{intercept:+.1f}")


# Prompt tokens in excess that another version of the model's chat template explains.
TEMPLATE_TOKENS = 20


def template_band(found: Finding) -> str | None:
    """The least and the most of a ``prompt_tokens_constant`` that another chat template explains; None for a larger."""
    median, least, most = (float(found.evidence[name]) for name in ("median", "least", "most"))
    return _band(least, most) if abs(median) <= TEMPLATE_TOKENS else None


def _band(least: float, most: float) -> str:
    return f"{least:+g} … {most:+g}" if least != most else f"{least:+g}"


def _constant(label: str, pairs: Sequence[PromptPair]) -> Finding | None:
    deltas = Counter(pair.delta for pair in pairs)
    middle = median(pair.delta for pair in pairs)
    same_sign = sum(count for delta, count in deltas.items() if delta * middle > 0)
    if not middle or same_sign < 0.9 * len(pairs):
        return None
    least, most = min(deltas), max(deltas)
    band = _band(least, most)
    evidence: dict[str, float | int | str] = {"median": middle, "least": least, "most": most, "prompts": len(pairs)}
    evidence["deltas"] = ", ".join(f"{delta:+g}: {count}" for delta, count in sorted(deltas.items())[:12])
    worst = sorted(pairs, key=lambda pair: -abs(pair.delta))[:3]
    samples = tuple(pair.sample for pair in worst)
    return finding("prompt_tokens_constant", label, evidence, samples, band=band, middle=f"{middle:+g}")


def _by_delta(pair: PromptPair) -> tuple[float, str]:
    return (pair.delta, pair.sample)


LEAST_CLAIMS = 5
# Characters do not become tokens evenly, and templates add some tokens of their own before the prompt.
_SLACK_SHARE, _SLACK_TOKENS = 0.1, 64


def shared_beginnings(samples: Sequence[Sample]) -> dict[str, float]:
    """Sample id → the largest share of its prompt (0 … 1) that begins like another sample's.

    Templates put tools before or after the first message: the order that shares more counts. Sorted texts share most
    with a neighbour.
    """
    shares = dict.fromkeys(listed(samples).ids, 0.0)
    for tools_first in (True, False):
        texts = sorted((_text(sample, tools_first=tools_first), sample.id) for sample in samples)
        for (one, first), (other, second) in pairwise(texts):
            common = _common(one, other)
            for text, name in ((one, first), (other, second)):
                shares[name] = max(shares[name], common / len(text))
    return shares


def unexplained_cache_finding(
    label: str, rows: Iterable[tuple[str, int, int]], shares: Mapping[str, float]
) -> Finding | None:
    """Cached tokens beyond the common beginnings, on prompts sent once; rows are (sample, prompt, cached tokens).

    ``shares`` come from :func:`shared_beginnings`. Nothing below ``LEAST_CLAIMS`` prompts.
    """
    beyond = [
        (sample, cached, cached - _most(prompt, shares[sample]))
        for sample, prompt, cached in rows
        if sample in shares and 0 < cached <= prompt and cached > _most(prompt, shares[sample])
    ]
    if len(beyond) < LEAST_CLAIMS:
        return None
    claimed, more = sum(each for _, each, _ in beyond), sum(each for _, _, each in beyond)
    worst = sorted(beyond, key=lambda each: -each[2])[:3]
    evidence = {"prompts": len(beyond), "cached_tokens": claimed, "unexplained_tokens": round(more)}
    samples = tuple(name for name, _, _ in worst)
    return finding("cache_unexplained", label, evidence, samples, more=f"{more:.0f}")


def _most(prompt: int, share: float) -> float:
    return prompt * min(1.0, share + _SLACK_SHARE) + _SLACK_TOKENS


def _common(one: str, other: str) -> int:
    """The length of the common beginning of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _text(sample: Sample, *, tools_first: bool) -> str:
    parts = (sample.turn.tools, sample.turn.messages)
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in (parts if tools_first else reversed(parts)))


def bill_findings(
    tables: Mapping[str, ObservationTable],
    money: Mapping[str, Money],
    samples: Sequence[Sample],
) -> Iterator[Finding]:
    """Findings on each vendor's own bill, not compared with another's. ``samples`` are all that were asked."""
    shares: dict[str, float] | None = None
    for label, table in tables.items():
        cached = [
            (sample, usage.input, usage.cached)
            for sample, _, usage in table.answers_billing("cached")
            if usage.cached is not None and usage.input is not None
        ]
        once = sent_once(cached, table)
        # Prompts are long, so they are compared with each other only where a vendor reports cached tokens.
        if once and shares is None:
            shares = shared_beginnings(samples)
        reasoning = (
            (sample, usage.reasoning, traits.shows_reasoning)
            for sample, traits, usage in table.answers_billing("reasoning")
            if usage.reasoning is not None
        )
        found = (
            hidden_reasoning_finding(label, reasoning),
            cache_finding(label, cached),
            unexplained_cache_finding(label, once, shares or {}),
            cost_finding(label, money[label]) if label in money else None,
        )
        yield from (finding for finding in found if finding is not None)


_Claim = tuple[str, int, int]


def sent_once(claims: Sequence[_Claim], table: ObservationTable) -> list[_Claim]:
    """Of (sample, prompt tokens, cached tokens) those with a cached token, of prompts that were sent once."""
    if not any(cached for _, _, cached in claims):
        return []
    sends = Counter(sample for (sample, _), _ in table.billed())
    return [claim for claim in claims if claim[2] and sends[claim[0]] == 1]


def prompt_findings(
    trials: Sequence[Trials], baseline: str | None, reworded: Rewordings = NO_REWORDINGS
) -> Iterator[Finding]:
    """Findings on prompt tokens, against the baseline's and between vendors, where all were asked in the same words."""
    by_label = {each.label: each for each in trials}
    reference = by_label.get(baseline or "")
    if reference is None:
        return
    for label, each in by_label.items():
        if label != baseline:
            yield from prompt_token_findings(label, prompt_pairs(reference, each, reworded))
    counts = {label: prompt_tokens(each) for label, each in by_label.items()}
    yield from same_counter_findings(counts, baseline, reworded)
