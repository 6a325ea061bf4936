"""The paired block bootstrap of all metrics, vendors and IRF: block length, resamples.

Every metric is a ratio of per-sample sums, so a resample is a row of block counts and all resamples of all metrics are
one matrix product, counts[R, blocks] @ sums[blocks, columns] (Efron & Tibshirani 1993; blocks: Künsch 1989). The same
counts serve every vendor: that is what pairs them. Chunks bound the memory.

Samples that were asked one after the other may be alike (:mod:`vendor_verifier.stats.dependence`). They are drawn in
blocks for it, and where a run has too few blocks of that length the draws of single figures are widened besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from vendor_verifier.metrics import is_share
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Blocks
from vendor_verifier.stats.dependence import ENOUGH_STRETCHES, Z
from vendor_verifier.stats.panel import Component, Panel
from vendor_verifier.stats.ratio_table import TIMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


ENOUGH_BLOCKS = 30
# So many blocks give a standard error to within 1 ÷ √(2·blocks) = 1 %; each further one costs a draw per resample.
MOST_BLOCKS = 5000
_LEAST_NEIGHBOURS = 8
_SURE = 0.01
# A block of 2τ still loses a tenth of the standard error at its ends.
_LENGTH = 3


def choose_blocks(panel: Panel) -> tuple[Blocks, list[int]]:
    """Block of every sample of ``panel``, whose samples stand in sending order, and how they were chosen.

    The correlation time is twice the longest correlation length of a column, as for an autoregression, and blocks are
    three of them long, longer where there would be over ``MOST_BLOCKS``, or shorter so that ``ENOUGH_BLOCKS`` remain.
    ``enough`` is False below ``ENOUGH_BLOCKS``, and where a column has too few independent stretches.
    """
    n = len(panel.samples)
    lag_one: dict[str, float | None] = {}
    fewest: float | None = None
    for label, metric in panel.cells:
        lag_one[f"{label}/{metric}"] = _lag_one(_measured_influence(panel, label, metric))
        stretches = drift_stretches(panel, label, metric)
        if stretches is not None:
            fewest = min(stretches, fewest or math.inf)
    longest = max(1.0, 2 * n / fewest) if fewest else 1.0
    wanted = math.ceil(_LENGTH * longest) if longest > 1 else 1
    size = max(1, min(max(wanted, math.ceil(n / MOST_BLOCKS)), n // ENOUGH_BLOCKS))
    ids = [position // size for position in range(n)]
    count = ids[-1] + 1 if ids else 0
    enough = count >= ENOUGH_BLOCKS and (fewest is None or fewest >= ENOUGH_STRETCHES)
    return Blocks(size, count, longest, dict(sorted(lag_one.items())), enough), ids


def drift_stretches(panel: Panel, label: str, metric: str) -> float | None:
    """The independent stretches of a figure that surely drifts, else ``None``.

    Sure is a level of 0.01 ÷ columns at each scale: the largest of sixty noises is not a drift.
    """
    found = panel.dependence(label, metric, _SURE / max(2, len(panel.cells)))
    return None if found is None else found.stretches


def _lag_one(series: NDArray[np.float64]) -> float | None:
    """The autocorrelation of neighbours, those left out that did not measure (NaN); ``None`` where nothing varies."""
    import numpy as np

    known = series[np.isfinite(series)]
    if known.size < _LEAST_NEIGHBOURS:
        return None
    centred = known - known.mean()
    if not np.any(np.abs(centred) > 1e-12 * (1 + np.abs(known).max())):
        return None
    return float(centred[1:] @ centred[:-1] / (centred @ centred))


def _measured_influence(panel: Panel, label: str, metric: str) -> NDArray[np.float64]:
    """ψ with NaN where no component has anything of the sample."""
    import numpy as np

    influence = panel.influence(label, metric)
    if influence is None:
        return np.empty(0)
    measured = np.any([part.denominators != 0 for part in panel.cells[label, metric]], axis=0)
    return np.where(measured, influence, np.nan)


RESAMPLES = 2000
_CHUNK_CELLS = 1_000_000
# e to the power of it is as good as no end.
_MOST_LOG = 30.0


class Resampled(msgspec.Struct, frozen=True):
    """``point``: (vendors, metrics); ``draws``: (resamples, vendors, metrics). NaN is "not measured".

    The draws of two vendors belong together. Each by itself spreads as ``widened`` says.
    """

    panel: Panel
    point: NDArray[np.float64]
    draws: NDArray[np.float64]
    blocks: Blocks

    @property
    def labels(self) -> tuple[str, ...]:
        return self.panel.labels

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.panel.metrics

    def widened(self) -> Resampled:
        """The same with every figure's draws as far apart as its dependence asks for, where blocks did not do it."""
        import numpy as np

        draws = self.draws.copy()
        for label, metric in self.panel.cells:
            row, column = self.labels.index(label), self.metrics.index(metric)
            found = self.panel.dependence(label, metric)
            drawn = self.draws[:, row, column]
            error = float(np.nanstd(drawn)) if found is not None and found.is_seen else 0.0
            if found is not None and error > 0 and (times := found.reach() / (Z * error)) > 1:
                draws[:, row, column] = _spread_out(drawn, float(self.point[row, column]), times, metric)
        return structs.replace(self, draws=draws)


