"""Is the baseline fit to compare with? Its agreement with itself, its failures and its served names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from vendor_verifier.findings.base import ModelRun, percent
from vendor_verifier.records.model_names import same_model
from vendor_verifier.records.results import FacetName
from vendor_verifier.stats.answers import similarity

LEVEL = 0.01
MOST_FAILURES = 0.1
LEAST_PAIRS = 40


def faults(run: ModelRun) -> list[tuple[tuple[FacetName, ...], str]]:
    """What makes the baseline unsound: the facets that cannot be judged by it, and a sentence."""
    return [] if run.baseline is None else [*_names(run), *_agreement(run), *_failures(run)]


def fault(run: ModelRun, facet: FacetName) -> str | None:
    """The first reason why a facet cannot be judged by the baseline; None where it can."""
    return next((reason for facets, reason in faults(run) if facet in facets), None)


def _names(run: ModelRun) -> Iterator[tuple[tuple[FacetName, ...], str]]:
    names = [str(name) for name in run.rows[run.baseline or ""]["served_model"].dropna().unique()]
    others = [name for name in names[1:] if not same_model(names[0], name)]
    if others:
        yield ("model", "tool_calls"), f"the baseline changed its model from {names[0]} to {others[0]}"


def _agreement(run: ModelRun) -> Iterator[tuple[tuple[FacetName, ...], str]]:
    """Two answers to one question agree less, or more, in the second half of the run (Mann–Whitney)."""
    agreement = agreements(run)
    if agreement.size >= LEAST_PAIRS:
        first, second = np.array_split(agreement, 2)
        if np.ptp(agreement) and float(stats.mannwhitneyu(first, second).pvalue) <= LEVEL:
            reason = (
                f"the baseline changed during the run: its answers agree with themselves by {percent(first.mean())} "
                f"in the first half, {percent(second.mean())} in the second"
            )
            yield ("model", "tool_calls"), reason


def agreements(run: ModelRun) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How far the baseline's two answers to a question agree, 0 to 1, in the order of sending; empty without texts."""
    rows = run.rows[run.baseline or ""]
    texts = run.texts.get(run.baseline or "", {})
    found = []
    order = rows[rows["repetition"] == 1]
    for question in zip(order["suite"].astype(str), order["sample"].astype(str), strict=True):
        both = texts.get(question, {})
        if 0 in both and 1 in both and not run.redacted:
            found.append(similarity(both[0].shown, both[1].shown))
    return np.array(found)


def _failures(run: ModelRun) -> Iterator[tuple[tuple[FacetName, ...], str]]:
    rows = run.rows[run.baseline or ""]
    failed = int((rows["charge"] == "vendor").sum())
    if failed > MOST_FAILURES * len(rows):
        yield ("reliability",), f"the baseline failed {failed} of {len(rows)} requests"
