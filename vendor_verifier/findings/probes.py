"""What probes and feature checks show: another tokenizer, other one-token answers, tool features that break, and of
probes with known answers rewritten tool calls, cut prompts and caches.

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

from vendor_verifier.findings.base import ModelRun, Reach, Test, hit_more_often, percent, shown
from vendor_verifier.records.results import FacetName, Status
from vendor_verifier.suites import probes as suite
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
_CALL_LINE = 0.05
# The same change in this many texts is not a slip; this many lost codes are more than one bad answer.
_LEAST_TEXTS, _LEAST_SHARE, _UNLIKELY = 2, 0.6, 0.005
_LEAST_LOST, _CERTAIN = 3, 0.001
# Prompts are billed short if they are so far below the baseline's; a cache answers this much sooner.
_BILLED_SHORT, _SOONER = 0.95, 0.7
_PLACES = {10: "beginning", 50: "middle", 90: "end"}
_QUESTIONS = r"\d"
# A probe each: how often each token came, a row for the vendor and one for the baseline.
Counts = list[NDArray[np.int64]]


def reach(run: ModelRun, label: str) -> Reach | None:
    """The share of answers by another model that the probes find; None for a vendor without probes."""
    asked = probes_of(run, label, _QUESTIONS)
    if run.baseline is None or asked.empty:
        return None
    counts = _counts(run, label)
    share = mixture_reach(counts, run.alpha(2)) if len(counts) >= LEAST_PROBES else None
    if share is None:
        return Reach(False, "too few probes were answered by both sides, or all in the same way", n=len(asked))
    text = f"Another model behind {percent(share)} of the answers to probes would have been seen."
    return Reach(share <= ENOUGH, text, len(asked))


def probes_of(run: ModelRun, label: str | None, kind: str) -> pd.DataFrame:
    """The rows of a vendor's probes that were answered, with the ``group`` of each, which matches ``kind``."""
    rows = run.diagnostics[(run.diagnostics["suite"] == "probes") & (run.diagnostics["label"] == label)]
    # A probe is asked without reasoning first, which many refuse: its last answer counts.
    rows = rows[rows["status"].isin(["kept", "broken"]) | rows["input_tokens"].notna()]
    rows = rows.assign(group=rows["sample"].astype(str).map(suite.group_of))
    return rows[rows["group"].str.match(kind).astype(bool)]


