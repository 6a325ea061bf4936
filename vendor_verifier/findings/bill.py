"""Is the bill that of what was asked and answered? Token counts against the baseline's, and money against prices.

The same prompt has as many tokens everywhere if template and tokenizer are the same. Prompts that our wire put in other
words for one side are left out. What a buyer pays more is given as the ratio of the sums over the same requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import scipy

from vendor_verifier.findings.base import ModelRun, Reach, Test, compared, hit_more_often, percent, shown
from vendor_verifier.scoring.money import costs_usd
from vendor_verifier.scoring.table import has_word
from vendor_verifier.stats.compare import Comparison, slope
from vendor_verifier.stats.intervals import mean_interval, median_interval
from vendor_verifier.text import counted

LEAST = 12
TOKEN_LINE, REQUEST_LINE, MONEY_LINE = 0.01, 20.0, 0.05
# A slope over more prompts is taken over evenly spaced ones.
_MOST_FOR_SLOPE = 1_500
# Tokens at the end of an answer that some hosts count and others do not.
_END_TOKENS = 2
# Shorter answers, and those of another kind than the baseline's (code, calls, prose), are not compared by length.
_LEAST_CHARACTERS, _MOST_UNLIKE = 20, 1.5


def reach(run: ModelRun, label: str) -> Reach:
    """Whether the vendor's prompt tokens could be compared with the baseline's."""
    n = len(_pairs(run, label, "input_tokens"))
    if n >= LEAST:
        return Reach(True, f"1 % more prompt tokens would have been seen ({counted(n, 'prompt')}).", n)
    few = f"both sides report tokens for {counted(n, 'prompt')}; {LEAST} are needed" if n else "no answers to compare"
    return Reach(False, run.hindrance(label) or run.asked_otherwise(label) or few, n)


def _pairs(run: ModelRun, label: str, column: str) -> pd.DataFrame:
    """Answers for which vendor and baseline report these tokens; in a conversation they depend on what was answered."""
    rows = run.triples[label]
    return rows[(rows["turns"] == 1) & (rows["turns_one"] == 1) & (rows[column] > 0) & (rows[f"{column}_one"] > 0)]


def prompt_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """Tokens counted beyond the baseline's: more than 1 % of a prompt, or more than 20 a request.

    The slope over the baseline's count is tested by Kendall's tau of what is left beyond 1 %, with the interval of
    Theil and Sen (1968); the constant by the sign test of what is beyond 20. Either may show it, so both p-values are
    doubled. A small constant is noted: another version of the chat template.
    """
    rows = _pairs(run, label, "input_tokens")
    if len(rows) < LEAST:
        return
    base, more = rows["input_tokens_one"], rows["input_tokens"] - rows["input_tokens_one"]
    many = int((more > REQUEST_LINE).sum())
    p_value, each, is_sloped = float(scipy.stats.binom.sf(many - 1, len(more), 0.5)), float(more.median()), False
    parts = []
    if base.nunique() > 2 and more.nunique() > 1:
        some = rows.sort_values("input_tokens_one").index[:: math.ceil(len(rows) / _MOST_FOR_SLOPE)]
        line = slope(base[some].to_numpy(float), more[some].to_numpy(float), TOKEN_LINE)
        p_value, is_sloped = min(p_value, line.p_value), line.low > TOKEN_LINE
        if is_sloped:
            each = float((more - line.value * base).median())
            parts.append(f"{percent(line.value)} a token")
    ratio = mean_interval(more, base)
    value = float(more.sum() / base.sum())
    parts = [f"{each:.0f} a request"] * (abs(each) >= 1) + parts
    what = f"{percent(value)} more prompt tokens for the same" if value > 0 else "more prompt tokens for most"
    text = f"Bills {what} requests" + (f" ({' and '.join(parts)})" if parts else "")
    price = run.prices.get(label)
    paid = due = 0.0
    if price is not None:
        paid, due = (float(costs_usd(side, price).sum()) for side in (rows, rows.assign(input_tokens=base)))
    text += f", which cost {percent(paid / due - 1)} more." if paid > due > 0 else "."
    yield Test(
        "bill", "more_prompt_tokens", text, p_value=min(1.0, 2 * p_value), beyond=is_sloped or many > len(more) / 2,
        counts=bool((more > 0).any()), value=value, low=ratio.low, high=ratio.high, n=len(rows),
        samples=shown(rows, more),
    )  # fmt: skip
    is_alike = more.max() - more.min() <= REQUEST_LINE and (np.sign(more) == np.sign(each)).mean() >= 0.9
    if is_alike and 0 < abs(each) <= REQUEST_LINE:
        text = f"Counts {more.min():+.0f} to {more.max():+.0f} prompt tokens per request: another chat template."
        yield Test("bill", "template_tokens", text, status="matches", value=each)


def output_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """More output tokens for as much text as the baseline's: signed ranks of the log ratio (Wilcoxon 1945), line 1 %.

    Compared are answers to one question whose lengths are similar; ``_END_TOKENS`` are granted, and answers that bill
    reasoning are left out, because nobody sees how much there was.
    """
    rows = _pairs(run, label, "output_tokens")
    rates = []
    for side in ("", "_one", "_two") if run.asked_twice else ("", "_one"):
        length, tokens = rows[f"characters{side}"], rows[f"output_tokens{side}"] - (0 if side else _END_TOKENS)
        is_alike = rows["characters"].between(length / _MOST_UNLIKE, length * _MOST_UNLIKE)
        is_alike &= (rows["called"] == rows[f"called{side}"]) & ~(rows[f"reasoning_tokens{side}"] > 0)
        rate = pd.Series(np.log(tokens.clip(lower=1) / length))
        rates.append(rate.where(is_alike & (length > _LEAST_CHARACTERS)))
    excess = (rates[0] - sum(rates[1:]) / len(rates[1:])).dropna()
    if len(excess) < LEAST:
        return
    value, low, high = (math.expm1(end) for end in median_interval(np.asarray(excess, dtype=np.float64)))
    text = f"Bills {percent(value)} more output tokens for the same amount of text ({len(excess)} answers compared)."
    # With ties the exact p-value of so few takes a second; the normal one is the more cautious.
    method = "asymptotic" if len(excess) <= 13 else "auto"
    beyond = excess - math.log1p(TOKEN_LINE)
    p_value = float(scipy.stats.wilcoxon(beyond, alternative="greater", method=method).pvalue)
    found, counts = Comparison(p_value, value, low, high, len(excess)), bool((excess > 0).any())
    samples = shown(rows, excess)
    yield compared("bill", "more_output_tokens", text, found, line=TOKEN_LINE, counts=counts, samples=samples)


def hidden_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers that bill more output tokens than their text can hold, more often than at the baseline."""
    text = "answers bill more output tokens than their text can hold"
    hidden = [has_word(rows["anomalies"], "tokens_not_shown") for rows in run.both(label)]
    return hit_more_often("bill", "hidden_tokens", text, run.answered[label], hidden, MONEY_LINE)


def cached_tokens(run: ModelRun, label: str) -> Iterator[Test]:
    """More cached tokens than the prompt has."""
    own, base = (rows[rows["cached_tokens"] > rows["input_tokens"]] for rows in (run.rows[label], run.reference))
    if len(own) and not len(base):
        text = f"{counted(len(own), 'answer')} with more cached tokens than the prompt has."
        n, value = len(run.rows[label]), float(len(own))
        yield Test("bill", "cached_tokens", text, status="check", value=value, n=n, samples=shown(own))


def charged(run: ModelRun, label: str) -> Iterator[Test]:
    """What the vendor says it charged, against the price list: a fact beyond 5 %."""
    money = run.money.get(label)
    if money is None or money.reported_ratio is None or money.reported < LEAST:
        return
    more = money.reported_ratio - 1
    if abs(more) <= MONEY_LINE:
        return
    text = f"Charges {percent(abs(more))} {'more' if more > 0 else 'less'} than its price list."
    yield Test("bill", "charged", text, status="differs" if more > 0 else "matches", value=more, n=money.reported)


TESTS = (prompt_tokens, output_tokens, hidden_tokens, cached_tokens, charged)
