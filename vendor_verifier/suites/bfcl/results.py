"""Scores of a run → the evaluation's result pages, in the published layout; it judges no reply and writes no file.

``Overall Acc`` is a percentage over the *whole* leaderboard: a category that was not run counts as 0 with all of its
rows. Every page also has a plain accuracy over what was run. Percentages have two decimals.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vendor_verifier.suites.bfcl.categories import (
    AGENTIC,
    EXECUTABLE,
    LIVE_AST,
    MULTI_TURN,
    NON_LIVE_AST,
    REST,
    V3_ROWS,
    V4_ROWS,
)
from vendor_verifier.suites.bfcl.replies import OUTCOMES
from vendor_verifier.values.record import Record
from vendor_verifier.values.score import Score

Version = Literal["v3", "v4"]
Accuracies = Mapping[str, tuple[float, int]]
"""Category (v4 name) → (share of rows that are correct, rows) of the categories that were run."""

CUSTOM_METRIC = "tool-calling-accuracy"
_CUSTOM_VALUES = ("function_name_accuracy", "function_name_and_args_accuracy")
_SIMPLE = NON_LIVE_AST[:3]
_IRRELEVANCE = ("irrelevance", "live_irrelevance")
_LIVE_V3 = (*LIVE_AST, "live_irrelevance", "live_relevance")
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
# The parts of the formula by the names of their groups.
_PARTS: Mapping[Version, Mapping[str, tuple[str, ...]]] = {
    "v3": {
        "non_live": (*NON_LIVE_AST, "irrelevance"), "exec_*": EXECUTABLE, "rest": REST, "live": _LIVE_V3,
        "multi_turn": MULTI_TURN,
    },
    "v4": {
        "non_live": NON_LIVE_AST, "live": LIVE_AST, "irrelevance": _IRRELEVANCE, "multi_turn": MULTI_TURN,
        "memory": AGENTIC[:3], "web_search": AGENTIC[3:],
    },
}  # fmt: skip


def overall(accuracies: Accuracies, version: Version) -> float:
    """``Overall Acc`` (0 to 1): categories that were not run count as 0.

    v3: the mean of live, non-live and multi-turn. v4: 10 % non-live AST, 10 % live AST, 10 % irrelevance, 30 %
    multi-turn, 40 % agentic.
    """
    multi_turn = _mean(accuracies, MULTI_TURN)
    if version == "v3":
        return (_non_live(accuracies, version) + _live(accuracies, version) + multi_turn) / 3
    agentic = (_mean(accuracies, AGENTIC[:3]) + _mean(accuracies, AGENTIC[3:])) / 2
    written = _non_live(accuracies, version) + _live(accuracies, version) + _mean(accuracies, _IRRELEVANCE)
    return 0.1 * written + 0.3 * multi_turn + 0.4 * agentic


def _non_live(accuracies: Accuracies, version: Version) -> float:
    """v4: the mean of simple, multiple, parallel and parallel-multiple. v3: the mean of nine, these four, the same four
    executed (simple being the mean of exec_simple and rest) and irrelevance."""
    parts: list[tuple[str, ...]] = [_SIMPLE, *((name,) for name in NON_LIVE_AST[3:])]
    if version == "v3":
        parts += [("exec_simple", "rest"), *((name,) for name in EXECUTABLE[1:]), ("irrelevance",)]
    return sum(_mean(accuracies, part) for part in parts) / len(parts)


def _live(accuracies: Accuracies, version: Version) -> float:
    """By rows: those that were run, or all rows of a category that was not."""
    categories, all_rows = (LIVE_AST, V4_ROWS) if version == "v4" else (_LIVE_V3, V3_ROWS)
    pairs = [accuracies.get(category, (0.0, all_rows[category])) for category in categories]
    return sum(accuracy * rows for accuracy, rows in pairs) / sum(rows for _, rows in pairs)


def _mean(accuracies: Accuracies, categories: Sequence[str]) -> float:
    """The unweighted mean, in which categories that were not run count as 0."""
    return sum(accuracies.get(category, (0.0, 0))[0] for category in categories) / len(categories)


def ceiling(rows: Mapping[str, int], version: Version) -> float:
    """The highest ``Overall Acc`` (0 to 1) of a run that has these rows by category and no others."""
    return overall({category: (1.0, count) for category, count in rows.items()}, version)


def lost_shares(rows: Mapping[str, int], version: Version) -> dict[str, float]:
    """By group of categories, the part of ``Overall Acc`` (0 to 1) that a run with these rows cannot have."""
    every = V4_ROWS if version == "v4" else V3_ROWS
    found = {}
    for group, categories in _PARTS[version].items():
        whole = ceiling({category: every[category] for category in categories}, version)
        there = ceiling({category: rows[category] for category in categories if category in rows}, version)
        found[group] = whole - there
    return {group: lost for group, lost in found.items() if lost > 1e-9}


def summaries(accuracies: Accuracies, version: Version) -> dict[str, float]:
    """The summary columns (0 to 1) whose categories were all run; upstream prints ``N/A`` for the others."""
    live = _LIVE_V3 if version == "v3" else LIVE_AST
    found = {
        name: value
        for name, categories, value in (
            ("Non-Live Simple AST", _SIMPLE, _mean(accuracies, _SIMPLE)),
            ("Non-Live AST Acc", NON_LIVE_AST, _non_live(accuracies, "v4")),
            ("Live Acc", live, _live(accuracies, version)),
            ("Multi Turn Acc", MULTI_TURN, _mean(accuracies, MULTI_TURN)),
        )
        if all(category in accuracies for category in categories)
    }
    refused = [accuracies[category][0] for category in _IRRELEVANCE if category in accuracies]
    # The mean of both sets; where one was not run, that of the other, as on its own part of the leaderboard.
    return found | ({"Irrelevance Detection": sum(refused) / len(refused)} if refused else {})


@dataclass(frozen=True, slots=True)
class CategoryResult:
    """One category of one vendor: ``correct`` of ``total`` judged rows; ``unjudged`` rows count for neither."""

    correct: int
    total: int
    outcomes: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    unjudged: int = 0


@dataclass(frozen=True, slots=True)
class VendorResult:
    """One vendor's part of a task. ``latencies_s``: seconds of each answered call. ``custom``: exact-match means."""

    label: str
    categories: Mapping[str, CategoryResult]
    latencies_s: Sequence[float] = ()
    custom: Mapping[str, float] = field(default_factory=dict)

    @property
    def accuracies(self) -> Accuracies:
        """The accuracies of the categories that were run and judged."""
        return {
            name: (found.correct / found.total, found.total) for name, found in self.categories.items() if found.total
        }


