"""Scores of a run → the evaluation's result pages, in the published layout; it judges no reply and writes no file.

``Overall Acc`` is a percentage over the *whole* leaderboard: a category that was not run counts as 0 with all of its
rows. Beside it every page has a plain accuracy over what was run. Percentages have two decimals.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.suites.bfcl.decode import OUTCOMES
from vendor_verifier.suites.bfcl.overall import COLUMNS, Accuracies, Version, overall, summaries
from vendor_verifier.values.record import Record
from vendor_verifier.values.score import Score

CUSTOM_METRIC = "tool-calling-accuracy"
_CUSTOM_VALUES = ("function_name_accuracy", "function_name_and_args_accuracy")


@dataclass(frozen=True, slots=True)
class CategoryResult:
    """One category of one vendor: ``correct`` of ``total`` judged rows; ``unjudged`` rows are nobody's fault."""

    correct: int
    total: int
    outcomes: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    unjudged: int = 0

    @property
    def accuracy(self) -> float | None:
        return self.correct / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class VendorResult:
    """One vendor's part of a task. ``latencies_s``: seconds of each answered call. ``custom``: exact-match means."""

    label: str
    categories: Mapping[str, CategoryResult]
    latencies_s: Sequence[float] = ()
    custom: Mapping[str, float | None] = field(default_factory=dict)


def vendor_result(label: str, scores: Iterable[Score], latencies_s: Sequence[float] = ()) -> VendorResult:
    """Count one vendor's scores of the suite ``bfcl``."""
    by_category: dict[str, list[Score]] = {}
    for score in scores:
        by_category.setdefault(str(score.details["category"]), []).append(score)
    every = [score for group in by_category.values() for score in group]
    custom = {name: _mean([score.values[name] for score in every if name in score.values]) for name in _CUSTOM_VALUES}
    return VendorResult(
        label,
        {category: _category(group) for category, group in by_category.items()},
        latencies_s,
        {} if all(value is None for value in custom.values()) else custom,
    )


def call_latencies_s(record: Record) -> list[float]:
    """Seconds from request to end of the answer of every call that succeeded; tries that failed are left out."""
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    ends = [final.timing.end_ns for final in finals if final.succeeded and final.timing is not None]
    return [end_ns / 1e9 for end_ns in ends if end_ns > 0]


def result_pages(tasks: Mapping[str, Sequence[VendorResult]], *, version: Version = "v3") -> dict[str, dict[str, Any]]:
    """One page a vendor label: ``{"tasks": {task: {"metrics": …}}, "run": {task: …}}``.

    ``tasks`` is the published layout. ``run`` is this product's own: the formula, plain accuracies and outcomes.
    """
    pages: dict[str, dict[str, Any]] = {}
    for task, vendors in tasks.items():
        ranks = _ranks(vendors, version)
        for vendor in vendors:
            page = pages.setdefault(vendor.label, {"tasks": {}, "run": {}})
            metrics = task_metrics(vendor, rank=ranks[vendor.label], version=version)
            page["tasks"][task] = {"metrics": {name: {"scores": scores} for name, scores in metrics.items()}}
            page["run"][task] = plain_accuracy(vendor, version)
    return pages


def task_metrics(vendor: VendorResult, *, rank: float, version: Version) -> dict[str, dict[str, Any]]:
    """Metric → its scores. Custom data has its own metric; anything else has the leaderboard's columns."""
    if vendor.custom:
        value = vendor.custom["function_name_and_args_accuracy"]
        return {CUSTOM_METRIC: {CUSTOM_METRIC: {"value": value}, **_values(vendor.custom)}}
    accuracies = _accuracies(vendor)
    columns: dict[str, float | None] = {"Rank": rank, "Overall Acc": _percent(overall(accuracies, version))}
    columns |= _latency(vendor.latencies_s)
    run = {category: found for category, (found, _) in accuracies.items()}
    columns |= {COLUMNS[category]: _percent(found) for category, found in run.items() if category in COLUMNS}
    columns |= {name: _percent(value) for name, value in summaries(accuracies, version).items()}
    return {name: {name: {"value": value}} for name, value in columns.items()}


def plain_accuracy(vendor: VendorResult, version: Version = "v3") -> dict[str, Any]:
    """Correct ÷ judged over what was run, altogether and per category, and how the replies that failed ended."""
    judged = [result for result in vendor.categories.values() if result.total]
    correct, total = sum(result.correct for result in judged), sum(result.total for result in judged)
    return {
        "overall_formula": version,
        "accuracy": correct / total if total else None,
        "correct": correct,
        "rows": total,
        "categories": {
            category: {
                "accuracy": result.accuracy,
                "correct": result.correct,
                "rows": result.total,
                "unjudged": result.unjudged,
                "outcomes": dict(result.outcomes),
                "error_types": dict(result.errors),
            }
            for category, result in vendor.categories.items()
        },
    }


def _category(scores: Sequence[Score]) -> CategoryResult:
    judged = [score for score in scores if score.values.get("correct") is not None]
    outcomes = Counter(str(score.details["outcome"]) for score in judged)
    wrong = Counter(str(score.details["error_type"]) for score in judged if not score.values["correct"])
    return CategoryResult(
        correct=sum(1 for score in judged if score.values["correct"]),
        total=len(judged),
        outcomes={name: outcomes[name] for name in OUTCOMES},
        errors=dict(wrong.most_common()),
        unjudged=len(scores) - len(judged),
    )


def _accuracies(vendor: VendorResult) -> Accuracies:
    pairs = ((category, result.accuracy, result.total) for category, result in vendor.categories.items())
    return {category: (accuracy, total) for category, accuracy, total in pairs if accuracy is not None}


def _ranks(vendors: Sequence[VendorResult], version: Version) -> dict[str, float]:
    """1 = highest ``Overall Acc`` among these vendors; equals share the better place."""
    scores = {vendor.label: overall(_accuracies(vendor), version) for vendor in vendors}
    return {label: 1.0 + sum(other > mine for other in scores.values()) for label, mine in scores.items()}


def _latency(latencies_s: Sequence[float]) -> dict[str, float | None]:
    """Mean, sample standard deviation (n - 1, so ``None`` for one call) and 95th percentile, seconds, two decimals."""
    ordered = sorted(latencies_s)
    several = len(ordered) > 1
    p95 = statistics.quantiles(ordered, n=100, method="inclusive")[94] if several else next(iter(ordered), None)
    return {
        "Latency Mean (s)": round(math.fsum(ordered) / len(ordered), 2) if ordered else None,
        "Latency Standard Deviation (s)": round(statistics.stdev(ordered), 2) if several else None,
        "Latency 95th Percentile (s)": None if p95 is None else round(p95, 2),
    }


def _values(numbers: Mapping[str, float | None]) -> dict[str, dict[str, float | None]]:
    return {name: {"value": value} for name, value in numbers.items()}


def _percent(share: float) -> float:
    return round(share * 100, 2)


def _mean(values: Sequence[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return math.fsum(measured) / len(measured) if measured else None
