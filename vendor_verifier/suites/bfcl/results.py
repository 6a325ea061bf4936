"""Scores of a run → the evaluation's result pages, in the published layout; it judges no reply and writes no file.

``Overall Acc`` is a percentage over the *whole* leaderboard: a category that was not run counts as 0 with all of its
rows. Every page also has a plain accuracy over what was run. Percentages have two decimals.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vendor_verifier.records.record import Record, Score
from vendor_verifier.suites.bfcl.categories import AGENTIC, EXECUTABLE, LIVE_AST, MULTI_TURN, NON_LIVE_AST
from vendor_verifier.suites.bfcl.replies import OUTCOMES

Version = Literal["v3", "v4"]
Accuracies = Mapping[str, tuple[float, int]]
"""Category (v4 name) → (share of rows that are correct, rows) of the categories that were run."""

CUSTOM_METRIC = "tool-calling-accuracy"
_CUSTOM_VALUES = ("function_name_accuracy", "function_name_and_args_accuracy")
_SIMPLE = NON_LIVE_AST[:3]
_IRRELEVANCE = ("irrelevance", "live_irrelevance")
_LIVE: Mapping[Version, tuple[str, ...]] = {"v3": (*LIVE_AST, "live_irrelevance", "live_relevance"), "v4": LIVE_AST}
# The rows of the full sets, for the weight of live categories that were not run.
_LIVE_ROWS = dict(zip(_LIVE["v3"], (258, 1053, 16, 24, 882, 18), strict=True))
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
    pairs = [accuracies.get(category, (0.0, _LIVE_ROWS[category])) for category in _LIVE[version]]
    return sum(accuracy * rows for accuracy, rows in pairs) / sum(rows for _, rows in pairs)


def _mean(accuracies: Accuracies, categories: Sequence[str]) -> float:
    """The unweighted mean, in which categories that were not run count as 0."""
    return sum(accuracies.get(category, (0.0, 0))[0] for category in categories) / len(categories)


def summaries(accuracies: Accuracies, version: Version) -> dict[str, float]:
    """The summary columns (0 to 1) whose categories were all run; upstream prints ``N/A`` for the others."""
    columns = {
        "Non-Live AST Acc": (NON_LIVE_AST, _non_live(accuracies, "v4")),
        "Live Acc": (_LIVE[version], _live(accuracies, version)),
        "Multi Turn Acc": (MULTI_TURN, _mean(accuracies, MULTI_TURN)),
        "Irrelevance Detection": (_IRRELEVANCE, _mean(accuracies, _IRRELEVANCE)),
    }
    return {name: value for name, (needed, value) in columns.items() if all(each in accuracies for each in needed)}


@dataclass(frozen=True, slots=True)
class VendorResult:
    """One vendor's scores in a task. ``latencies_s``: seconds of each answered call."""

    label: str
    scores: Sequence[Score]
    latencies_s: Sequence[float] = ()

    @property
    def by_category(self) -> dict[str, list[Score]]:
        """The scores of each category, those of rows that could not be judged included."""
        found: dict[str, list[Score]] = {}
        for score in self.scores:
            found.setdefault(str(score.details["category"]), []).append(score)
        return found

    @property
    def accuracies(self) -> Accuracies:
        """The accuracies of the categories that were run and judged."""
        judged = {name: _values(scores, "correct") for name, scores in self.by_category.items()}
        return {name: (sum(values) / len(values), len(values)) for name, values in judged.items() if values}


def _values(scores: Sequence[Score], name: str) -> list[float]:
    return [value for score in scores if (value := score.values.get(name)) is not None]


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
            categories = {name: _outcome(scores) for name, scores in vendor.by_category.items()}
            page["run"][task] = {"overall_formula": version, **_share(vendor.scores), "categories": categories}
    return pages


def _metrics(vendor: VendorResult, rank: float, version: Version) -> dict[str, dict[str, Any]]:
    """Metric → its scores. Custom data has its own metric; anything else has the leaderboard's columns."""
    custom = {name: values for name in _CUSTOM_VALUES if (values := _values(vendor.scores, name))}
    if custom:
        means = {name: math.fsum(values) / len(values) for name, values in custom.items()}
        means = {CUSTOM_METRIC: means[_CUSTOM_VALUES[1]], **means}
        return {CUSTOM_METRIC: {name: {"value": value} for name, value in means.items()}}
    accuracies = vendor.accuracies
    shares = {
        "Overall Acc": overall(accuracies, version),
        **{_COLUMNS[category]: share for category, (share, _) in accuracies.items() if category in _COLUMNS},
        **summaries(accuracies, version),
    }
    percent = {name: round(share * 100, 2) for name, share in shares.items()}
    columns = {"Rank": rank, "Overall Acc": percent["Overall Acc"], **_latency(vendor.latencies_s), **percent}
    return {name: {name: {"value": value}} for name, value in columns.items()}


def _share(scores: Sequence[Score]) -> dict[str, Any]:
    values = _values(scores, "correct")
    correct = int(sum(values))
    return {"accuracy": correct / len(values) if values else None, "correct": correct, "rows": len(values)}


def _outcome(scores: Sequence[Score]) -> dict[str, Any]:
    """Correct ÷ judged, how the replies ended, and the error types of the wrong ones."""
    judged = [score for score in scores if score.values.get("correct") is not None]
    outcomes = Counter(str(score.details["outcome"]) for score in judged)
    wrong = Counter(str(score.details["error_type"]) for score in judged if not score.values["correct"])
    return {
        **_share(scores),
        "unjudged": len(scores) - len(judged),
        "outcomes": {name: outcomes[name] for name in OUTCOMES},
        "error_types": dict(wrong.most_common()),
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
