"""The leaderboard's sums: accuracies per category → columns and ``Overall Acc``, in both versions; it counts no rows.

Sources: the aggregation of nvidia_bfcl 26.3 (v3) and bfcl_eval 2026.3.23 (v4). Shares are 0..1 here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from vendor_verifier.suites.bfcl.categories import AGENTIC, LIVE_AST, MULTI_TURN, SINGLE_TURN, V3_ROWS, V4_ROWS

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


def overall(accuracies: Accuracies, version: Version) -> float:
    """``Overall Acc``: categories that were not run count as 0.

    v3: the mean of live, non-live and multi-turn, where non-live is the mean of nine (simple, multiple, parallel and
    parallel-multiple AST; the same four executed, simple being the mean of exec_simple and rest; irrelevance).
    v4: 10 % non-live AST, 10 % live AST, 10 % irrelevance, 30 % multi-turn, 40 % agentic.
    """
    share = {category: accuracy for category, (accuracy, _) in accuracies.items()}
    simple_ast = _mean(share, _SIMPLE)
    non_live_ast = [simple_ast, *(share.get(category, 0.0) for category in _NON_LIVE_REST)]
    multi_turn = _mean(share, MULTI_TURN)
    if version == "v3":
        executed = [_mean(share, ("exec_simple", "rest")), *(share.get(category, 0.0) for category in _EXECUTABLE_REST)]
        non_live = sum([*non_live_ast, *executed, share.get("irrelevance", 0.0)]) / 9
        return (_weighted(accuracies, _LIVE_V3, V3_ROWS) + non_live + multi_turn) / 3
    agentic = (_mean(share, AGENTIC[:3]) + _mean(share, AGENTIC[3:])) / 2
    return (
        0.1 * sum(non_live_ast) / 4
        + 0.1 * _weighted(accuracies, LIVE_AST, V4_ROWS)
        + 0.1 * _mean(share, _IRRELEVANCE)
        + 0.3 * multi_turn
        + 0.4 * agentic
    )


def summaries(accuracies: Accuracies, version: Version) -> dict[str, float]:
    """The summary columns all of whose categories were run; upstream prints ``N/A`` for the others."""
    share = {category: accuracy for category, (accuracy, _) in accuracies.items()}
    found: dict[str, float] = {}
    if _ran(share, _SIMPLE):
        found["Non-Live Simple AST"] = _mean(share, _SIMPLE)
    if _ran(share, (*_SIMPLE, *_NON_LIVE_REST)):
        groups = [_mean(share, _SIMPLE), *(share[category] for category in _NON_LIVE_REST)]
        found["Non-Live AST Acc"] = sum(groups) / 4
    live = _LIVE_V3 if version == "v3" else LIVE_AST
    if _ran(share, live):
        found["Live Acc"] = _weighted(accuracies, live, V3_ROWS if version == "v3" else V4_ROWS)
    if _ran(share, MULTI_TURN):
        found["Multi Turn Acc"] = _mean(share, MULTI_TURN)
    refused = [share[category] for category in _IRRELEVANCE if category in share]
    if refused:
        # The mean of both sets; of one, as on its own part of the leaderboard, when the other was not run.
        found["Irrelevance Detection"] = sum(refused) / len(refused)
    return found


def _ran(share: Mapping[str, float], categories: Sequence[str]) -> bool:
    return all(category in share for category in categories)


def _mean(share: Mapping[str, float], categories: Sequence[str]) -> float:
    return sum(share.get(category, 0.0) for category in categories) / len(categories)


def _weighted(accuracies: Accuracies, categories: Sequence[str], all_rows: Mapping[str, int]) -> float:
    """By rows: those that were run, or all rows of a category that was not."""
    pairs = [accuracies.get(category, (0.0, all_rows[category])) for category in categories]
    return sum(accuracy * rows for accuracy, rows in pairs) / sum(rows for _, rows in pairs)
