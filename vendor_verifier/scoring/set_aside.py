"""Rows and speeds that say nothing about a vendor are set aside before any figure is made.

The speed of a faked stream, which is generated whole and then sent in pieces, is not the model's. Where many answers
bill tokens that they do not show, the speed of the others does not represent all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

from vendor_verifier.records.failures import UNREACHED
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.scoring.answer import MOST_DISCARDED, EntryKey
from vendor_verifier.scoring.table import has_word
from vendor_verifier.text import counted

LEAST_ANSWERS = 30
# Honest vendors stayed below this correlation in 160 of 160 simulated runs.
_LEAST_CORRELATION, _MOST_P = 0.3, 0.001
# Tokens per second that no served model of a useful size reached, unless the baseline does.
_IMPLAUSIBLE_TPS, _TIMES_BASELINE = 300.0, 2.0


# Display names of OpenRouter that are not just another spelling of the slug.
_DISPLAY_NAMES = {"googlevertex": ("vertex",), "zai": ("zhipu",), "amazonbedrock": ("bedrock", "aws")}


def set_misrouted_aside(
    records: pd.DataFrame, places: Mapping[EntryKey, Any], entries: Sequence[EntryInfo]
) -> list[str]:
    """Mark the answers of other providers than an entry's pinned one as ``misrouted``; returns warnings.

    If one other name served every answer, it is taken for an unknown spelling of the pin.
    """
    warnings = []
    misrouted = np.zeros(len(records), dtype=bool)
    for entry in entries:
        own = places[entry.model, entry.label]
        served = records["provider"].iloc[own]
        names = served.dropna().unique()
        others = [str(name) for name in names if not same_provider(entry.provider or "", str(name))]
        if not others:
            continue
        what = "read as another spelling of it"
        if len(names) > 1:
            strangers = served.isin(others).to_numpy()
            misrouted[own[strangers]] = True
            what = f"{counted(int(strangers.sum()), 'row')} left out"
        pinned = f"{entry.model}: {entry.label} is pinned to {entry.provider}"
        warnings.append(f"{pinned} and was served by {', '.join(others)}; {what}")
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


def charge_access(records: pd.DataFrame, places: Mapping[EntryKey, Any]) -> None:
    """Charge no row to a vendor that refused our key or credit whenever it was asked, and what was not sent to one that
    was stopped because nobody was there."""
    whole = records["charge"].astype(object)
    for own in places.values():
        charges = whole.iloc[own]
        found = set(charges.dropna())
        is_away = ((charges == "vendor") & records["failure"].iloc[own].isin(UNREACHED)).any()
        if charges.notna().all() and "account" in found and found <= {"account", "us", "unasked"}:
            whole.iloc[own] = "us"
        elif is_away and not found & {"account", "rate_limit"}:
            whole.iloc[own] = charges.replace("unasked", "vendor")
    records["charge"] = whole.astype("category")


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
        hidden = has_word(records["anomalies"].iloc[own], "tokens_not_shown").sum()
        if hidden > MOST_DISCARDED * (hidden + rows["decode_s"].count()):
            reasons[model, label] = "many answers bill more output tokens than they show"
            continue
        baseline = places.get((model, baselines.get(model, "")))
        reference = None if baseline is None else records[names].iloc[baseline]
        if label != baselines.get(model) and is_faked(rows, reference):
            reasons[model, label] = "its answers were finished before they were streamed"
    for key in reasons:
        records.loc[records.index[places[key]], ["tokens_after", "decode_s"]] = np.nan
    return reasons


def is_faked(rows: pd.DataFrame, baseline: pd.DataFrame | None) -> bool:
    """Whether a vendor's streams are faked; not where it thinks before it answers.

    Spearman's rank correlation of first token and answer length, with that of the prompt's length taken out.
    """
    known = rows.dropna(subset=["ttft_ms", "output_tokens"])
    speed = (rows["tokens_after"] / rows["decode_s"]).median()
    usual = np.nan if baseline is None else (baseline["tokens_after"] / baseline["decode_s"]).median()
    is_fast = speed > np.fmax(_IMPLAUSIBLE_TPS, _TIMES_BASELINE * usual)
    if len(known) < LEAST_ANSWERS or not is_fast or (rows["reasoning_tokens"] > 0).any():
        return False
    ranks = known[["ttft_ms", "output_tokens", "input_tokens"]].rank()
    asked = ranks["input_tokens"].fillna(0)
    if np.ptp(asked):
        ranks = ranks.apply(lambda column: column - np.polyval(np.polyfit(asked, column.fillna(0), 1), asked))
    if not np.ptp(ranks["ttft_ms"]) or not np.ptp(ranks["output_tokens"]):
        return False
    found: Any = scipy.stats.pearsonr(ranks["ttft_ms"], ranks["output_tokens"], alternative="greater")
    return bool(found.statistic > _LEAST_CORRELATION and found.pvalue < _MOST_P)
