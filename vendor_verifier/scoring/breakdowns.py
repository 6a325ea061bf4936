"""Tables of a run beyond the figures that rank: times, groups of samples, pace and goodput.

They take the rows of one model as figures read them (``Scored.records`` without the misrouted ones).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vendor_verifier.findings.gates import Gate, meets
from vendor_verifier.records.failures import UNCOUNTED
from vendor_verifier.scoring.answer import MOST_DISCARDED
from vendor_verifier.scoring.metrics import REQUEST_VALUES
from vendor_verifier.scoring.table import has_word

_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_SPREADS = ("ttft_ms", "ttft_due_ms", "ttfat_ms", "tpot_ms", "request_tps", "e2e_ms", "connect_ms")


def distributions(records: pd.DataFrame) -> pd.DataFrame:
    """Rows (label, metric): n, mean, p50, p90, p95, p99, min, max; metrics that nobody was measured on are left out.

    Percentiles interpolate between closest ranks (Hyndman–Fan type 7). Where more than 20 % of a vendor's times were
    discarded the rest look too fast, so n is 0.
    """
    parts = []
    for metric in _SPREADS:
        of, name = REQUEST_VALUES[metric]
        late = has_word(records["discarded"], name)
        parts.append(pd.DataFrame({"label": records["label"], "metric": metric, "value": of(records), "late": late}))
    groups = pd.concat(parts).groupby(["label", "metric"], sort=False, observed=True)
    values = groups["value"]
    counts, discarded = values.count(), groups["late"].sum()
    table: pd.DataFrame = values.agg(["mean", "min", "max"])
    for name, share in _SHARES.items():
        table[name] = values.quantile(share)
    is_lost = discarded > MOST_DISCARDED * (discarded + counts)
    table = table.mask(is_lost)
    table["n"] = counts.mask(is_lost, 0)
    is_measured = counts.groupby("metric").transform("sum") > 0
    return table.loc[is_measured, ["n", "mean", *_SHARES, "min", "max"]].sort_index(level=0, sort_remaining=False)


def regions(records: pd.DataFrame) -> pd.DataFrame:
    """Rows (label, region): asked, success_rate and the medians of TTFT and E2E; empty where no worker names one."""
    own = records[~records["charge"].isin(UNCOUNTED) & records["region"].notna()]
    groups = own.groupby(["label", "region"], observed=True)
    return groups.agg(
        asked=("ok", "size"), success_rate=("ok", "mean"), ttft_ms=("ttft_ms", "median"), e2e_ms=("e2e_ms", "median")
    )


def group_scores(
    evaluations: pd.DataFrame, records: pd.DataFrame
) -> dict[tuple[str, str, str], dict[str, dict[str, dict[str, float]]]]:
    """(model, label, suite) → category, difficulty or call type → its name → the mean of each value."""
    keys = ["model", "label", "suite"]
    groups = ["category", "difficulty", "call_type"]
    joined = evaluations.join(records[[*keys, *groups, "charge"]], on="record", how="inner")
    joined = joined[~joined["charge"].isin(UNCOUNTED)]
    found: dict[tuple[str, str, str], dict[str, dict[str, dict[str, float]]]] = {}
    for group in groups:
        means = joined.groupby([*keys, group, "name"], observed=True)["value"].mean().dropna()
        for key, value in means.items():
            model, label, suite, name, metric = map(str, key)  # type: ignore[call-overload]
            by_group = found.setdefault((model, label, suite), {}).setdefault(group, {})
            by_group.setdefault(name, {})[metric] = float(value)
    return found


def pace(records: pd.DataFrame, attempts: pd.DataFrame, *, counts_idle: bool = False) -> pd.DataFrame:
    """By label: requests sent, the seconds from the first until the last ended, requests, answers and output tokens a
    second, and requests in flight on average and at most. ``seconds`` leaves out time in which nothing was in flight,
    as where vendors take turns or a run is resumed; with ``counts_idle`` it does not, as requests of a rate wait."""
    found = {}
    for label, rows in records[records["sent_s"].notna()].groupby("label", observed=True):
        answers, tried = rows[rows["ok"]], attempts[attempts["label"] == label]
        begins = np.append(answers["ended_s"] - answers["e2e_ms"].fillna(0) / 1e3, tried["sent_s"])
        ends = np.append(answers["ended_s"], tried["sent_s"] + tried["seconds"])
        spans = np.stack([begins, ends])[:, ~np.isnan(begins + ends)]
        begins, ends = spans[:, spans[0].argsort(kind="stable")]
        reached = np.maximum.accumulate(np.append(-np.inf, ends))[:-1]
        busy = float(np.clip(ends - np.maximum(begins, reached), 0, None).sum())
        seconds = float(np.ptp(spans)) if counts_idle and spans.size else busy
        moments, places = np.unique(np.append(begins, ends), return_inverse=True)
        steps = np.bincount(places, np.repeat([1, -1], len(begins)), len(moments))
        found[label] = {
            "requests": len(begins),
            "seconds": seconds,
            "requests_per_s": len(begins) / (seconds or np.nan),
            "answers_per_s": len(answers) / (seconds or np.nan),
            "tokens_per_s": answers["output_tokens"].sum(min_count=1) / (seconds or np.nan),
            "in_flight": (ends - begins).sum() / (seconds or np.nan),
            "most_in_flight": int(steps.cumsum().max(initial=0)),
        }
    return pd.DataFrame.from_dict(found, orient="index")


def goodput(records: pd.DataFrame, slos: Sequence[Gate]) -> pd.DataFrame:
    """By label: asked, good, failed, unmeasured and their ``share`` good ÷ asked.

    A request is good when it succeeded and keeps every SLO; unmeasured when it breaks none and some cannot be measured.
    It is not asked where only our own lateness kept it from being measured, or where nothing was sent.
    """
    own = records[~records["charge"].isin(UNCOUNTED)]
    kept, broken, late = own["ok"].copy(), ~own["ok"], pd.Series(False, index=own.index)
    for slo in slos:
        of, name = REQUEST_VALUES[slo.metric]
        met = meets(slo, of(own))
        kept &= met == 1
        broken |= met == 0
        late |= has_word(own["discarded"], name)
    unknown = ~kept & ~broken
    table = own[["label"]].assign(
        asked=~(late & unknown), good=kept, failed=~own["ok"], unmeasured=own["ok"] & unknown & ~late
    )
    sums = table.groupby("label", observed=True).sum()
    sums["share"] = sums["good"] / sums["asked"].where(sums["asked"] > 0)
    return sums
