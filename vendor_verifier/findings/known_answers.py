"""What probes with known answers show: rewritten tool calls, cut prompts, caches (``--suite probes``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
import scipy

from vendor_verifier.findings.base import ModelRun, Test, hit_more_often, percent, shown
from vendor_verifier.findings.probes import probes_of
from vendor_verifier.records.results import Status
from vendor_verifier.suites.probes import CACHE, DEPTHS, ECHO, NEEDLE, echo_text, length_name, read_lengths
from vendor_verifier.text import listed

CALL_LINE = 0.05
# The same change in this many texts is no slip; this many lost codes are more than one bad answer.
LEAST_TEXTS, LEAST_SHARE, UNLIKELY = 2, 0.6, 0.005
LEAST_LOST, CERTAIN = 3, 0.001
# Prompts are billed short if they are so far below the baseline's; a cache answers this much sooner.
_SHORT, _SOONER = 0.95, 0.7
_PLACES = {10: "beginning", 50: "middle", 90: "end"}


def _rows(run: ModelRun, label: str | None, kind: str) -> pd.DataFrame:
    return probes_of(run, label, kind).query("status in ('kept', 'broken')")


def copied_arguments(run: ModelRun, label: str) -> Iterator[Test]:
    """Texts that were to be copied into a tool call: a change in all texts that hold a word is a fact, else a test."""
    own, base = _rows(run, label, ECHO), _rows(run, run.baseline, ECHO)
    if own.empty or base.empty:
        return
    changed, base_changed = own["status"] == "broken", base["status"] == "broken"
    found = _rewritten(own, base, run.probe_texts)
    if not found:
        text = "copied arguments changed"
        yield hit_more_often("tool_calls", "copied_arguments", text, own, changed, base_changed, CALL_LINE)
        return
    examples = listed([f"`{old}` → `{new}`" for old, new in found], 3)
    others = f"{base_changed.sum()} of {len(base)}" if base_changed.any() else "none"
    text = f"Changed {changed.sum()} of {len(own)} copied arguments; the baseline {others}: {examples}."
    share = float(changed.mean())
    yield Test("tool_calls", "rewritten_arguments", text, value=share, n=len(own), samples=shown(own[changed]))


def _rewritten(own: pd.DataFrame, base: pd.DataFrame, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The changes (asked, copied) that a vendor made in most texts that hold the word, and the baseline nowhere.

    A model's own slip hits a word now and then; whoever rewrites a word does so each time. So many slips at the
    baseline's rate, taken one too high, must have a probability of at most 0.5 %, were they all of one kind.
    """
    rate = ((base["status"] == "broken").sum() + 1) / (len(base) + 2)
    groups_of, base_groups_of = _changes(own), _changes(base)
    answered = set(own["group"])
    found = []
    for (old, new), groups in groups_of.items():
        holding = [group for group in answered if old in echo_text(texts.get(group, "\n<text></text>"))]
        often = len(groups) >= max(LEAST_TEXTS, LEAST_SHARE * len(holding))
        if old.strip() and often and rate ** len(groups) <= UNLIKELY and (old, new) not in base_groups_of:
            found.append((old, new))
    return found


def _changes(rows: pd.DataFrame) -> dict[tuple[str, str], set[str]]:
    """(asked, copied) → the texts in which it was copied so."""
    found: dict[tuple[str, str], set[str]] = {}
    for group, lines in rows.loc[rows["status"] == "broken", ["group", "problem"]].itertuples(index=False):
        for line in str(lines).split("\n"):
            old, _, new = line.partition("\t")
            found.setdefault((old, new), set()).add(str(group))
    return found


def long_prompts(run: ModelRun, label: str) -> Iterator[Test]:
    """Codes in long prompts that a vendor does not give back and the baseline does.

    Counted only where, from some length on, each prompt lost the same part, which no shorter one lost. That is what a
    cut looks like; a model that overlooks a code does so here and there. At the highest rate of overlooked codes that
    the baseline's are compatible with (Clopper and Pearson 1934, 95 %), this number of lost codes must have a
    probability of at most 0.1 %.
    """
    own, base = _rows(run, label, NEEDLE), _rows(run, run.baseline, NEEDLE)
    lost, base_lost = _lost(own), _lost(base)
    lengths = sorted(set(lost) & set(base_lost))
    seen = {length: lost[length] - base_lost[length] for length in lengths}
    places = [
        (length, depth)
        for depth in DEPTHS
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
    rate = float(scipy.stats.beta.ppf(0.95, overlooked + 1, len(DEPTHS) * len(base) - overlooked))
    if rate**count > CERTAIN:
        return
    tokens = [side.groupby("group", observed=True)["input_tokens"].median() for side in (own, base)]
    pairs = pd.concat(tokens, axis=1, keys=["own", "base"]).dropna()
    pairs = pairs.loc[[name for name in pairs.index if _length_of(str(name)) in longer]]
    billed = ""
    if len(pairs):
        is_short = bool((pairs["own"] < _SHORT * pairs["base"]).any())
        billed = f", billed as at most {pairs['own'].max():,.0f} tokens" if is_short else ", billed whole"
    part = listed([f"the {_PLACES[depth]}" for depth in sorted(common)])
    refused = {_length_of(str(group)) for group in own["group"][own["problem"] == "refused"]}
    below = [length for length in lengths if length < first]
    limit = f"Prompts over {length_name(below[-1])} tokens" if below else f"Prompts of {length_name(first)} tokens"
    what = "are refused" if refused.issuperset(longer) else f"lose {part}"
    text = f"{limit} {what} ({listed([length_name(each) for each in longer])} asked){billed}."
    status: Status = "differs" if count >= LEAST_LOST else "check"
    samples = shown(own[own["status"] == "broken"])
    yield Test("model", "lost_prompts", text, status=status, value=float(first), n=len(own), samples=samples)


def _lost(rows: pd.DataFrame) -> dict[int, set[int]]:
    """Length → the depths lost in every answer to it."""
    found: dict[int, set[int]] = {}
    for group, status, lost in rows[["group", "status", "problem"]].itertuples(index=False):
        words = str(lost).split(",") if status == "broken" else []
        depths = set(DEPTHS) if words == ["refused"] else {int(word) for word in words}
        length = _length_of(str(group))
        found[length] = found.get(length, depths) & depths
    return found


def _length_of(group: str) -> int:
    return read_lengths(group.partition("-")[2])[0]


def cache(run: ModelRun, label: str) -> Iterator[Test]:
    """What became of a repeated prompt; noted only, since a cache is a price and no fault."""
    sides = [_repeats(_rows(run, name, CACHE)) for name in (label, run.baseline)]
    if sides[0] is None:
        return
    hit, sooner = sides[0]
    others = "" if sides[1] is None else f" (baseline {percent(sides[1][0])})"
    text = f"Of repeated prompts {percent(hit)} of the tokens are billed as cached{others}."
    if sooner is not None and sooner <= _SOONER:
        text = f"{text[:-1]}; the first token comes after {percent(sooner)} of the time."
    n = len(_rows(run, label, CACHE))
    yield Test("bill", "repeated_prompts", text, status="matches", value=hit, n=n)


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
            if took:
                shares.append((cached or 0.0) / took)
            if first_ms is not None and answers[0][2]:
                ratios.append(first_ms / answers[0][2])
    if not shares:
        return None
    return sum(shares) / len(shares), sum(ratios) / len(ratios) if ratios else None


TESTS = (copied_arguments, long_prompts, cache)