def tokenizer(run: ModelRun, label: str) -> Iterator[Test]:
    """Prompt tokens that are not the baseline's up to one constant.

    There is no finding where the baseline itself counts one prompt in two ways (a cache taken off, several hosts).
    """
    sides = (probes_of(run, name, rf"{_QUESTIONS}|{suite.STRING}") for name in (label, run.baseline))
    own, base = (rows.groupby("group")["input_tokens"] for rows in sides)
    pairs = pd.concat({"base": base.median(), "own": own.median()}, axis=1).dropna().sort_index()
    if sum(map(suite.is_string, pairs.index)) < LEAST_STRINGS or (base.nunique()[pairs.index] > 1).any():
        return
    pairs["delta"] = pairs["own"] - pairs["base"]
    template = float(pairs["delta"].mode()[0])
    is_varying = bool((own.nunique()[pairs.index] > 1).any())
    unequal = int((pairs["delta"] != template).sum())
    if unequal or is_varying:
        facet, status, meaning = _PATTERNS["varying" if is_varying else pattern_of(pairs, template, run.probe_texts)]
        text = (
            f"Counts {unequal} of {len(pairs)} probes differently from the baseline "
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
    lengths = [np.array([len(of(text)) for text in known], float) for of in (str, str.encode) if known]
    if any(_on_a_line(length, own) for length in lengths):
        return "formula"
    odd = delta != template
    most = own[odd].max()
    ends_there = bool((most - own[odd] <= _CUT_TOKENS).all() and (own <= most + _CUT_TOKENS).all())
    is_longest = any(length[~odd].max(initial=0) <= length[odd].min() for length in lengths)
    if (delta[odd] < template).all() and (is_longest or (ends_there and base[odd].min() + template >= most)):
        return "cut"
    growing, ratios = 0, set()
    strings = pairs[[suite.is_string(str(name)) for name in pairs.index]]
    for _, kind in strings.groupby([suite.kind_of(str(name)) for name in strings.index]):
        gaps = (kind["delta"] - template).to_numpy()
        growing += len(gaps) == suite.STRING_LENGTHS and gaps[-1] != 0 and bool((np.diff(np.abs(gaps)) >= 0).all())
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
        text = f"Answers to {len(counts)} probes have other frequencies than the baseline's ({n} answers)."
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
    dealt, seen = np.zeros((2, draws)), np.zeros((2, 1))
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
    errors = float(scipy.stats.norm.isf(0.9 * level) + scipy.stats.norm.ppf(0.8))
    share = math.sqrt(errors * math.sqrt(variance) / shift)
    return share if share <= 1 else None


def features(run: ModelRun, label: str) -> Iterator[Test]:
    """Features that a server enforces: the baseline keeps each in all its answers, the vendor breaks it in all."""
    rows = run.diagnostics[run.diagnostics["suite"] == "contract"]
    statuses = rows.astype(str).groupby(["label", "sample"])["status"].agg(set)
    broken: dict[FacetName, list[str]] = {}
    for name, facet in FEATURES.items():
        if [statuses.get((side, f"contract-{name}")) for side in (label, run.baseline)] == [{"broken"}, {"kept"}]:
            broken.setdefault(facet, []).append(name)
    for facet, names in broken.items():
        text = f"Breaks {listed(names)}, which the baseline keeps."
        samples = tuple(f"contract-{name}" for name in names)
        yield Test(facet, "features", text, status="check", n=len(names), samples=samples)


def _judged(run: ModelRun, label: str, kind: str) -> list[pd.DataFrame]:
    """The probes of a kind that were judged, of the vendor and of the baseline."""
    return [probes_of(run, side, kind).query("status in ('kept', 'broken')") for side in (label, run.baseline)]


def copied_arguments(run: ModelRun, label: str) -> Iterator[Test]:
    """Texts that were to be copied into a tool call: a change in all texts that hold a word is a fact, else a test."""
    own, base = _judged(run, label, suite.ECHO)
    if own.empty or base.empty:
        return
    changed, base_changed = both = [rows["status"] == "broken" for rows in (own, base)]
    found = _rewritten(own, base, run.probe_texts)
    if not found:
        text = "copied arguments changed"
        yield from hit_more_often("tool_calls", "copied_arguments", text, own, both, _CALL_LINE)
        return
    examples = listed([f"`{old}` → `{new}`" for old, new in found], 3)
    others = f"{base_changed.sum()} of {len(base)}" if base_changed.any() else "none"
    text = f"Changed {changed.sum()} of {len(own)} copied arguments; the baseline {others}: {examples}."
    share = float(changed.mean())
    yield Test("tool_calls", "rewritten_arguments", text, value=share, n=len(own), samples=shown(own[changed]))


def _rewritten(own: pd.DataFrame, base: pd.DataFrame, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The changes (asked, copied) that a vendor made in most texts that hold the word, and the baseline nowhere.

    This number of slips at the baseline's rate, taken one too high, must have a probability of at most 0.5 %.
    """
    rate = ((base["status"] == "broken").sum() + 1) / (len(base) + 2)
    groups_of, base_groups_of = _changes(own), _changes(base)
    answered = set(own["group"])
    found = []
    for (old, new), groups in groups_of.items():
        holding = [group for group in answered if old in suite.echo_text(texts.get(group, "\n<text></text>"))]
        often = len(groups) >= max(_LEAST_TEXTS, _LEAST_SHARE * len(holding))
        if old.strip() and often and rate ** len(groups) <= _UNLIKELY and (old, new) not in base_groups_of:
            found.append((old, new))
    return found


def _changes(rows: pd.DataFrame) -> dict[tuple[str, str], set[str]]:
    """(asked, copied) → the texts in which it was copied so."""
    lines = rows[rows["status"] == "broken"].set_index("group")["problem"].astype(str).str.split("\n").explode()
    found: dict[tuple[str, str], set[str]] = {}
    for group, line in lines.items():
        old, _, new = line.partition("\t")
        found.setdefault((old, new), set()).add(str(group))
    return found


def long_prompts(run: ModelRun, label: str) -> Iterator[Test]:
    """Codes in long prompts that a vendor does not give back and the baseline does.

    Counted only where, from some length on, each prompt lost the same part, which no shorter one lost. At the highest
    rate of overlooked codes that the baseline's are compatible with (Clopper and Pearson 1934, 95 %), this number of
    lost codes must have a probability of at most 0.1 %.
    """
    own, base = (
        rows.assign(length=rows["group"].map(lambda group: suite.read_lengths(group.partition("-")[2])[0]))
        for rows in _judged(run, label, suite.NEEDLE)
    )
    lost, base_lost = _lost(own), _lost(base)
    lengths = sorted(set(lost) & set(base_lost))
    seen = {length: lost[length] - base_lost[length] for length in lengths}
    places = [
        (length, depth)
        for depth in suite.DEPTHS
        for place, length in enumerate(lengths)
        if [depth in seen[each] for each in lengths] == [at >= place for at in range(len(lengths))]
    ]
    if not places:
        return
    first = min(length for length, _ in places)
    common = {depth for length, depth in places if length == first}
    longer = [length for length in lengths if length >= first]
    count = sum(len(seen[length]) for length in longer)
    overlooked = base.loc[base["status"] == "broken", "problem"].astype(str).str.count(",").add(1).sum()
    rate = float(scipy.stats.beta.ppf(0.95, overlooked + 1, len(suite.DEPTHS) * len(base) - overlooked))
    if rate**count > _CERTAIN:
        return
    tokens = [side.groupby("length")["input_tokens"].median() for side in (own, base)]
    pairs = pd.concat(tokens, axis=1, keys=["own", "base"]).reindex(longer).dropna()
    billed = ""
    if len(pairs):
        is_short = bool((pairs["own"] < _BILLED_SHORT * pairs["base"]).any())
        billed = f", billed as at most {pairs['own'].max():,.0f} tokens" if is_short else ", billed whole"
    part = listed([f"the {_PLACES[depth]}" for depth in sorted(common)])
    refused = set(own["length"][own["problem"] == "refused"])
    below = [length for length in lengths if length < first]
    limit = f"over {suite.length_name(below[-1])}" if below else f"of {suite.length_name(first)}"
    what = "are refused" if refused.issuperset(longer) else f"lose {part}"
    text = f"Prompts {limit} tokens {what} ({listed([suite.length_name(each) for each in longer])} asked){billed}."
    status: Status = "differs" if count >= _LEAST_LOST else "check"
    samples = shown(own[own["status"] == "broken"])
    yield Test("model", "lost_prompts", text, status=status, value=float(first), n=len(own), samples=samples)


def _lost(rows: pd.DataFrame) -> dict[int, set[int]]:
    """Length → the depths lost in every answer to it."""
    found: dict[int, set[int]] = {}
    for length, status, lost in rows[["length", "status", "problem"]].itertuples(index=False):
        words = str(lost).split(",") if status == "broken" else []
        depths = set(suite.DEPTHS) if words == ["refused"] else {int(word) for word in words}
        found[length] = found.get(length, depths) & depths
    return found


def cache(run: ModelRun, label: str) -> Iterator[Test]:
    """What became of a repeated prompt; noted only, because a cache changes the price and is not a fault."""
    own, base = _judged(run, label, suite.CACHE)
    found, usual = _repeats(own), _repeats(base)
    if found is None:
        return
    hit, sooner = found
    others = "" if usual is None else f" (baseline {percent(usual[0])})"
    text = f"Of repeated prompts {percent(hit)} of the tokens are billed as cached{others}."
    if sooner is not None and sooner <= _SOONER:
        text = f"{text[:-1]}; the first token comes after {percent(sooner)} of the time."
    yield Test("bill", "repeated_prompts", text, status="matches", value=hit, n=len(own))


def _repeats(rows: pd.DataFrame) -> tuple[float, float | None] | None:
    """Of repeated prompts (the share of cached tokens, TTFT ÷ that of the first time); None where none is known.

    The evidence holds four answers: the first, the same again, another prompt, and the first once more.
    """
    shares, ratios = [], []
    for evidence in rows["problem"].astype(str):
        answers = [[None if each == "-" else float(each) for each in part.split("/")] for part in evidence.split()]
        if len(answers) != 4:
            continue
        for took, cached, first_ms in (answers[1], answers[3]):
            if took and cached is not None:
                shares.append(cached / took)
            if first_ms is not None and answers[0][2]:
                ratios.append(first_ms / answers[0][2])
    if not shares:
        return None
    return sum(shares) / len(shares), sum(ratios) / len(ratios) if ratios else None


TESTS = (tokenizer, answers, features, copied_arguments, long_prompts, cache)
