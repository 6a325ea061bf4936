"""The figures of a run that the history keeps, and the least change of each that matters.

A figure is a rank metric (``f1``), a statistic of single records (``ttft_ms.p50``), or an evaluation's main score
(``scores.toolbench``; its name alone will do).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.scoring.metrics import RANK_METRICS, is_share

# Of output tokens the mean: calls are short and texts long, and a median between the two jumps.
_STATISTICS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ttft_ms", "e2e_ms", "request_tps", "total_tokens"), ("p50", "p95")),
    "output_tokens": ("mean",),
}
FIGURES = (*RANK_METRICS, *(f"{name}.{each}" for name, statistics in _STATISTICS.items() for each in statistics))
# Short names that users type for figures.
ALIASES: Mapping[str, str] = {
    "ttft": "ttft_ms.p50",
    "ttft_p95": "ttft_ms.p95",
    "e2e": "e2e_ms.p50",
    "latency": "e2e_ms.p50",
    "success": "success_rate",
    "schema": "schema_accuracy",
    "tokens": "avg_tokens",
    "output_tokens": "output_tokens.mean",
}
# Medians for latency: a mean of first-token times follows its few worst requests. Output tokens by themselves, because
# long prompts drown them in the sum.
WATCHED = ("f1", "success_rate", "schema_accuracy", "ttft_ms.p50", "tps", "avg_tokens", "output_tokens.mean")
# A change by 5 % of a quantity, or by 2 points of a share, matters.
_LEAST_RATIO, _LEAST_DIFFERENCE = math.log1p(0.05), 0.02


def figures_of(records: pd.DataFrame) -> dict[tuple[str, str], dict[str, float]]:
    """(model, label) → the statistics of single records, of those that were measured."""
    values = pd.DataFrame({
        "ttft_ms": records["ttft_ms"],
        "e2e_ms": records["e2e_ms"],
        "request_tps": records["tokens_after"] / records["decode_s"],
        "total_tokens": records["input_tokens"] + records["output_tokens"],
        "output_tokens": records["output_tokens"],
    })
    groups = values.groupby([records["model"], records["label"]], observed=True)
    parts = {"mean": groups.mean(), "p50": groups.quantile(0.5), "p95": groups.quantile(0.95)}
    found = pd.DataFrame({
        f"{name}.{each}": parts[each][name] for name, statistics in _STATISTICS.items() for each in statistics
    })
    return {(str(key[0]), str(key[1])): dict(row.dropna()) for key, row in found.iterrows()}


def figure_names(words: Iterable[str], suites: Iterable[str], flag: str) -> tuple[str, ...]:
    """The figures that these words stand for, such as ``ttft_ms.p50`` for ``ttft``.

    Raises:
        ProblemsError: a word is no figure of any run with ``suites``: a misspelt one would never be judged.
    """
    known = {name: name for name in FIGURES} | dict(ALIASES) | {name: f"scores.{name}" for name in suites}
    unknown = [word for word in words if word not in known]
    if unknown:
        raise ProblemsError([Problem(f"read {', '.join(unknown)}; known are {', '.join(sorted(known))}", key=flag)])
    return tuple(dict.fromkeys(known[word] for word in words))


def least_change(figure: str) -> float:
    """The least change that matters, on the figure's scale: a difference of a share, else a logarithm."""
    return _LEAST_DIFFERENCE if is_share(figure) else _LEAST_RATIO


def shown(figure: str, value: float) -> str:
    """A value as it is printed: a share with three decimals, else four significant digits."""
    return f"{value:.3f}" if is_share(figure) else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def shown_change(figure: str, change: float) -> str:
    """A change on the figure's scale as it is printed: ``−7.0 points`` or ``+43.0 %``."""
    text = f"{100 * change:+.1f} points" if is_share(figure) else f"{100 * math.expm1(change):+.1f} %"
    return text.replace("-", "−")
