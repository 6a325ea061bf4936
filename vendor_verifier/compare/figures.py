"""Which figures of a scored run a history keeps, and how each is compared over time; it stores and judges nothing.

A figure is a rank metric (``f1``), an evaluation's score under its name, or ``<record metric>.<percentile>``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vendor_verifier.compare.ranking import DIRECTIONS, RANK_METRICS
from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.base import Direction
from vendor_verifier.values.judgement import ServedNames
from vendor_verifier.values.score import Report, VendorScore
from vendor_verifier.values.trend import HistoryEntry, HistoryRun, Scale

_PERCENTILES = ("p50", "p95")
_DISTRIBUTIONS = ("ttft_ms", "e2e_ms", "tps", "total_tokens")
_UNITS = ("tps", "_tokens", "_ms", "_s", "_usd")
_DIRECTIONS: Mapping[str, Direction] = {metric.name: metric.direction for metric in METRICS} | dict(DIRECTIONS)
# What people type.
ALIASES: Mapping[str, str] = {
    "ttft": "ttft_ms.p50",
    "ttft_p95": "ttft_ms.p95",
    "e2e": "e2e_ms.p50",
    "latency": "e2e_ms.p50",
    "success": "success_rate",
    "schema": "schema_accuracy",
    "tokens": "avg_tokens",
}
# Medians for latency: a mean of first-token times follows its few worst requests.
WATCHED: tuple[str, ...] = ("f1", "success_rate", "schema_accuracy", "ttft_ms.p50", "tps", "avg_tokens")
LEAST_RATIO = 0.05
LEAST_DIFFERENCE = 0.02


def known_figures(suites: Iterable[str] = ()) -> tuple[str, ...]:
    """Every figure that a run with ``suites`` may have."""
    parts = (f"{name}.{percentile}" for name in _DISTRIBUTIONS for percentile in _PERCENTILES)
    return tuple(dict.fromkeys([*RANK_METRICS, *suites, *parts]))


def scale_of(metric: str) -> Scale:
    """Quantities with a unit are compared by ratio, shares of 1 by difference."""
    return "ratio" if metric.split(".")[0].endswith(_UNITS) else "difference"


def direction_of(metric: str) -> Direction:
    """Which end is better; a suite's score is better when higher."""
    return _DIRECTIONS.get(metric.split(".")[0], "higher")


def history_run(report: Report, folder: str) -> HistoryRun:
    """``report`` as the history keeps it; only entries with a record, only figures that were measured."""
    manifest = report.manifest
    entries = tuple(
        HistoryEntry(
            model=model.model,
            label=vendor.label,
            vendor=vendor.vendor,
            model_id=vendor.model_id,
            is_baseline=vendor.is_baseline,
            planned=vendor.planned,
            succeeded=vendor.succeeded,
            figures=dict(_figures(vendor)),
            served=_served(report, model.model, vendor.label),
        )
        for model in report.models
        for vendor in model.vendors
        if vendor.recorded
    )
    return HistoryRun(
        run=report.run,
        at=str(manifest.get("created_at") or ""),
        folder=folder,
        question=question_of(report),
        complete=report.complete,
        version=str((manifest.get("tool") or {}).get("version") or ""),
        entries=entries,
    )


def _served(report: Report, model: str, label: str) -> ServedNames:
    verdict = report.verdicts.get(model)
    return ServedNames() if verdict is None else verdict.served.get(label, ServedNames())


def question_of(report: Report) -> str:
    """First 16 hex digits of a digest of what was asked and how it was judged.

    Entries stay out: that a vendor is asked elsewhere, or with other settings, is what a history is to show. The
    shape of a load is in, where there is one: who is asked more often is slower without having got worse.
    """
    manifest = report.manifest
    identity: Mapping[str, Any] = manifest.get("identity") or {}
    tasks = [[task.get("suite"), task.get("sha256"), task.get("count")] for task in manifest.get("tasks", ())]
    asked = [
        identity.get("samples") or tasks,
        identity.get("suites"),
        report.repeat,
        report.undecided,
        report.schema_policy,
        *filter(None, [(manifest.get("settings") or {}).get("load")]),
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _figures(vendor: VendorScore) -> Iterator[tuple[str, tuple[float, int]]]:
    for name, value in vendor.metrics.items():
        # The baseline's F1 is 1 by definition, not a measurement.
        if value is not None and not (name == "f1" and vendor.is_baseline):
            yield name, (value, vendor.measured.get(name, 0))
    for name in _DISTRIBUTIONS:
        found = vendor.distributions.get(name)
        for percentile in _PERCENTILES if found is not None else ():
            value = getattr(found, percentile)
            if value is not None:
                yield f"{name}.{percentile}", (value, found.n if found else 0)
