"""Small runs of one model as the frames that findings read: a baseline asked twice, and vendors that equal it.

``model_run`` makes honest vendors; ``altered`` changes columns of one of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.records.results import VendorResult
from vendor_verifier.scoring.answer import AnswerText
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, RECORD_COLUMNS, Column

MODEL, BASELINE = "m", "official"
# What a failure leaves unknown.
_ANSWER = (
    "classes", "finish", "served_model", "fingerprint", "ttft_ms", "e2e_ms", "decode_s", "tokens_after", "input_tokens",
    "output_tokens", "characters", "call_digest",
)  # fmt: skip


def model_run(n: int = 315, vendors: Sequence[str] = ("v",), repeats: int = 2, seed: int = 0) -> ModelRun:
    """A run in which nobody fails. Half of the samples call a tool; 2 % of decisions and arguments differ by chance."""
    rng = np.random.default_rng(seed)
    labels = (BASELINE, *vendors)
    parts: list[pd.DataFrame] = []
    texts: dict[str, dict[tuple[str, str], dict[int, AnswerText]]] = {}
    for label in labels:
        texts[label] = {("trigger", f"s{i}"): {} for i in range(n)}
        for repetition in range(repeats if label == BASELINE else 1):
            parts.append(_answers(rng, n, label, repetition))
            for i, wording in enumerate(rng.integers(0, 4, n)):
                text = f"{i:>40}" * 2 + "abcd"[wording] * 40
                texts[label]["trigger", f"s{i}"][repetition] = AnswerText(text, "", "")
    return ModelRun(
        model=MODEL, baseline=BASELINE, labels=labels, records=typed(pd.concat(parts, ignore_index=True)),
        attempts=typed(pd.DataFrame(), ATTEMPT_COLUMNS),
        apart=typed(pd.DataFrame()), planned={label: n * (repeats if label == BASELINE else 1) for label in labels},
        model_ids=dict.fromkeys(labels, MODEL), texts=texts,
    )  # fmt: skip


def _answers(rng: np.random.Generator, n: int, label: str, repetition: int) -> pd.DataFrame:
    at = np.arange(n)
    called = (at % 2 == 0) ^ (rng.random(n) < 0.02)
    ttft, decode, tokens = 400 * rng.lognormal(0, 0.3, n), 0.5 * rng.lognormal(0, 0.2, n), 30 + at % 20
    return pd.DataFrame({
        "model": MODEL, "label": label, "suite": "trigger", "sample": [f"s{i}" for i in at], "repetition": repetition,
        "sent_s": 1.8e9 + at + 0.3 * repetition, "ended_s": 1.8e9 + at + 1, "ok": True, "turns": 1, "attempts": 1,
        "resent": 0, "retried": False, "decision": np.where(called, "called", "not_called"), "calls": called * 1,
        "classes": pd.Series("valid", at).where(called), "offered": True, "finish": "stop", "served_model": MODEL,
        "ttft_ms": ttft, "ttfat_ms": ttft, "e2e_ms": ttft + 1e3 * decode, "decode_s": decode,
        "tokens_after": tokens - 1,
        "input_tokens": 100 + 10 * (at % 50), "output_tokens": tokens, "cached_tokens": 0, "reasoning_tokens": 0,
        "characters": 4 * tokens, "call_digest": np.where(called, at + (rng.random(n) < 0.02) / 2, np.nan),
        "late_ms": 0.1,
    })  # fmt: skip


def typed(rows: pd.DataFrame, columns: Sequence[Column] = RECORD_COLUMNS) -> pd.DataFrame:
    """The rows with every column of a frame, in its dtype."""
    missing = {each.name: np.nan if each.dtype.startswith("float") else None for each in columns}
    whole = rows.assign(**{name: value for name, value in missing.items() if name not in rows})
    return whole[[each.name for each in columns]].astype({each.name: each.dtype for each in columns})


def altered(run: ModelRun, label: str, places: Any = slice(None), **columns: Any) -> ModelRun:
    """The run with columns of a vendor's records changed, at these places in the order of sending.

    A function gets the column's values as numbers.
    """
    records = run.records.astype(object)
    index = run.rows[label].index[places]
    for name, value in columns.items():
        records.loc[index, name] = value(run.records.loc[index, name].to_numpy()) if callable(value) else value
    return dataclasses.replace(run, records=typed(records))


def failing(run: ModelRun, label: str, places: Any, kind: str = "http_5xx", charge: str = "vendor") -> ModelRun:
    """The run in which these requests of a vendor failed."""
    unknown = dict.fromkeys(_ANSWER, np.nan)
    return altered(run, label, places, ok=False, failure=kind, charge=charge, decision="undecided", calls=0, **unknown)


def results(run: ModelRun, **more: Any) -> dict[str, VendorResult]:
    """The results of every vendor, as far as verdicts and gates read them."""
    return {
        label: VendorResult(label=label, vendor=label, model_id=MODEL, planned=run.planned[label], **more)
        for label in run.labels
    }
