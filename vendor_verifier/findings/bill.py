"""Is the bill that of what was asked and answered? Token counts against the baseline's, and money against prices.

The same prompt has as many tokens everywhere if template and tokenizer are the same. Prompts that our wire put in other
words for one side are left out. What a buyer pays more is given as the ratio of the sums over the same requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from vendor_verifier.findings.base import ModelRun, Reach, Test, hindrance, percent, shown
from vendor_verifier.scoring.money import costs_usd
from vendor_verifier.stats.compare import slope
from vendor_verifier.stats.intervals import quantile
from vendor_verifier.text import counted

LEAST = 12
TOKEN_LINE, REQUEST_LINE, MONEY_LINE = 0.01, 20.0, 0.05
# A slope over more prompts is taken over evenly spaced ones.
_MOST_FOR_SLOPE = 1_500
# Tokens at the end of an answer that some hosts count and others do not.
_END_TOKENS = 2
# Shorter answers, and those of another kind than the baseline's (code, calls, prose), are not compared by length.
_LEAST_CHARACTERS, _MOST_UNLIKE = 20, 1.5


def bill_tests(run: ModelRun) -> list[Test]:
    """Facts and tests on every vendor; what speaks for the baseline, too, does not count."""
    return [
        test
        for label in run.vendors
        for each in (_prompt_tokens, _output_tokens, _hidden_tokens, _cached_tokens, _failed_attempts, _charged)
        for test in each(run, label)
    ]


def bill_reach(run: ModelRun) -> list[Reach]:
    """Whether each vendor's prompt tokens could be compared with the baseline's."""
    found = []
    for label in run.vendors:
        n = len(_prompts(run, label))
        why = hindrance(run, label) or f"Both sides report tokens for {counted(n, 'prompt')}; {LEAST} would do."
        text = f"1 % more prompt tokens would have been seen ({counted(n, 'prompt')})." if n >= LEAST else why
        found.append(Reach(label, "bill", n >= LEAST, text, value=TOKEN_LINE, n=n))
    return found


def _prompts(run: ModelRun, label: str) -> pd.DataFrame:
    if run.baseline is None:
        return pd.DataFrame()
    rows = run.triples(label).dropna(subset=["input_tokens", "input_tokens_one"])
    # In a conversation the later prompts hold what was answered before.
    return rows[(rows["input_tokens_one"] > 0) & (rows["turns"] == 1) & (rows["turns_one"] == 1)]


def _prompt_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """Tokens counted beyond the baseline's: more than 1 % of a prompt, or more than 20 a request.

    The slope over the baseline's count is tested by Kendall's tau of what is left beyond 1 %, with the interval of
    Theil and Sen (1968); the constant by the sign test of what is beyond 20. Either may show it, so both p-values are
    doubled. A small constant is noted: another version of the chat template.
    """
    rows = _prompts(run, label)
    if len(rows) < LEAST:
        return
    base, more = rows["input_tokens_one"], rows["input_tokens"] - rows["input_tokens_one"]
    beyond = int((more > REQUEST_LINE).sum())
    p_value, is_beyond, each = float(stats.binom.sf(beyond - 1, len(more), 0.5)), False, float(more.median())
    parts = []
    if base.nunique() > 2 and more.nunique() > 1:
        some = rows.sort_values("input_tokens_one").index[:: math.ceil(len(rows) / _MOST_FOR_SLOPE)]
        found = slope(base[some].to_numpy(float), more[some].to_numpy(float), TOKEN_LINE)
        is_beyond = found.low > TOKEN_LINE
        if is_beyond:
            each = float((more - found.value * base).median())
            parts = [f"{percent(found.value)} a token"]
        p_value = min(p_value, found.p_value)
    parts = [f"{each:.0f} a request"] * (abs(each) >= 1) + parts
    ratio = float(more.sum() / base.sum())
    text = f"Bills {percent(ratio)} more prompt tokens for the same requests ({' and '.join(parts)})"
    price = run.prices.get(label)
    if price is not None:
        paid, due = (costs_usd(each, price) for each in (rows, rows.assign(input_tokens=base)))
        known = paid.notna() & due.notna()
        if due[known].sum() > 0:
            text += f", which cost {percent(float(paid[known].sum() / due[known].sum()) - 1)} more"
    yield Test(
        vendor=label, facet="bill", name="more_prompt_tokens", text=f"{text}.",
        p_value=min(1.0, 2 * p_value), beyond=is_beyond or beyond > len(more) / 2,
        counts=bool((more > 0).any()), value=ratio, n=len(rows), samples=shown(_worst(rows, more)["sample"]),
    )  # fmt: skip
    is_alike = more.max() - more.min() <= REQUEST_LINE and (np.sign(more) == np.sign(each)).mean() >= 0.9
    if is_alike and 0 < abs(each) <= REQUEST_LINE:
        text = f"Counts {more.min():+.0f} to {more.max():+.0f} prompt tokens a request: another chat template."
        yield Test(
            vendor=label, facet="bill", name="template_tokens", text=text, status="matches", value=each, n=len(rows)
        )


def _output_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """More output tokens for as much text as the baseline's: signed ranks of the log ratio (Wilcoxon 1945), line 1 %.

    Compared are answers to one question whose lengths are alike; ``_END_TOKENS`` are granted, and answers that bill
    reasoning are left out, because nobody sees how much there was.
    """
    if run.baseline is None:
        return
    rows = run.triples(label)
    sides = ("", "_one", "_two") if run.asked_twice else ("", "_one")
    lengths = [rows[f"characters{side}"] for side in sides]
    tokens = [rows[f"output_tokens{side}"] for side in sides]
    fits = pd.Series(True, index=rows.index)
    for side, length, count in zip(sides, lengths, tokens, strict=True):
        fits &= (length > _LEAST_CHARACTERS) & (count > 0) & ~(rows[f"reasoning_tokens{side}"] > 0)
        fits &= (rows["called"] == rows[f"called{side}"]) & lengths[0].between(
            length / _MOST_UNLIKE, length * _MOST_UNLIKE
        )
    if fits.sum() < LEAST:
        return
    tokens[0] = (tokens[0] - _END_TOKENS).clip(lower=1)
    own, *base = (pd.Series(np.log((count / length)[fits])) for count, length in zip(tokens, lengths, strict=True))
    excess = own - sum(base) / len(base)
    more, low, high = (math.expm1(end) for end in quantile(np.asarray(excess, dtype=np.float64), 0.5))
    yield Test(
        vendor=label, facet="bill", name="more_output_tokens",
        text=f"Bills {percent(more)} more output tokens for as much text ({len(excess)} answers compared).",
        p_value=float(stats.wilcoxon(excess - math.log1p(TOKEN_LINE), alternative="greater").pvalue),
        beyond=low > TOKEN_LINE, counts=bool((excess > 0).any()), value=more, low=low, high=high, n=len(excess),
        samples=shown(_worst(rows[fits], excess)["sample"]),
    )  # fmt: skip


def _hidden_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers that bill more output tokens than their text can hold, where the baseline's do not."""
    own, is_hidden = _answers_with(run, label, "tokens_not_shown")
    _, base = _answers_with(run, run.baseline, "tokens_not_shown")
    if len(base) and is_hidden.sum() >= 3 and is_hidden.mean() > base.mean() + MONEY_LINE:
        text = f"{is_hidden.sum()} of {len(own)} answers bill more output tokens than their text can hold"
        text += f"; {base.sum()} of {len(base)} at the baseline."
        yield Test(
            vendor=label, facet="bill", name="hidden_tokens", text=text, value=float(is_hidden.mean()), n=len(own),
            samples=shown(own["sample"][is_hidden]),
        )  # fmt: skip


