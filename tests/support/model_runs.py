"""One model's part of a run, made from a few columns by label; all others have plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, RECORD_COLUMNS, Column

BASE = "official"
_USUAL: Mapping[str, Any] = {
    "model": "m", "suite": "trigger", "repetition": 0, "ok": True, "attempts": 1, "turns": 1, "calls": 0,
    "decision": "not_called", "characters": 400.0, "input_tokens": 500.0, "output_tokens": 100.0,
}  # fmt: skip


def records(label: str, n: int, **columns: Any) -> pd.DataFrame:
    """``n`` records of a vendor, one a second, each of another sample unless ``sample`` says otherwise."""
    usual = {**_USUAL, "label": label, "sample": [f"s{number:04d}" for number in range(n)], "sent_s": range(n)}
    return _frame({**usual, **columns}, RECORD_COLUMNS, n)


def attempts(label: str, n: int, **columns: Any) -> pd.DataFrame:
    """``n`` attempts of a vendor that gave no answer."""
    return _frame({"model": "m", "label": label, "suite": "trigger", "billed": True, **columns}, ATTEMPT_COLUMNS, n)


def twice(n: int, **columns: Any) -> pd.DataFrame:
    """The baseline's records: every sample is asked twice, with equal answers."""
    both = [records(BASE, n, **{"repetition": again, **columns}) for again in (0, 1)]
    return pd.concat(both, ignore_index=True)


def model_run(*parts: pd.DataFrame, baseline: str | None = BASE, **more: Any) -> ModelRun:
    """The run of these records; what belongs to checks and probes goes to ``apart``, other fields come by name."""
    whole = pd.concat(parts, ignore_index=True).astype({column.name: column.dtype for column in RECORD_COLUMNS})
    is_apart = whole["suite"].isin(["probes", "contract"])
    labels = tuple(whole["label"].unique())
    fields: dict[str, Any] = {
        "model": "m",
        "baseline": baseline,
        "labels": labels,
        "records": whole[~is_apart],
        "apart": whole[is_apart],
        "attempts": _frame({}, ATTEMPT_COLUMNS, 0),
        "planned": whole[~is_apart].groupby("label", observed=True).size().to_dict(),
        "model_ids": dict.fromkeys(labels, "m"),
    }
    return ModelRun(**{**fields, **more})


def _frame(columns: Mapping[str, Any], known: tuple[Column, ...], n: int) -> pd.DataFrame:
    empty = {"bool": False, "int32": 0, "int64": 0}
    found = {each.name: columns.get(each.name, empty.get(each.dtype)) for each in known}
    return pd.DataFrame(found, index=range(n)).astype({each.name: each.dtype for each in known})
