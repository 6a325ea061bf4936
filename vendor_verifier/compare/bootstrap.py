"""One paired block bootstrap for all metrics, vendors and IRF together; it draws no conclusion.

Every metric is a ratio of per-sample sums, so a resample is a row of block counts and all resamples of all metrics are
one matrix product, counts[R, blocks] @ sums[blocks, columns] (Efron & Tibshirani 1993; blocks: Künsch 1989). The same
counts serve every vendor: that is what pairs them. Chunks bound the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vendor_verifier.compare.blocks import choose_blocks
from vendor_verifier.compare.panel import Component, Panel
from vendor_verifier.values.judgement import Blocks, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 2000
_CHUNK_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Resampled:
    """``point``: (vendors, metrics); ``draws``: (resamples, vendors, metrics). NaN is "not measured"."""

    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    point: NDArray[np.float64]
    draws: NDArray[np.float64]
    blocks: Blocks


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
    return Resampled(panel.labels, panel.metrics, point, draws, described)


def percentile_estimate(resampled: Resampled, label: str, metric: str, n: int, level: float = 0.95) -> Estimate:
    """The bootstrap percentile interval of one figure, widened to hold the figure itself.

    Raises:
        ValueError: the label or metric is not in ``resampled``.
    """
    row, column = resampled.labels.index(label), resampled.metrics.index(metric)
    return spread(float(resampled.point[row, column]), resampled.draws[:, row, column], n, level)


def spread(value: float, draws: NDArray[np.float64], n: int, level: float = 0.95) -> Estimate:
    """``value`` with the central ``level`` share of its ``draws``; nothing when it was not measured."""
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
    """How often each block was drawn: shape (size, blocks), every row sums to ``blocks``."""
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
