"""Figures and differences that rest on too few independent stretches of time, which every output says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vendor_verifier.records.judgement import Difference, FewStretches
from vendor_verifier.stats.bootstrap import drift_stretches
from vendor_verifier.stats.dependence import ENOUGH_STRETCHES
from vendor_verifier.stats.panel import Panel


def few_stretches(panel: Panel, differences: Iterable[Difference] = ()) -> Iterator[FewStretches]:
    """The vendors' own figures first, then the pairs that only independent requests would tell apart."""
    for label, metric in panel.cells:
        stretches = drift_stretches(panel, label, metric)
        if stretches is not None and stretches < ENOUGH_STRETCHES:
            yield FewStretches(metric, label, None, stretches)
    for each in differences:
        if each.stretches is not None:
            yield FewStretches(each.metric, each.first, each.second, each.stretches)
