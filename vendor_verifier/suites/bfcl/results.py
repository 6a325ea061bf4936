"""Scores of a run → the evaluation's result pages, in the published layout. Percentages have two decimals.

``Overall Acc`` covers the *whole* leaderboard: a category that was not run counts as 0 with all of its rows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.records.record import Attempt, Score
from vendor_verifier.scoring.answer import MOST_DISCARDED, is_late, lateness_ns
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, LIVE_AST, MULTI_TURN, NON_LIVE_AST

Accuracies = Mapping[str, tuple[float, int]]
"""Category (v4 name) → (share of rows that are correct, rows) of the categories that were run."""

CUSTOM_METRIC = "tool-calling-accuracy"
_CUSTOM_VALUES = ("function_name_accuracy", "function_name_and_args_accuracy")
# The live categories with the rows of their full sets, for the weight of those that were not run.
_LIVE = dict(zip((*LIVE_AST, "live_irrelevance", "live_relevance"), (258, 1053, 16, 24, 882, 18), strict=True))
# The mean of nine: simple, multiple, parallel, parallel multiple, the same four executed, and irrelevance.
_NON_LIVE = (
    NON_LIVE_AST[:3],
    *((name,) for name in NON_LIVE_AST[3:]),
    ("exec_simple", "rest"),
    *((name,) for name in EXECUTABLE[1:]),
    ("irrelevance",),
)
_COLUMNS: Mapping[str, str] = {
    "simple_python": "Python Simple AST",
    "simple_java": "Java Simple AST",
    "simple_javascript": "JavaScript Simple AST",
    "exec_simple": "Python Simple Exec",
    "rest": "REST Simple Exec",
    "live_relevance": "Relevance Detection",
    **{name: f"{name.replace('_', ' ').title()} AST" for name in (*NON_LIVE_AST[3:], *LIVE_AST)},
    **{name: f"{name.removeprefix('exec_').replace('_', ' ').title()} Exec" for name in EXECUTABLE[1:]},
    **{name: name.replace("_", " ").title() for name in MULTI_TURN},
}


def overall(accuracies: Accuracies) -> float:
    """``Overall Acc`` (0 to 1) of v3: the mean of live (by rows), non-live and multi-turn; what was not run is 0."""
    non_live = sum(_mean(accuracies, part) for part in _NON_LIVE) / len(_NON_LIVE)
    pairs = [accuracies.get(category, (0.0, rows)) for category, rows in _LIVE.items()]
    live = sum(accuracy * rows for accuracy, rows in pairs) / sum(rows for _, rows in pairs)
    return (non_live + live + _mean(accuracies, MULTI_TURN)) / 3


def _mean(accuracies: Accuracies, categories: Sequence[str]) -> float:
    """The unweighted mean, in which categories that were not run count as 0."""
    return sum(accuracies.get(category, (0.0, 0))[0] for category in categories) / len(categories)


@dataclass(slots=True)
class VendorResult:
    """One vendor's scores in a task, and seconds from request to end of every call that succeeded in it.

    ``discarded`` counts the samples without a time, because our own process was late.
    """

    label: str
    scores: list[Score] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    discarded: int = 0

    def add_times(self, finals: Sequence[Attempt]) -> None:
        """Add the times of a record's final attempts."""
        took = [(final, final.timing.end_ns) for final in finals if final.timing is not None]
        if is_late(max(map(lateness_ns, finals), default=0), sum(end_ns for _, end_ns in took)):
            self.discarded += 1
        else:
            self.latencies_s += [end_ns / 1e9 for final, end_ns in took if final.succeeded and end_ns > 0]

    @property
    def accuracies(self) -> Accuracies:
        """The accuracies of the categories that were run and judged."""
        found: dict[str, list[Score]] = {}
        for score in self.scores:
            found.setdefault(str(score.details["category"]), []).append(score)
        judged = {name: _values(scores, "correct") for name, scores in found.items()}
        return {name: (sum(values) / len(values), len(values)) for name, values in judged.items() if values}


def _values(scores: Sequence[Score], name: str) -> list[float]:
    return [value for score in scores if (value := score.values.get(name)) is not None]


def result_pages(tasks: Mapping[str, Sequence[VendorResult]]) -> dict[str, dict[str, Any]]:
    """One page a vendor label: ``{"tasks": {task: {"metrics": …}}, "run": {task: …}}``.

    ``tasks`` is the published layout. ``run`` is this product's own: the accuracy over the rows that were judged.
    ``Rank`` is the place by ``Overall Acc`` among these vendors, 1 = best; equals share the better place.
    """
    pages: dict[str, dict[str, Any]] = {}
    for task, vendors in tasks.items():
        totals = {vendor.label: overall(vendor.accuracies) for vendor in vendors}
        for vendor in vendors:
            rank = 1.0 + sum(other > totals[vendor.label] for other in totals.values())
            metrics = _metrics(vendor, rank)
            page = pages.setdefault(vendor.label, {"tasks": {}, "run": {}})
            page["tasks"][task] = {"metrics": {name: {"scores": scores} for name, scores in metrics.items()}}
            correct = _values(vendor.scores, "correct")
            accuracy = sum(correct) / len(correct) if correct else None
            page["run"][task] = {"accuracy": accuracy, "correct": int(sum(correct)), "rows": len(correct)}
    return pages


def _metrics(vendor: VendorResult, rank: float) -> dict[str, dict[str, Any]]:
    """Metric → its scores. Custom data has its own metric; anything else has the leaderboard's columns."""
    custom = {name: values for name in _CUSTOM_VALUES if (values := _values(vendor.scores, name))}
    if custom:
        means = {name: math.fsum(values) / len(values) for name, values in custom.items()}
        means = {CUSTOM_METRIC: means[_CUSTOM_VALUES[1]], **means}
        return {CUSTOM_METRIC: {name: {"value": value} for name, value in means.items()}}
    accuracies = vendor.accuracies
    shares = {
        "Overall Acc": overall(accuracies),
        **{_COLUMNS[category]: share for category, (share, _) in accuracies.items() if category in _COLUMNS},
    }
    percent = {name: round(share * 100, 2) for name, share in shares.items()}
    columns = {"Rank": rank, "Overall Acc": percent["Overall Acc"], **_latency(vendor), **percent}
    return {name: {name: {"value": value}} for name, value in columns.items()}


def _latency(vendor: VendorResult) -> dict[str, float | None]:
    """Mean, sample standard deviation (n - 1, so ``None`` for one call) and 95th percentile, seconds, two decimals."""
    is_lost = vendor.discarded > MOST_DISCARDED * (vendor.discarded + len(vendor.latencies_s))
    times = [] if is_lost else sorted(vendor.latencies_s)
    several = len(times) > 1
    p95 = statistics.quantiles(times, n=100, method="inclusive")[94] if several else next(iter(times), None)
    return {
        "Latency Mean (s)": round(math.fsum(times) / len(times), 2) if times else None,
        "Latency Standard Deviation (s)": round(statistics.stdev(times), 2) if several else None,
        "Latency 95th Percentile (s)": None if p95 is None else round(p95, 2),
    }
