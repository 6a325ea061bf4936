"""The changes of one vendor's figure between two runs, sample by sample, and how its drifts in both hang over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from vendor_verifier.features.history.figures import scale_of
from vendor_verifier.stats.dependence import Dependence, drift_level, paired_spectrum
from vendor_verifier.stats.panel import Component, Panel
from vendor_verifier.stats.ratio_table import TIMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_PAIRS = 2


class Paired(msgspec.Struct, frozen=True):
    """Per-sample changes of one vendor's figure before any shared change is taken out, shape (pairs,).

    ``alike`` is the dependence of both runs' times, each in its own order of sending.
    """

    label: str
    metric: str
    before: float
    after: float
    changes: NDArray[np.float64]
    alike: Dependence | None = None


def paired_changes(before: Panel, after: Panel, label: str, metric: str) -> Paired | None:
    """The changes of one figure over the samples that both runs measured; ``None`` where these are fewer than two."""
    ratio = scale_of(metric) == "ratio"
    before, after = _measured_by_both(before, after, label, metric, positive=ratio)
    first, second = before.value(label, metric), after.value(label, metric)
    if first is None or second is None:
        return None
    changes = _log_ratios(before, after, label, metric) if ratio else _influences(before, after, label, metric)
    if changes is None or len(changes) < LEAST_PAIRS:
        return None
    alike = _alike(before, after, label, metric) if metric in TIMES and ratio else None
    return Paired(label, metric, first, second, changes, alike)


def _alike(before: Panel, after: Panel, label: str, metric: str) -> Dependence | None:
    """The dependence of a time's mean logarithm after minus before; ``None`` where times of sending are unknown."""
    import numpy as np

    if label not in before.windows or label not in after.windows:
        return None
    sides = []
    for panel in (before, after):
        (part,) = panel.cells[label, metric]
        logarithms = np.log(part.numerators / part.denominators)
        sides.append((logarithms - logarithms.mean()) / logarithms.size)
    # The runs have clocks of their own, so only the order within each counts.
    clocks = [np.argsort(np.argsort(panel.windows[label], kind="stable")) for panel in (after, before)]
    return paired_spectrum((sides[1], sides[0]), clocks).judged(drift_level(sides[0].size))


def _measured_by_both(before: Panel, after: Panel, label: str, metric: str, *, positive: bool) -> tuple[Panel, Panel]:
    """Both panels with this figure's samples alone that each of them measured, on request above 0.

    F1 is taken over whole runs, pair by pair, and keeps all of its samples.
    """
    import numpy as np

    sides = [panel.cells.get((label, metric), ()) for panel in (before, after)]
    if any(len(side) != 1 for side in sides) or metric == "f1":
        return before, after
    parts = [each for (side,) in sides for each in (side.denominators, *([side.numerators] if positive else []))]
    both = np.logical_and.reduce([part > 0 for part in parts])
    kept = [Component(side.numerators[both], side.denominators[both]) for (side,) in sides]
    one, other = (
        structs.replace(
            panel,
            cells={(label, metric): (each,)},
            windows={name: windows[both] for name, windows in panel.windows.items()},
        )
        for panel, each in zip((before, after), kept, strict=True)
    )
    return one, other


def _log_ratios(before: Panel, after: Panel, label: str, metric: str) -> NDArray[np.float64]:
    """ln(after ÷ before) of each sample."""
    import numpy as np

    (one,), (other,) = before.cells[label, metric], after.cells[label, metric]
    first, second = (each.numerators / each.denominators for each in (one, other))
    result: NDArray[np.float64] = np.log(second / first)
    return result


def _influences(before: Panel, after: Panel, label: str, metric: str) -> NDArray[np.float64] | None:
    """ψ after − ψ before, around the change itself."""
    one, other = before.influence(label, metric), after.influence(label, metric)
    first, second = before.value(label, metric), after.value(label, metric)
    if one is None or other is None or first is None or second is None:
        return None
    result: NDArray[np.float64] = other - one + (second - first)
    return result
