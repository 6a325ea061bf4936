"""One model's part of a run: from a few columns by label, or of honest vendors, one of which is then altered."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.records.results import VendorResult
from vendor_verifier.scoring.answer import AnswerText
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, RECORD_COLUMNS, Column

BASE = "official"
_USUAL: Mapping[str, Any] = {
    "model": "m", "suite": "trigger", "repetition": 0, "ok": True, "attempts": 1, "turns": 1, "calls": 0,
    "decision": "not_called", "characters": 400.0, "input_tokens": 500.0, "output_tokens": 100.0,
}  # fmt: skip


def records(label: str, n: int, **columns: Any) -> pd.DataFrame:
    """``n`` records of a vendor, one a second, each of another sample unless ``sample`` says otherwise."""
    usual = {**_USUAL, "label": label, "sample": [f"s{number:04d}" for number in range(n)], "sent_s": range(n)}
    return typed(pd.DataFrame({**usual, **columns}, index=range(n)))


def attempts(label: str, n: int, **columns: Any) -> pd.DataFrame:
    """``n`` attempts of a vendor that gave no answer."""
    usual = {"model": "m", "label": label, "suite": "trigger", "billed": True}
    return typed(pd.DataFrame({**usual, **columns}, index=range(n)), ATTEMPT_COLUMNS)


def twice(n: int, **columns: Any) -> pd.DataFrame:
    """The baseline's records: every sample is asked twice, with equal answers."""
    both = [records(BASE, n, **{"repetition": again, **columns}) for again in (0, 1)]
    return pd.concat(both, ignore_index=True)


def model_run(*parts: pd.DataFrame, baseline: str | None = BASE, **more: Any) -> ModelRun:
    """The run of these records; checks and probes go to ``diagnostics``, other fields come by name."""
    whole = typed(pd.concat(parts, ignore_index=True))
    is_diagnostic = whole["suite"].isin(["probes", "contract"])
    labels = tuple(whole["label"].unique())
    fields: dict[str, Any] = {
        "model": "m",
        "baseline": baseline,
        "labels": labels,
        "records": whole[~is_diagnostic],
        "diagnostics": whole[is_diagnostic],
        "attempts": typed(pd.DataFrame(), ATTEMPT_COLUMNS),
        "planned": whole[~is_diagnostic].groupby("label", observed=True).size().to_dict(),
        "model_ids": dict.fromkeys(labels, "m"),
    }
    return ModelRun(**{**fields, **more})


# What a failure leaves unknown.
_ANSWER = (
    "classes", "finish", "served_model", "fingerprint", "ttft_ms", "e2e_ms", "decode_s", "tokens_after", "input_tokens",
    "output_tokens", "characters", "call_digest",
)  # fmt: skip


def honest_run(n: int = 315, vendors: Sequence[str] = ("v",), repeats: int = 2, seed: int = 0) -> ModelRun:
    """A run in which nobody fails. Half of the samples call a tool; 2 % of decisions and arguments differ by chance."""
    rng = np.random.default_rng(seed)
    labels = (BASE, *vendors)
    parts: list[pd.DataFrame] = []
    texts: dict[str, dict[tuple[str, str], dict[int, AnswerText]]] = {}
    for label in labels:
        texts[label] = {("trigger", f"s{i:04d}"): {} for i in range(n)}
        for repetition in range(repeats if label == BASE else 1):
            parts.append(_answers(rng, n, label, repetition))
            for i, wording in enumerate(rng.integers(0, 4, n)):
                text = f"{i:>40}" * 2 + "abcd"[wording] * 40
                texts[label]["trigger", f"s{i:04d}"][repetition] = AnswerText(text, "", "")
    return model_run(*parts, texts=texts)


def _answers(rng: np.random.Generator, n: int, label: str, repetition: int) -> pd.DataFrame:
    at = np.arange(n)
    called = (at % 2 == 0) ^ (rng.random(n) < 0.02)
    ttft, decode, tokens = 400 * rng.lognormal(0, 0.3, n), 0.5 * rng.lognormal(0, 0.2, n), 30 + at % 20
    return records(
        label, n, repetition=repetition, sent_s=1.8e9 + at + 0.3 * repetition, ended_s=1.8e9 + at + 1,
        resent=0, decision=np.where(called, "called", "not_called"), calls=called * 1,
        classes=pd.Series("valid", at).where(called), offered=True, finish="stop", served_model="m",
        ttft_ms=ttft, ttfat_ms=ttft, e2e_ms=ttft + 1e3 * decode, decode_s=decode, tokens_after=tokens - 1,
        input_tokens=100 + 10 * (at % 50), output_tokens=tokens, cached_tokens=0, reasoning_tokens=0,
        characters=4 * tokens, call_digest=np.where(called, at + (rng.random(n) < 0.02) / 2, np.nan), late_ms=0.1,
    )  # fmt: skip


_NOTHING = pd.CategoricalDtype(pd.Index([], dtype=object))


def typed(rows: pd.DataFrame, columns: Sequence[Column] = RECORD_COLUMNS) -> pd.DataFrame:
    """The rows with every column of a frame, in its dtype."""
    whole: dict[str, Any] = {}
    for name, dtype in ((each.name, each.dtype) for each in columns):
        if name in rows:
            whole[name] = rows[name].astype(dtype).array
        elif dtype == "category":
            whole[name] = pd.Categorical.from_codes(np.full(len(rows), -1), dtype=_NOTHING)
        else:
            whole[name] = np.full(len(rows), np.nan if dtype.startswith("float") else 0, dtype)
    return pd.DataFrame(whole, index=rows.index)


def altered(run: ModelRun, label: str, places: Any = slice(None), **columns: Any) -> ModelRun:
    """The run with columns of a vendor's records changed at these places; a function gets the values as numbers."""
    records = run.records.copy()
    index = run.rows[label].index[places]
    for name, value in columns.items():
        changed = records[name].astype(object)
        changed.loc[index] = value(records.loc[index, name].to_numpy()) if callable(value) else value
        records[name] = changed
    return dataclasses.replace(run, records=typed(records))


def failing(run: ModelRun, label: str, places: Any, kind: str = "http_5xx", charge: str = "vendor") -> ModelRun:
    """The run in which these requests of a vendor failed."""
    unknown = dict.fromkeys(_ANSWER, np.nan)
    return altered(run, label, places, ok=False, failure=kind, charge=charge, decision="undecided", calls=0, **unknown)


def results(run: ModelRun, **more: Any) -> dict[str, VendorResult]:
    """The results of every vendor, as far as verdicts and gates read them."""
    return {
        label: VendorResult(label=label, vendor=label, model_id="m", planned=run.planned[label], **more)
        for label in run.labels
    }
