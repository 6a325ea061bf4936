"""What short questions and feature checks show: another tokenizer, other one-token answers, tool features that break.

Counts of tokens need no test: the same bytes have the same number of tokens, up to one constant, the template.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from vendor_verifier.findings.base import ModelRun, Reach, Test, percent
from vendor_verifier.records.results import FacetName, Status
from vendor_verifier.suites.probes import STRING, STRING_LENGTHS, group_of, is_string, kind_of
from vendor_verifier.text import listed

LEAST_PROBES, LEAST_STRINGS, DRAWS = 10, 8, 5_000
# The reach that *matches* needs: another model behind half of the answers.
ENOUGH = 0.5
# T1 and T2 in standard deviations are held against their 0.9 % and 0.1 % quantiles, so that both share one test.
_YARDSTICKS = np.array([[2.366], [3.090]])
# An answer that bills more was not held to one token. Counts may miss a rounded product, or a cut, by this many tokens.
_SHORT, _ROUNDING, _CUT_TOKENS, _LEAST_FACTOR = 2, 2.0, 8, 0.02
# The features that a server enforces, whatever the model says, and the facet that they are about.
FEATURES: Mapping[str, FacetName] = {
    "tool_choice_none": "tool_calls",
    "tool_choice_required": "tool_calls",
    "tool_choice_named": "tool_calls",
    "parallel_tool_calls_off": "tool_calls",
    "usage_with_and_without_streaming": "bill",
}
_PATTERNS: Mapping[str, tuple[FacetName, Status, str]] = {
    "tokenizer": ("model", "differs", "another tokenizer"),
    "cut": ("model", "check", "prompts are cut"),
    "unclear": ("model", "check", "another template or tokenizer"),
    "scaled": ("bill", "check", "counts are multiplied"),
    "formula": ("bill", "check", "counts follow from the length of the text"),
    "varying": ("bill", "check", "equal prompts get unequal counts"),
}
_QUESTIONS = r"\d"
# A probe each: how often each token came, a row for the vendor and one for the baseline.
Counts = list[NDArray[np.int64]]


def reach(run: ModelRun, label: str) -> Reach | None:
    """The share of answers by another model that the probes find; None of a vendor that was asked none."""
    asked = probes_of(run, label, _QUESTIONS)
    if run.baseline is None or asked.empty:
        return None
    counts = _counts(run, label)
    share = mixture_reach(counts, run.alpha(2)) if len(counts) >= LEAST_PROBES else None
    if share is None:
        return Reach(False, "too few probes were answered by both sides, or all in the same way", n=len(asked))
    text = f"Another model behind {percent(share)} of the answers to probes would have been seen."
    return Reach(share <= ENOUGH, text, share, len(asked))


def probes_of(run: ModelRun, label: str | None, kind: str) -> pd.DataFrame:
    """The rows of a vendor's probes that were answered, with the ``group`` of each, which matches ``kind``."""
    rows = run.apart[(run.apart["suite"] == "probes") & (run.apart["label"] == label)]
    # A probe is asked without reasoning first, which many refuse: its last answer counts.
    rows = rows[rows["status"].isin(["kept", "broken"]) | rows["input_tokens"].notna()]
    rows = rows.assign(group=rows["sample"].astype(str).map(group_of))
    return rows[rows["group"].str.match(kind).astype(bool)]


def tokenizer(run: ModelRun, label: str) -> Iterator[Test]:
    """Prompt tokens that are not the baseline's up to one constant.

    There is no finding where the baseline itself counts one prompt in two ways (a cache taken off, several hosts).
    """
    sides = (probes_of(run, name, rf"{_QUESTIONS}|{STRING}") for name in (label, run.baseline))
    own, base = (rows.groupby("group")["input_tokens"] for rows in sides)
    pairs = pd.concat({"base": base.median(), "own": own.median()}, axis=1).dropna().sort_index()
    if sum(map(is_string, pairs.index)) < LEAST_STRINGS or (base.nunique()[pairs.index] > 1).any():
        return
    pairs["delta"] = pairs["own"] - pairs["base"]
    template = float(pairs["delta"].mode()[0])
    is_varying = bool((own.nunique()[pairs.index] > 1).any())
    unequal = int((pairs["delta"] != template).sum())
    if unequal or is_varying:
        facet, status, meaning = _PATTERNS["varying" if is_varying else pattern_of(pairs, template, run.probe_texts)]
        text = (
            f"Counts {unequal} of {len(pairs)} probes otherwise than the baseline "
            f"({pairs['delta'].min():+.0f} to {pairs['delta'].max():+.0f} tokens, mostly {template:+.0f}): {meaning}."
        )
        yield Test(facet, "tokenizer", text, status=status, value=unequal / len(pairs), n=len(pairs))


