"""Rows and speeds that say nothing of a vendor, which are set aside before any figure is made.

- Answers of another provider than the pinned one.
- The refusals of a vendor that refused our key or our credit for everything. Where it answered anything they stay
  failures, or a vendor could hide its failures behind them.
- Speeds of a faked stream, which is generated whole and then sent in pieces: the first token comes the later the longer
  the answer is, and the pieces follow faster than any model decodes. Each alone can be honest; together they are not.
- Speeds where many answers bill tokens that they do not show: the speed of the others would stand for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.scoring.answer import MOST_DISCARDED
from vendor_verifier.scoring.calls import of_words
from vendor_verifier.text import counted

EntryKey = tuple[str, str]

LEAST_ANSWERS = 30
# Honest vendors stayed below this correlation in 160 of 160 simulated runs.
_LEAST_CORRELATION, _MOST_P = 0.3, 0.001
# Tokens per second that no served model of a useful size reached, unless the baseline does.
_IMPLAUSIBLE_TPS, _TIMES_BASELINE = 300.0, 2.0


# Display names of OpenRouter that are not just another spelling of the slug.
_DISPLAY_NAMES: Mapping[str, Sequence[str]] = {
    "googlevertex": ("google", "vertex"),
    "moonshotai": ("moonshot",),
    "zai": ("zhipu",),
    "amazonbedrock": ("amazon", "bedrock", "aws"),
}


def set_misrouted_aside(
    records: pd.DataFrame, places: Mapping[EntryKey, Any], entries: Sequence[EntryInfo]
) -> list[str]:
    """Mark the answers of other providers than an entry's pinned one as ``misrouted``; returns warnings.

    If one other name served every answer, it is taken for an unknown spelling of the pin.
    """
    warnings = []
    misrouted = np.zeros(len(records), dtype=bool)
    for entry in entries:
        if entry.provider is None:
            continue
        own = places[entry.model, entry.label]
        served = records["provider"].iloc[own]
        others = [str(name) for name in served.dropna().unique() if not same_provider(entry.provider, str(name))]
        if not others:
            continue
        start = f"{entry.model}: {entry.label} is pinned to {entry.provider} and was served by {', '.join(others)}"
        if len(others) == 1 and served.dropna().nunique() == 1:
            warnings.append(f"{start}; taken for another spelling")
            continue
        strangers = served.isin(others).to_numpy()
        misrouted[own[strangers]] = True
        warnings.append(f"{start}; {counted(int(strangers.sum()), 'row')} left out")
    records["misrouted"] = misrouted
    return warnings


def same_provider(pin: str, served: str) -> bool:
    """Whether a router's name of a provider (``Google``, ``Novita AI``) can be the pinned slug (``google-vertex``).

    Spelling, a region or quantisation behind a slash, and a longer or shorter form of one name do not matter.
    """
    wanted, got = (re.sub("[^a-z0-9]", "", name.partition("/")[0].casefold()) for name in (pin, served))
    if not wanted or not got:
        return True
    return wanted.startswith(got) or got.startswith(wanted) or got in _DISPLAY_NAMES.get(wanted, ())


def excuse_refused_access(records: pd.DataFrame, places: Mapping[EntryKey, Any]) -> None:
    """Charge no row to a vendor that refused our key or credit whenever it was asked."""
    for own in places.values():
        charges = records["charge"].iloc[own]
        found = set(charges.dropna().unique())
        if charges.notna().all() and "account" in found and found <= {"account", "us", "unasked"}:
            excused = records["charge"].astype(object).to_numpy(copy=True)
            excused[own] = "us"
            records["charge"] = pd.Categorical(excused)


def withhold_speeds(
    records: pd.DataFrame, places: Mapping[EntryKey, Any], baselines: Mapping[str, str]
) -> dict[EntryKey, str]:
    """Remove the decoding speeds that say nothing; returns the reasons. ``baselines`` are labels by model.

    A baseline is taken not to fake its streams: it is what others are compared with.
    """
    reasons: dict[EntryKey, str] = {}
    names = ["ttft_ms", "input_tokens", "output_tokens", "reasoning_tokens", "tokens_after", "decode_s", "misrouted"]
    for (model, label), own in places.items():
        rows = records[names].iloc[own]
        rows = rows[~rows["misrouted"]]
        hidden = of_words(records["anomalies"].iloc[own], lambda words: float("tokens_not_shown" in words)).sum()
        if hidden > MOST_DISCARDED * (hidden + rows["decode_s"].count()):
            reasons[model, label] = "many answers bill more output tokens than they show"
            continue
        baseline = places.get((model, baselines.get(model, "")))
        reference = None if baseline is None else records[names].iloc[baseline]
        if label != baselines.get(model) and faked_stream(rows, reference) is not None:
            reasons[model, label] = "its answers were finished before they were streamed"
    for key in reasons:
        for name in ("tokens_after", "decode_s"):
            values = records[name].to_numpy(copy=True)
            values[places[key]] = np.nan
            records[name] = values
    return reasons


class FakedStream(NamedTuple):
    """The rank correlation of first token and answer length, its p-value, the answers, and their median speed."""

    correlation: float
    p_value: float
    n: int
    tps: float


def faked_stream(rows: pd.DataFrame, baseline: pd.DataFrame | None) -> FakedStream | None:
    """The signs that a vendor's streams are faked; None where there are none, or it thinks before it answers.

    A partial rank correlation given the length of the prompt: Spearman's of the residuals of ranks (one-sided t-test).
    """
    known = rows[rows["ttft_ms"].notna() & rows["output_tokens"].notna()]
    tps = float((rows["tokens_after"] / rows["decode_s"]).median())
    usual = 0.0 if baseline is None else float((baseline["tokens_after"] / baseline["decode_s"]).median())
    is_fast = tps > max(_IMPLAUSIBLE_TPS, _TIMES_BASELINE * (0.0 if np.isnan(usual) else usual))
    if len(known) < LEAST_ANSWERS or not is_fast or (rows["reasoning_tokens"] > 0).any():
        return None
    asked = known["input_tokens"].fillna(0).rank()
    first, length = (_without(known[name].rank(), asked) for name in ("ttft_ms", "output_tokens"))
    if np.ptp(first) == 0 or np.ptp(length) == 0:
        return None
    found: Any = stats.pearsonr(first, length, alternative="greater")
    is_faked = found.statistic > _LEAST_CORRELATION and found.pvalue < _MOST_P
    return FakedStream(float(found.statistic), float(found.pvalue), len(known), tps) if is_faked else None


def _without(ranks: Any, given: Any) -> Any:
    """What is left of ranks when their line on others is taken away."""
    return ranks - np.polyval(np.polyfit(given, ranks, 1), given) if np.ptp(given) else ranks - ranks.mean()
