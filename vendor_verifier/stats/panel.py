"""One model's vendors side by side: every metric a ratio of sums over the same samples, in the same order.

A metric of a vendor is the mean of its components, each Σ numerators ÷ Σ denominators over samples. All have one
component but F1, which has one per ordered pair of a baseline run and a vendor run:
numerator 2·TP, denominator 2·TP + FP + FN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.records.manifest import BaselineF1, Undecided
from vendor_verifier.scoring.row_keys import Units
from vendor_verifier.scoring.trigger_f1 import Run, cell, has_calls
from vendor_verifier.stats.dependence import (
    LEVEL,
    Dependence,
    Spectrum,
    common_windows,
    dependence,
    drift_level,
    paired_spectrum,
)
from vendor_verifier.stats.ratio_table import TIMES, Part, RatioColumn, Trials

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_F1_PARTS: Mapping[str, Part] = {
    "tp": (2.0, 2.0),
    "fp": (0.0, 1.0),
    "fn": (0.0, 1.0),
    "failed_as_missed": (0.0, 1.0),
}
_NOTHING: Part = (0.0, 0.0)


class Component(msgspec.Struct, frozen=True):
    """A ratio of sums: two arrays of shape (samples,)."""

    numerators: NDArray[np.float64]
    denominators: NDArray[np.float64]

    @property
    def value(self) -> float | None:
        """Σ numerators ÷ Σ denominators; ``None`` for 0 ÷ 0."""
        total = float(self.denominators.sum())
        return float(self.numerators.sum()) / total if total else None

    def influence(self) -> NDArray[np.float64]:
        """ψᵢ = (numeratorᵢ − ratio·denominatorᵢ) ÷ mean(denominator); SE(ratio) = sd(ψ) ÷ √n (delta method)."""
        import numpy as np

        value = self.value
        if value is None:
            return np.full(self.numerators.shape, np.nan)
        result: NDArray[np.float64] = (self.numerators - value * self.denominators) / self.denominators.mean()
        return result


class Panel(msgspec.Struct, frozen=True):
    """``cells``: (label, metric) → components; a vendor that did not measure a metric has no cell.

    ``windows``: label → the window of time, on a clock common to all labels, in which each sample was sent; without
    them the samples' own order is their order in time.
    """

    samples: tuple[str, ...]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[Component, ...]]
    windows: Mapping[str, NDArray[np.int64]] = msgspec.field(default_factory=dict)

    def value(self, label: str, metric: str) -> float | None:
        """The mean of the components that measured."""
        found = [part.value for part in self.cells.get((label, metric), ())]
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if known else None

    def influence(self, label: str, metric: str) -> NDArray[np.float64] | None:
        """ψ of the metric over samples, the mean over its components; ``None`` where it was not measured."""
        import numpy as np

        parts = [part.influence() for part in self.cells.get((label, metric), ()) if part.value is not None]
        return np.mean(parts, axis=0) if parts else None

    def dependence(self, label: str, metric: str, level: float | None = None) -> Dependence | None:
        """The dependence of one figure's samples in the order of time; ``None`` where it was not measured."""
        import numpy as np

        influence = self.influence(label, metric)
        if influence is None:
            return None
        if label in self.windows:
            influence = influence[np.argsort(self.windows[label], kind="stable")]
        return dependence(influence / influence.size, self.level(metric) if level is None else level)

    def level(self, metric: str) -> float:
        """The share of independent figures of this metric that may be taken for drifting, at each scale."""
        return drift_level(len(self.samples)) if metric in TIMES else LEVEL