def pattern_of(pairs: pd.DataFrame, template: float, texts: Mapping[str, str]) -> str:
    """The cause that differing counts point to, of ``base``, ``own`` and ``delta`` by prompt.

    Counts times one factor were multiplied; those that follow characters or bytes alone come from a formula. Lacking
    tokens on the longest prompts alone, by their count or their length, were cut. Another tokenizer differs by kind of
    string, by more the longer it is, and in a ratio that is not the same for all kinds.
    """
    base, own, delta = (pairs[name].to_numpy(dtype=float) for name in ("base", "own", "delta"))
    if _on_a_line(base, own, _LEAST_FACTOR):
        return "scaled"
    known = [str(texts[name]) for name in pairs.index] if set(pairs.index) <= set(texts) else []
    sizes = ([float(len(text)) for text in known], [float(len(text.encode())) for text in known])
    lengths = [np.array(each) for each in sizes if known]
    if any(_on_a_line(length, own) for length in lengths):
        return "formula"
    odd = delta != template
    most = own[odd].max()
    ends_there = bool((most - own[odd] <= _CUT_TOKENS).all() and (own <= most + _CUT_TOKENS).all())
    is_longest = any(length[~odd].max(initial=0) <= length[odd].min() for length in lengths)
    if (delta[odd] < template).all() and (is_longest or (ends_there and base[odd].min() + template >= most)):
        return "cut"
    growing, ratios = 0, set()
    strings = pairs[[is_string(str(name)) for name in pairs.index]]
    for _, kind in strings.groupby([kind_of(str(name)) for name in strings.index]):
        gaps = (kind["delta"] - template).to_numpy()
        growing += len(gaps) == STRING_LENGTHS and gaps[-1] != 0 and bool((np.diff(np.abs(gaps)) >= 0).all())
        ratios.add(round(gaps[-1] / max(kind["base"].iloc[-1], 1.0), 1))
    return "tokenizer" if growing >= 3 and len(ratios) > 1 else "unclear"


def _on_a_line(x: NDArray[Any], y: NDArray[Any], least_factor: float = 0.0) -> bool:
    """Whether y = constant + factor · x, rounded, with a factor that is so far from 1."""
    if np.ptp(x) == 0:
        return False
    factor, constant = np.polyfit(x, y, 1)
    return abs(factor - 1) >= least_factor and bool((np.abs(y - constant - factor * x) <= _ROUNDING).all())


def answers(run: ModelRun, label: str) -> Iterator[Test]:
    """Whether answers to probes come with the baseline's frequencies: never worse than *check*, for want of a line."""
    counts = _counts(run, label)
    found = unlikeness(counts, np.random.default_rng(run.seed)) if len(counts) >= LEAST_PROBES else None
    if found is not None:
        n = int(sum(each[0].sum() for each in counts))
        text = f"Answers to {len(counts)} probes come with other frequencies than the baseline's ({n} answers)."
        yield Test("model", "probe_answers", text, p_value=found[1], value=found[0], n=n)


def _counts(run: ModelRun, label: str) -> Counts:
    """The counts of every probe that both sides answered at least twice.

    Where only one side was held to one token, because a wire's smallest output is larger, the first signs are compared.
    """
    sides = [probes_of(run, name, _QUESTIONS).query("status == 'kept'") for name in (label, run.baseline)]
    if any(side.empty for side in sides):
        return []
    short = [
        side["output_tokens"].median() <= _SHORT if side["output_tokens"].notna().any()
        else (side["finish"] == "length").mean() >= 0.5
        for side in sides
    ]  # fmt: skip
    both = pd.concat(sides, keys=[0, 1], names=["side"])
    token = both["problem"].astype(str)
    token = token if short[0] == short[1] else token.str[:1]
    table = pd.crosstab([both["group"], token], both.index.get_level_values("side"))
    tables = (each.to_numpy(np.int64).T for _, each in table.groupby(level=0))
    return [each for each in tables if each.shape[0] == 2 and each.sum(axis=1).min() >= 2]