def bootstrap(
    panel: Panel,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    blocks: tuple[Blocks, Sequence[int]] | None = None,
) -> Resampled:
    """Resample the blocks of ``panel`` with replacement, ``resamples`` times.

    ``blocks``: a description and the block number of every sample, 0…count−1; by default chosen from the measured
    autocorrelation, for which the panel's samples must stand in sending order.

    Raises:
        ValueError: the panel has no samples, or ``blocks`` does not name one per sample.
    """
    import numpy as np

    described, ids = choose_blocks(panel) if blocks is None else blocks
    if not panel.samples or len(ids) != len(panel.samples):
        raise ValueError("a bootstrap needs samples, and a block for each of them")
    columns = [
        (panel.labels.index(label), panel.metrics.index(metric), part)
        for (label, metric), parts in panel.cells.items()
        for part in parts
    ]
    sums = _block_sums([part for _, _, part in columns], np.asarray(ids))
    shape = (len(panel.labels), len(panel.metrics))
    places = [(row, column) for row, column, _ in columns]
    point = _means(sums.sum(axis=0)[None, :], places, shape)[0]
    draws = np.empty((resamples, *shape))
    chunk = max(1, _CHUNK_CELLS // sums.shape[0])
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        draws[start : start + size] = _means(_counts(rng, size, sums.shape[0]) @ sums, places, shape)
    return Resampled(panel, point, draws, described)


def _spread_out(draws: NDArray[np.float64], point: float, times: float, metric: str) -> NDArray[np.float64]:
    """The draws so many times as far from the point, times by their logarithm, and none below 0."""
    import numpy as np

    if metric in TIMES and point > 0 and np.nanmin(draws) > 0:
        result: NDArray[np.float64] = point * np.exp(np.clip(times * np.log(draws / point), -_MOST_LOG, _MOST_LOG))
        return result
    return np.clip(point + times * (draws - point), 0.0, 1.0 if is_share(metric) else None)


def percentile_estimate(resampled: Resampled, label: str, metric: str, n: int, level: float = 0.95) -> Estimate:
    """The bootstrap percentile interval of one figure, widened to hold the figure itself.

    Raises:
        ValueError: the label or metric is not in ``resampled``.
    """
    row, column = resampled.labels.index(label), resampled.metrics.index(metric)
    return spread(float(resampled.point[row, column]), resampled.draws[:, row, column], n, level)


def spread(value: float, draws: NDArray[np.float64], n: int, level: float = 0.95) -> Estimate:
    """The estimate of ``value`` with the central ``level`` share of its ``draws``; empty when it was not measured."""
    import numpy as np

    known = draws[np.isfinite(draws)]
    if not np.isfinite(value) or not known.size:
        return Estimate(None, n=n, method="bootstrap", level=level)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, min(float(low), value), max(float(high), value), n, "bootstrap", level)


def _block_sums(parts: Sequence[Component], ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums per block: shape (blocks, 2 · components), all numerators and then all denominators."""
    import numpy as np

    columns = [part.numerators for part in parts] + [part.denominators for part in parts]
    matrix = np.stack(columns, axis=1) if columns else np.empty((ids.size, 0))
    order = np.argsort(ids, kind="stable")
    starts = np.flatnonzero(np.diff(ids[order], prepend=-1))
    result: NDArray[np.float64] = np.add.reduceat(matrix[order], starts, axis=0)
    return result


def _counts(rng: np.random.Generator, size: int, blocks: int) -> NDArray[np.float64]:
    """Counts of draws per block: shape (size, blocks), every row sums to ``blocks``."""
    import numpy as np

    drawn = rng.integers(0, blocks, (size, blocks), dtype=np.int32)
    drawn += np.arange(0, size * blocks, blocks, dtype=np.int32)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * blocks).reshape(size, blocks).astype(np.float64)


def _means(sums: NDArray[np.float64], places: Sequence[tuple[int, int]], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Ratios of sums, averaged over the components of one cell that measured: shape (rows of ``sums``, *shape)."""
    import numpy as np

    half = sums.shape[1] // 2
    totals, known = np.zeros((sums.shape[0], *shape)), np.zeros((sums.shape[0], *shape))
    for column, (row, metric) in enumerate(places):
        numerator, denominator = sums[:, column], sums[:, half + column]
        measured = denominator != 0
        totals[:, row, metric] += np.divide(numerator, denominator, out=np.zeros_like(numerator), where=measured)
        known[:, row, metric] += measured
    return np.divide(totals, known, out=np.full_like(totals, np.nan), where=known > 0)