def _answers_with(run: ModelRun, label: str | None, anomaly: str) -> tuple[pd.DataFrame, pd.Series[bool]]:
    rows = run.records.iloc[:0] if label is None else run.rows[label][run.rows[label]["ok"]]
    return rows, rows["anomalies"].astype(object).fillna("").str.contains(anomaly, regex=False).astype(bool)


def _cached_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """More cached tokens than the prompt has."""
    impossible = [rows[rows["cached_tokens"] > rows["input_tokens"]] for rows in (run.rows[label], _base(run))]
    if len(impossible[0]) and not len(impossible[1]):
        text = f"{counted(len(impossible[0]), 'answer')} claim more cached tokens than the prompt has."
        yield Test(
            vendor=label, facet="bill", name="cached_tokens", text=text, status="check", n=len(run.rows[label]),
            value=float(len(impossible[0])), samples=shown(impossible[0]["sample"]),
        )  # fmt: skip


def _base(run: ModelRun) -> pd.DataFrame:
    return run.records.iloc[:0] if run.baseline is None else run.rows[run.baseline]


def _failed_attempts(run: ModelRun, label: str) -> Iterator[Test]:
    """Noted: tokens of attempts that gave no answer, as the vendor itself reports them."""
    spent = run.attempts[run.attempts["label"] == label]
    lost = float(spent["input_tokens"].sum() + spent["output_tokens"].sum())
    rows = run.rows[label][run.rows[label]["ok"]]
    whole = lost + float(rows["input_tokens"].sum() + rows["output_tokens"].sum())
    if lost > MONEY_LINE * whole:
        text = f"{percent(lost / whole)} of the tokens it reports are of attempts that gave no answer."
        yield Test(vendor=label, facet="bill", name="failed_attempts", text=text, status="matches", value=lost / whole)


def _charged(run: ModelRun, label: str) -> Iterator[Test]:
    """What the vendor says it charged, against the price list: a fact beyond 5 %."""
    money = run.money.get(label)
    if money is None or money.reported_ratio is None or abs(money.reported_ratio - 1) <= MONEY_LINE:
        return
    ratio, full = money.reported_ratio, money.undiscounted_ratio
    text = f"Charges {percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} than its price list"
    text += ": cached tokens at the full price." if full is not None and abs(full - 1) <= TOKEN_LINE else "."
    yield Test(
        vendor=label, facet="bill", name="charged", text=text, status="differs" if ratio > 1 else "matches",
        value=ratio - 1, n=money.requests,
    )  # fmt: skip


def _worst(rows: pd.DataFrame, by: pd.Series[float]) -> pd.DataFrame:
    return rows.loc[by.sort_values(ascending=False, kind="stable").index]