def unlikeness(counts: Counts, rng: np.random.Generator, draws: int = DRAWS) -> tuple[float, float] | None:
    """(z, p-value) of two sides' answers to probes; None where every probe got one answer only.

    T1 = Σ (p − q)² sees that every logit is a little off, T2 = Σ (p − q)² ÷ pooled a mixture; p and q are the shares of
    a token on either side. Both are counted in standard deviations of what they are with the answers of every probe
    dealt anew to both sides, which under one model, sampling and template changes nothing; the one further beyond its
    yardstick counts.
    """
    telling = [each for each in counts if each.shape[1] > 1]
    if not telling:
        return None
    dealt = np.zeros((2, draws))
    seen = np.zeros((2, 1))
    for each in telling:
        both = each.sum(axis=0)
        hands = rng.multivariate_hypergeometric(both, int(each[0].sum()), size=draws, method="marginals")
        dealt += _distances(hands, both)
        seen += _distances(each[:1], both)
    middle, width = dealt.mean(axis=1, keepdims=True), np.maximum(dealt.std(axis=1, keepdims=True), 1e-12)
    worst = ((dealt - middle) / width / _YARDSTICKS).max(axis=0)
    z = (seen - middle) / width
    as_far = int(np.count_nonzero(worst >= (z / _YARDSTICKS).max() - 1e-9))
    return float(z.max()), (as_far + 1) / (draws + 1)


def _distances(own: NDArray[np.int64], both: NDArray[np.int64]) -> NDArray[np.float64]:
    """T1 and T2 of one probe, a row each, for every row of counts of one side."""
    mine = int(own[0].sum())
    apart = np.square(own / mine - (both - own) / (both.sum() - mine))
    return np.stack([apart.sum(axis=1), (apart / (both / both.sum())).sum(axis=1)])


def mixture_reach(counts: Counts, level: float) -> float | None:
    """The smallest share of answers by another model that T1 shows in 8 of 10 runs; None above 1.

    The other model's words are taken to be half those of the baseline, so that Σ (p − q)² grows by Σ p² times the
    square of the share. The spread of T1 is that of a quadratic form in counts without a difference. All shares are the
    baseline's; a probe to which it gave one answer only shows nothing.
    """
    shift = variance = 0.0
    for each in counts:
        (mine, theirs), base = each.sum(axis=1), each[1]
        p = base[base > 0] / theirs
        if len(p) == 1:
            continue
        square = float((base * (base - 1)).sum() / (theirs * (theirs - 1)))
        scale = 1 / mine + 1 / theirs
        shift += square
        variance += 2 * scale**2 * float((p**2).sum() - 2 * (p**3).sum() + (p**2).sum() ** 2)
    if not shift:
        return None
    share = math.sqrt(
        float(scipy.stats.norm.isf(0.9 * level) + scipy.stats.norm.ppf(0.8)) * math.sqrt(variance) / shift
    )
    return share if share <= 1 else None


def features(run: ModelRun, label: str) -> Iterator[Test]:
    """Features that a server enforces: the baseline keeps each in all its answers, the vendor breaks it in all."""
    rows = run.apart[run.apart["suite"] == "contract"]
    statuses: dict[tuple[str, str], set[str]] = {}
    for side, sample, status in rows[["label", "sample", "status"]].astype(str).itertuples(index=False):
        statuses.setdefault((side, sample), set()).add(status)
    broken: dict[FacetName, list[str]] = {}
    for name, facet in FEATURES.items():
        if [statuses.get((str(side), f"contract-{name}")) for side in (label, run.baseline)] == [{"broken"}, {"kept"}]:
            broken.setdefault(facet, []).append(name)
    for facet, names in broken.items():
        text = f"Breaks {listed(names)}, which the baseline keeps."
        samples = tuple(f"contract-{name}" for name in names)
        yield Test(facet, "features", text, status="check", n=len(names), samples=samples)


TESTS = (tokenizer, answers, features)