def apart(metric: str, one: tuple[Panel, str], other: tuple[Panel, str]) -> Spectrum | None:
    """The spectrum of one label's figure minus another's, of panels with the same samples and clock.

    Times are paired by narrow windows of time, all else by sample. ``None`` where one of them did not measure.
    """
    import numpy as np

    ours, theirs = (panel.influence(label, metric) for panel, label in (one, other))
    if ours is None or theirs is None:
        return None
    n = ours.size
    windows = [panel.windows.get(label) if metric in TIMES else None for panel, label in (one, other)]
    order = np.arange(n)
    return paired_spectrum((ours / n, theirs / n), [order if each is None else each for each in windows])


def build_panel(
    trials: Sequence[Trials],
    samples: Sequence[str],
    *,
    baseline: str | None = None,
    metrics: Sequence[str],
    undecided: Undecided = "missed",
    baseline_f1: BaselineF1 = "self",
) -> Panel:
    """Align ``trials`` over ``samples``, given in the order in which they were sent.

    The baseline's own ``f1`` is its self-F1 over ordered pairs of different runs (``self``; no cell with one run), or
    1.0 by definition (``fixed``). Use ``fixed`` only for IRF as published: no vendor can beat 1.0.

    Raises:
        ValueError: two trials share a label, or a sample is named twice.
    """
    labels = tuple(each.label for each in trials)
    if len(set(labels)) < len(labels) or len(set(samples)) < len(samples):
        raise ValueError("labels and samples must be unique")
    by_label = {each.label: each for each in trials}
    expected = by_label[baseline].runs if baseline in by_label else ()
    places = {name: place for place, name in enumerate(samples)}
    units: dict[int, tuple[Units, NDArray[np.int64]]] = {}
    cells: dict[tuple[str, str], tuple[Component, ...]] = {}
    for each in trials:
        for metric in metrics:
            if metric == "f1":
                own = each.label == baseline
                fixed = own and baseline_f1 == "fixed"
                parts = _fixed(each.runs, samples) if fixed else _f1(expected, each.runs, samples, undecided, own=own)
            else:
                column = RatioColumn.of(each.ratios.get(metric, {}))
                if id(column.units) not in units:
                    # Most columns of an entry share their units.
                    units[id(column.units)] = column.units, column.units.places_in(places)
                # The sum over repetitions, so that a sample stays one unit.
                parts = (Component(*column.sums(units[id(column.units)][1], len(samples))),)
            if any(part.value is not None for part in parts):
                cells[each.label, metric] = parts
    return Panel(tuple(samples), labels, tuple(metrics), cells, _windows(trials, places))


def _windows(trials: Sequence[Trials], places: Mapping[str, int]) -> dict[str, NDArray[np.int64]]:
    """The window of time in which each sample was first sent, by label; none where some label's times are unknown."""
    import numpy as np

    moments = []
    for each in trials:
        if not each.sent:
            return {}
        first = np.full(len(places), np.inf)
        at = each.sent.units.places_in(places)[each.sent.at]
        np.minimum.at(first, at[at >= 0], each.sent.numerators[at >= 0])
        moments.append(np.where(np.isfinite(first), first, np.nan))
    windows = common_windows(moments) if moments else []
    return dict(zip((each.label for each in trials), windows, strict=True))


def _f1(
    expected: Sequence[Run], got: Sequence[Run], samples: Sequence[str], undecided: Undecided, *, own: bool
) -> tuple[Component, ...]:
    pairs = [
        (one, other)
        for i, one in enumerate(expected)
        for j, other in enumerate(got)
        if (not own or i != j) and has_calls(one, samples)
    ]
    return tuple(
        _component([_F1_PARTS.get(cell(one.get(name), other.get(name), undecided), _NOTHING) for name in samples])
        for one, other in pairs
    )


def _fixed(runs: Sequence[Run], samples: Sequence[str]) -> tuple[Component, ...]:
    return (_component([(1.0, 1.0)] * len(samples)),) if any(has_calls(run, samples) for run in runs) else ()


def _component(parts: Sequence[Part]) -> Component:
    import numpy as np

    array = np.asarray(parts, dtype=np.float64).reshape(-1, 2)
    return Component(np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1]))
