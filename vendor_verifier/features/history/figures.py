"""The figures that the history keeps of a run, and the least change of each that matters.

A figure is a rank metric (``f1``), a statistic of single records (``ttft_ms.p50``), or an evaluation's main score
(``scores.toolbench``; its name alone will do).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.reports import formats
from vendor_verifier.scoring.metrics import RANK_METRICS, is_share

_SPREADS = [f"{name}.{each}" for name in ("ttft_ms", "e2e_ms", "request_tps") for each in ("p50", "p95")]
FIGURES = (*RANK_METRICS, *_SPREADS, "output_tokens.mean")
# Short names that users type for figures.
ALIASES: Mapping[str, str] = {
    "ttft": "ttft_ms.p50",
    "e2e": "e2e_ms.p50",
    "latency": "e2e_ms.p50",
    "success": "success_rate",
    "schema": "schema_accuracy",
    "tokens": "avg_tokens",
    "output_tokens": "output_tokens.mean",
}
# Medians for latency: a mean of first-token times follows its few worst requests. Output tokens by themselves, because
# long prompts drown them in the sum; of these the mean, because calls are short, texts long, and a median jumps.
WATCHED = ("f1", "success_rate", "schema_accuracy", "ttft_ms.p50", "tps", "avg_tokens", "output_tokens.mean")


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
    """2 points of a share, 5 % of a quantity: a difference of the share, or of logarithms."""
    return 0.02 if is_share(figure) else math.log1p(0.05)


def shown(figure: str, value: float) -> str:
    """A value as it is printed."""
    return formats.short_rate(value) if is_share(figure) else formats.quantity(value)


def shown_change(figure: str, change: float) -> str:
    """A change (of a quantity by its logarithm) as it is printed: ``−7.0 points`` or ``+43.0 %``."""
    text = f"{100 * change:+.1f} points" if is_share(figure) else f"{100 * math.expm1(change):+.1f} %"
    return text.replace("-", "−")
