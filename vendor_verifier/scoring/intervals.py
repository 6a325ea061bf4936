"""95 % intervals of the ranked metrics and of IRF: one bootstrap over blocks of samples for all vendors."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from vendor_verifier.records.failures import UNCOUNTED
from vendor_verifier.records.manifest import SchemaPolicy, Undecided
from vendor_verifier.records.results import ModelResult
from vendor_verifier.scoring.metrics import K, is_higher_better
from vendor_verifier.scoring.table import judged_calls
from vendor_verifier.stats.intervals import bootstrap, wilson

# With fewer blocks the percentiles of a bootstrap are too narrow.
FEWEST_BLOCKS = 8
RATIOS: Mapping[str, tuple[str, str]] = {
    "success_rate": ("succeeded", "asked"),
    "f1": ("hits", "decided"),
    "schema_accuracy": ("valid", "counted"),
    "avg_tokens": ("tokens", "billed"),
    "avg_ttft_ms": ("waited", "timed"),
    "tps": ("after", "seconds"),
}
"""Each metric as a ratio of two sums."""
# Shares, with the terms that one observation adds to the lower sum.
SHARES = {"success_rate": 1, "f1": 2, "schema_accuracy": 1}
Floats = NDArray[np.float64]


def intervals(
    model: ModelResult, records: pd.DataFrame, undecided: Undecided = "missed", policy: SchemaPolicy = "lenient"
) -> dict[str, dict[str, tuple[float, float]]]:
    """Label → metric → low, high, over blocks of 25 samples; nothing where there are fewer than eight.

    ``records`` are the model's rows of the evaluations that rank; ``undecided`` and ``policy`` are those of F1 and
    of schema accuracy. A share of exactly 0 or 1 has Wilson's interval. A figure that these sums do not give (times
    from a schedule, an IRF of more metrics) has none.
    """
    labels, names = list(model.vendors), [name for ratio in RATIOS.values() for name in ratio]
    terms = _terms(model, records, undecided, policy)
    blocks = terms.groupby(["block", "label"], observed=True)[names].sum().unstack("label")
    if len(blocks) < FEWEST_BLOCKS:
        return {}
    sums = pd.DataFrame(blocks, columns=pd.MultiIndex.from_product([names, labels])).fillna(0.0).to_numpy()
    known = np.array([[vendor.metric(name) is not None for vendor in model.vendors.values()] for name in RATIOS])
    known &= np.array([[name not in model.unranked] for name in RATIOS])
    known &= sums.sum(axis=0).reshape(len(RATIOS), 2, len(labels))[:, 1] > 0
    signs = np.array([[-1.0] if is_higher_better(name) else [1.0] for name in RATIOS])

    def metrics(totals: Floats) -> Floats:
        """Of rows of totals the metrics and IRF: resamples × (metrics + 1) × labels."""
        parts = totals.reshape(len(totals), len(RATIOS), 2, len(labels))
        # A draw of blocks in which a vendor was never measured has no value of it.
        unknown = np.where(known, np.nan, 0.0)
        values = np.where(parts[:, :, 1] > 0, parts[:, :, 0] / np.maximum(parts[:, :, 1], 1e-12), unknown)
        ranks = scipy.stats.rankdata(np.where(known, values * signs, np.nan), axis=2, nan_policy="omit")
        return np.concatenate([values, np.nansum(1 / (ranks + K), axis=1, keepdims=True)], axis=1)

    whole, (low, high) = metrics(sums.sum(axis=0, keepdims=True))[0], bootstrap(sums, metrics)
    found: dict[str, dict[str, tuple[float, float]]] = {label: {} for label in labels}
    for column, (label, vendor) in enumerate(model.vendors.items()):
        for row, metric in enumerate([*RATIOS, "irf"]):
            value, is_given = vendor.metric(metric), metric == "f1" and label == model.baseline
            if value is None or is_given or not math.isclose(value, whole[row, column], rel_tol=0.01):
                continue
            found[label][metric] = float(low[row, column]), float(high[row, column])
            if metric in SHARES and value in (0.0, 1.0):
                n = float(sums[:, (2 * row + 1) * len(labels) + column].sum()) / SHARES[metric]
                found[label][metric] = wilson(value * n, n)
    return found


def _terms(model: ModelResult, records: pd.DataFrame, undecided: Undecided, policy: SchemaPolicy) -> pd.DataFrame:
    tokens = records["input_tokens"] + records["output_tokens"]
    # F1 = 2·TP ÷ (2·TP + FP + FN), against the share of the baseline's answers that call.
    called, failed = records["decision"] == "called", records["decision"] == "undecided"
    base = (records["label"] == model.baseline) & ~failed
    of_base = called.astype(float).where(base)
    valid, counted = judged_calls(records["classes"], policy)
    asked = ~records["charge"].isin(UNCOUNTED)
    share = of_base.groupby([records["suite"], records["sample"]], observed=True).transform("mean")
    counts = share.notna() & asked & (~failed | (undecided == "missed"))
    return records[["block", "label"]].assign(
        succeeded=records["ok"],
        asked=asked,
        hits=np.where(counts & called, 2 * share, 0.0),
        decided=np.where(counts, np.where(failed, 1.0, called + share), 0.0),
        valid=valid,
        counted=counted,
        tokens=tokens.fillna(0.0),
        billed=tokens.notna(),
        waited=records["ttft_ms"].fillna(0.0),
        timed=records["ttft_ms"].notna(),
        after=records["tokens_after"].where(records["decode_s"].notna(), 0.0),
        seconds=records["decode_s"].fillna(0.0),
    )