def vendor_result(label: str, scores: Iterable[Score], latencies_s: Sequence[float] = ()) -> VendorResult:
    """Count one vendor's scores of the suite ``bfcl``."""
    by_category: dict[str, list[Score]] = {}
    custom: dict[str, list[float]] = {}
    for score in scores:
        by_category.setdefault(str(score.details["category"]), []).append(score)
        for name in _CUSTOM_VALUES:
            value = score.values.get(name)
            if value is not None:
                custom.setdefault(name, []).append(value)
    means = {name: math.fsum(values) / len(values) for name, values in custom.items()}
    return VendorResult(label, {name: _category(group) for name, group in by_category.items()}, latencies_s, means)


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


def call_latencies_s(record: Record) -> list[float]:
    """Seconds from request to end of the answer of every call that succeeded; tries that failed are left out."""
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    ends = [final.timing.end_ns for final in finals if final.succeeded and final.timing is not None]
    return [end_ns / 1e9 for end_ns in ends if end_ns > 0]


def result_pages(tasks: Mapping[str, Sequence[VendorResult]], *, version: Version = "v3") -> dict[str, dict[str, Any]]:
    """One page a vendor label: ``{"tasks": {task: {"metrics": …}}, "run": {task: …}}``.

    ``tasks`` is the published layout. ``run`` is this product's own: the formula, plain accuracies and outcomes.
    ``Rank`` is the place by ``Overall Acc`` among these vendors, 1 = best; equals share the better place.
    """
    pages: dict[str, dict[str, Any]] = {}
    for task, vendors in tasks.items():
        totals = {vendor.label: overall(vendor.accuracies, version) for vendor in vendors}
        for vendor in vendors:
            rank = 1.0 + sum(other > totals[vendor.label] for other in totals.values())
            metrics = _metrics(vendor, rank, version)
            page = pages.setdefault(vendor.label, {"tasks": {}, "run": {}})
            page["tasks"][task] = {"metrics": {name: {"scores": scores} for name, scores in metrics.items()}}
            page["run"][task] = _plain_accuracy(vendor, version)
    return pages


def _metrics(vendor: VendorResult, rank: float, version: Version) -> dict[str, dict[str, Any]]:
    """Metric → its scores. Custom data has its own metric; anything else has the leaderboard's columns."""
    if vendor.custom:
        values = {CUSTOM_METRIC: vendor.custom["function_name_and_args_accuracy"], **vendor.custom}
        return {CUSTOM_METRIC: {name: {"value": value} for name, value in values.items()}}
    accuracies = vendor.accuracies
    shares = {
        "Overall Acc": overall(accuracies, version),
        **{_COLUMNS[category]: share for category, (share, _) in accuracies.items() if category in _COLUMNS},
        **summaries(accuracies, version),
    }
    percent = {name: round(share * 100, 2) for name, share in shares.items()}
    columns = {"Rank": rank, "Overall Acc": percent["Overall Acc"], **_latency(vendor.latencies_s), **percent}
    return {name: {name: {"value": value}} for name, value in columns.items()}


def _plain_accuracy(vendor: VendorResult, version: Version) -> dict[str, Any]:
    """Correct ÷ judged over what was run, altogether and per category, and how the replies that failed ended."""
    correct = sum(result.correct for result in vendor.categories.values())
    total = sum(result.total for result in vendor.categories.values())
    return {
        "overall_formula": version,
        "accuracy": correct / total if total else None,
        "correct": correct,
        "rows": total,
        "categories": {
            category: {
                "accuracy": result.correct / result.total if result.total else None,
                "correct": result.correct,
                "rows": result.total,
                "unjudged": result.unjudged,
                "outcomes": dict(result.outcomes),
                "error_types": dict(result.errors),
            }
            for category, result in vendor.categories.items()
        },
    }


def _latency(latencies_s: Sequence[float]) -> dict[str, float | None]:
    """Mean, sample standard deviation (n - 1, so ``None`` for one call) and 95th percentile, seconds, two decimals."""
    times = sorted(latencies_s)
    several = len(times) > 1
    p95 = statistics.quantiles(times, n=100, method="inclusive")[94] if several else next(iter(times), None)
    return {
        "Latency Mean (s)": round(math.fsum(times) / len(times), 2) if times else None,
        "Latency Standard Deviation (s)": round(statistics.stdev(times), 2) if several else None,
        "Latency 95th Percentile (s)": None if p95 is None else round(p95, 2),
    }
