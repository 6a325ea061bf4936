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
from types import MappingProxyType
from typing import Any, Literal

from vendor_verifier.suites.bfcl.categories import (
    AGENTIC,
    EXECUTABLE,
    LIVE_AST,
    MULTI_TURN,
    NON_LIVE_AST,
    REST,
    SENSITIVITY,
    SINGLE_TURN,
    V3_ROWS,
    V4_ROWS,
)
from vendor_verifier.suites.bfcl.replies import OUTCOMES
from vendor_verifier.values.record import Record
from vendor_verifier.values.score import Score

Version = Literal["v3", "v4"]
Accuracies = Mapping[str, tuple[float, int]]
"""Category (v4 name) → (share of rows that are correct, rows) of the categories that were run."""

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "simple_python": "Python Simple AST",
        "simple_java": "Java Simple AST",
        "simple_javascript": "JavaScript Simple AST",
        "multiple": "Multiple AST",
        "parallel": "Parallel AST",
        "parallel_multiple": "Parallel Multiple AST",
        "exec_simple": "Python Simple Exec",
        "rest": "REST Simple Exec",
        "exec_multiple": "Multiple Exec",
        "exec_parallel": "Parallel Exec",
        "exec_parallel_multiple": "Parallel Multiple Exec",
        "live_simple": "Live Simple AST",
        "live_multiple": "Live Multiple AST",
        "live_parallel": "Live Parallel AST",
        "live_parallel_multiple": "Live Parallel Multiple AST",
        "live_relevance": "Relevance Detection",
        "multi_turn_base": "Multi Turn Base",
        "multi_turn_miss_func": "Multi Turn Miss Func",
        "multi_turn_miss_param": "Multi Turn Miss Param",
        "multi_turn_long_context": "Multi Turn Long Context",
    }
)
_SIMPLE = SINGLE_TURN[:3]
_NON_LIVE_REST = ("multiple", "parallel", "parallel_multiple")
_EXECUTABLE_REST = ("exec_multiple", "exec_parallel", "exec_parallel_multiple")
_IRRELEVANCE = ("irrelevance", "live_irrelevance")
_LIVE_V3 = (*LIVE_AST, "live_irrelevance", "live_relevance")
# The parts of the formula by the names of their groups.
_PARTS: Mapping[Version, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "v3": {
            "non_live": (*NON_LIVE_AST, "irrelevance"), "exec_*": EXECUTABLE, "rest": REST, "live": _LIVE_V3,
            "multi_turn": MULTI_TURN,
        },
        "v4": {
            "non_live": NON_LIVE_AST, "live": LIVE_AST, "irrelevance": _IRRELEVANCE, "multi_turn": MULTI_TURN,
            "memory": AGENTIC[:3], "web_search": AGENTIC[3:],
        },
    }
)  # fmt: skip
_NOTHING_LOST = 1e-9


def overall(accuracies: Accuracies, version: Version) -> float:
    """``Overall Acc``: categories that were not run count as 0.

    v3: the mean of live, non-live and multi-turn. v4: 10 % non-live AST, 10 % live AST, 10 % irrelevance, 30 %
    multi-turn, 40 % agentic.
    """
    parts = non_live(accuracies, version), live(accuracies, version), mean_of(accuracies, MULTI_TURN)
    if version == "v3":
        return sum(parts) / 3
    agentic = (mean_of(accuracies, AGENTIC[:3]) + mean_of(accuracies, AGENTIC[3:])) / 2
    return 0.1 * parts[0] + 0.1 * parts[1] + 0.1 * mean_of(accuracies, _IRRELEVANCE) + 0.3 * parts[2] + 0.4 * agentic


def non_live(accuracies: Accuracies, version: Version) -> float:
    """The summary of the rows that are not from users.

    v4: the mean of simple, multiple, parallel and parallel-multiple. v3: the mean of nine, these four, the same four
    executed (simple being the mean of exec_simple and rest) and irrelevance.
    """
    written = [mean_of(accuracies, _SIMPLE), *(_share(accuracies, category) for category in _NON_LIVE_REST)]
    if version == "v4":
        return sum(written) / 4
    executed = [mean_of(accuracies, ("exec_simple", "rest"))]
    executed += [_share(accuracies, category) for category in _EXECUTABLE_REST]
    return sum([*written, *executed, _share(accuracies, "irrelevance")]) / 9


def live(accuracies: Accuracies, version: Version) -> float:
    """The summary of users' rows, by rows: of four categories in v4, of relevance and irrelevance too in v3."""
    if version == "v4":
        return _weighted(accuracies, LIVE_AST, V4_ROWS)
    return _weighted(accuracies, _LIVE_V3, V3_ROWS)


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
    return {group: lost for group, lost in found.items() if lost > _NOTHING_LOST}


