"""Is the baseline fit to compare with? Its served names, its agreement with itself, and its failures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from vendor_verifier.findings.base import LEVEL, ModelRun, percent
from vendor_verifier.records.plan import same_model
from vendor_verifier.records.results import FacetName

MOST_FAILURES = 0.1
CERTAIN = 0.001
LEAST_PAIRS = 40
Fault = tuple[tuple[FacetName, ...], str]


def faults(run: ModelRun) -> list[Fault]:
    """What makes the baseline unsound: the facets that cannot be judged by it, and a reason without a full stop."""
    return [*_names(run), *_agreement(run), *_failures(run)]


def fault(run: ModelRun, facet: FacetName) -> str | None:
    """The first reason why a facet cannot be judged by the baseline; None where it can."""
    return next((reason for facets, reason in faults(run) if facet in facets), None)


def changed(run: ModelRun) -> bool:
    """Whether the baseline surely is not one model (p ≤ 0.1 %), so that even a difference from it says nothing."""
    return bool([*_names(run), *_agreement(run, CERTAIN)])


def _names(run: ModelRun) -> Iterator[Fault]:
    names = [str(name) for name in run.reference["served_model"].dropna().unique()]
    others = [name for name in names[1:] if not same_model(names[0], name)]
    if others:
        yield ("model", "tool_calls"), f"the baseline served {names[0]} and {others[0]}"


def _agreement(run: ModelRun, level: float = LEVEL) -> Iterator[Fault]:
    """Two answers to one question agree less, or more, in the second half of the run (Mann–Whitney)."""
    found = np.array(list(run.agreements.values()))
    if found.size < LEAST_PAIRS or not np.ptp(found):
        return
    first, second = np.array_split(found, 2)
    if float(scipy.stats.mannwhitneyu(first, second).pvalue) <= level:
        halves = f"{percent(float(first.mean()))} in the first half, {percent(float(second.mean()))} in the second"
        yield ("model", "tool_calls"), f"the baseline changed during the run: it agrees with itself by {halves}"


def _failures(run: ModelRun) -> Iterator[Fault]:
    failed = int((run.reference["charge"] == "vendor").sum())
    if failed > MOST_FAILURES * len(run.reference):
        yield ("reliability",), f"the baseline failed {failed} of {len(run.reference)} requests"