def summaries(accuracies: Accuracies, version: Version) -> dict[str, float]:
    """The summary columns all of whose categories were run; upstream prints ``N/A`` for the others."""
    share = {category: accuracy for category, (accuracy, _) in accuracies.items()}
    found: dict[str, float] = {}
    if _ran(share, _SIMPLE):
        found["Non-Live Simple AST"] = mean_of(accuracies, _SIMPLE)
    if _ran(share, (*_SIMPLE, *_NON_LIVE_REST)):
        found["Non-Live AST Acc"] = non_live(accuracies, "v4")
    if _ran(share, _LIVE_V3 if version == "v3" else LIVE_AST):
        found["Live Acc"] = live(accuracies, version)
    if _ran(share, MULTI_TURN):
        found["Multi Turn Acc"] = mean_of(accuracies, MULTI_TURN)
    refused = [share[category] for category in _IRRELEVANCE if category in share]
    if refused:
        # The mean of both sets; of one, as on its own part of the leaderboard, when the other was not run.
        found["Irrelevance Detection"] = sum(refused) / len(refused)
    return found


def _ran(share: Mapping[str, float], categories: Sequence[str]) -> bool:
    return all(category in share for category in categories)


def _share(accuracies: Accuracies, category: str) -> float:
    return accuracies.get(category, (0.0, 0))[0]


def mean_of(accuracies: Accuracies, categories: Sequence[str]) -> float:
    """The unweighted mean of these categories' accuracies, those that were not run as 0."""
    return sum(_share(accuracies, category) for category in categories) / len(categories)


def _weighted(accuracies: Accuracies, categories: Sequence[str], all_rows: Mapping[str, int]) -> float:
    """By rows: those that were run, or all rows of a category that was not."""
    pairs = [accuracies.get(category, (0.0, all_rows[category])) for category in categories]
    return sum(accuracy * rows for accuracy, rows in pairs) / sum(rows for _, rows in pairs)


CUSTOM_METRIC = "tool-calling-accuracy"
_CUSTOM_VALUES = ("function_name_accuracy", "function_name_and_args_accuracy")


@dataclass(frozen=True, slots=True)
class CategoryResult:
    """One category of one vendor: ``correct`` of ``total`` judged rows; ``unjudged`` rows count for neither."""

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
    """One vendor's part of a task. ``latencies_s``: seconds of each answered call. ``custom``: exact-match means.
    ``formats``: of format_sensitivity (rows that are correct, rows judged) by format of the prompt."""

    label: str
    categories: Mapping[str, CategoryResult]
    latencies_s: Sequence[float] = ()
    custom: Mapping[str, float | None] = field(default_factory=dict)
    formats: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def vendor_result(label: str, scores: Iterable[Score], latencies_s: Sequence[float] = ()) -> VendorResult:
    """Count one vendor's scores of the suite ``bfcl``."""
    by_category: dict[str, list[Score]] = {}
    for score in scores:
        by_category.setdefault(str(score.details["category"]), []).append(score)
    every = [score for group in by_category.values() for score in group]
    custom = {
        name: _mean_of([score.values[name] for score in every if name in score.values]) for name in _CUSTOM_VALUES
    }
    return VendorResult(
        label,
        {category: _category(group) for category, group in by_category.items()},
        latencies_s,
        {} if all(value is None for value in custom.values()) else custom,
        _by_format(by_category.get(SENSITIVITY, ())),
    )


def _by_format(scores: Sequence[Score]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for score in scores:
        value = score.values.get("correct")
        if value is not None:
            correct, rows = found.get(name := str(score.details.get("format")), (0, 0))
            found[name] = (correct + int(value), rows + 1)
    return found


def sensitivity(vendor: VendorResult) -> dict[str, Any]:
    """``max_delta``, ``std`` and ``variance`` (in percentage points) over the formats' accuracies, and these
    accuracies by format (``configs``, 0 to 1); empty where format_sensitivity was not run."""
    shares = {name: correct / rows for name, (correct, rows) in vendor.formats.items()}
    if not shares:
        return {}
    values, several = list(shares.values()), len(shares) > 1
    return {
        "max_delta": round((max(values) - min(values)) * 100, 2),
        "std": round(statistics.stdev(values) * 100, 2) if several else 0.0,
        "variance": round(statistics.variance(values) * 100**2, 2) if several else 0.0,
        "configs": shares,
    }


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
    accuracies = accuracies_of(vendor)
    columns: dict[str, float | None] = {"Rank": rank, "Overall Acc": _percent(overall(accuracies, version))}
    columns |= latency(vendor.latencies_s)
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
        **({"format_sensitivity": varying} if (varying := sensitivity(vendor)) else {}),
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


def accuracies_of(vendor: VendorResult) -> Accuracies:
    """The accuracies of the categories that were run and judged."""
    pairs = ((category, result.accuracy, result.total) for category, result in vendor.categories.items())
    return {category: (accuracy, total) for category, accuracy, total in pairs if accuracy is not None}


def _ranks(vendors: Sequence[VendorResult], version: Version) -> dict[str, float]:
    """1 = highest ``Overall Acc`` among these vendors; equals share the better place."""
    scores = {vendor.label: overall(accuracies_of(vendor), version) for vendor in vendors}
    return {label: 1.0 + sum(other > mine for other in scores.values()) for label, mine in scores.items()}


def latency(latencies_s: Sequence[float]) -> dict[str, float | None]:
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


def _mean_of(values: Sequence[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return math.fsum(measured) / len(measured) if measured else None
