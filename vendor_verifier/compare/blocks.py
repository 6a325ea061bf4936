"""Which samples are resampled together: measured autocorrelation → block length; it resamples nothing itself.

A vendor that is slow for a minute is slow for all requests of that minute; treating those as independent makes
intervals too short (in simulation 14–25 % wrong verdicts instead of 2–3 %).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from vendor_verifier.compare.panel import Panel
from vendor_verifier.values.judgement import Blocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENOUGH_BLOCKS = 30
# So many tell a standard error to within 1 ÷ √(2·blocks) = 1 %; each further one costs a draw in every resample.
MOST_BLOCKS = 5000
_MAX_LAG = 500
# A block of 2τ still loses a tenth of the standard error at its ends.
_LENGTH = 3


def correlation_time(series: NDArray[np.float64]) -> tuple[float | None, float]:
    """(lag-1 autocorrelation, integrated correlation time τ in steps) of numbers in the order they were measured.

    τ = 1 + 2·Σ ρ(k) over the first lags whose ρ is above 2 ÷ √n (Geyer's initial sequence, cut where it becomes noise);
    1 means independent. NaN, a sample that did not measure, is left out. ``None`` where nothing varies.
    """
    import numpy as np

    known = series[np.isfinite(series)]
    n = known.size
    centred = known - known.mean() if n else known
    if n < 8 or not np.any(np.abs(centred) > 1e-12 * (1 + np.abs(known).max())):
        return None, 1.0
    width = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, width)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), width)[: min(n - 1, _MAX_LAG) + 1]
    rho = covariance / covariance[0]
    noise = 2 / math.sqrt(n)
    below = np.flatnonzero(rho[1:] <= noise)
    last = int(below[0]) if below.size else rho.size - 1
    return float(rho[1]), 1.0 + 2.0 * float(rho[1 : last + 1].sum())


def choose_blocks(panel: Panel) -> tuple[Blocks, list[int]]:
    """Block of every sample of ``panel``, whose samples stand in sending order, and how they were chosen.

    The length is 3τ of the most correlated column, longer where there would be over ``MOST_BLOCKS``, or shorter so that
    ``ENOUGH_BLOCKS`` remain; then, or with few samples, ``enough`` is False. A column counts as correlated when its lag
    1 is above z ÷ √n, z the 1 − 0.05 ÷ columns quantile of a normal: among sixty columns the
    largest of sixty noises is not a burst.
    """
    n = len(panel.samples)
    noise = NormalDist().inv_cdf(1 - 0.05 / max(2, len(panel.cells))) / math.sqrt(max(1, n))
    lag_one: dict[str, float | None] = {}
    longest = 1.0
    for label, metric in panel.cells:
        first, time = correlation_time(_measured_influence(panel, label, metric))
        lag_one[f"{label}/{metric}"] = first
        if first is not None and first > noise:
            longest = max(longest, time)
    wanted = math.ceil(_LENGTH * longest) if longest > 1 else 1
    size = max(1, min(max(wanted, math.ceil(n / MOST_BLOCKS)), n // ENOUGH_BLOCKS))
    ids = [position // size for position in range(n)]
    count = ids[-1] + 1 if ids else 0
    enough = count >= ENOUGH_BLOCKS and size >= wanted
    return Blocks(size, count, longest, dict(sorted(lag_one.items())), enough), ids


def given_blocks(block_of: Sequence[Hashable]) -> tuple[Blocks, list[int]]:
    """Blocks that the run itself formed (its sessions or templates): one name per sample, in panel order."""
    number: dict[Hashable, int] = {}
    ids = [number.setdefault(name, len(number)) for name in block_of]
    size = math.ceil(len(ids) / len(number)) if number else 0
    return Blocks(size, len(number), None, {}, len(number) >= ENOUGH_BLOCKS), ids


def _measured_influence(panel: Panel, label: str, metric: str) -> NDArray[np.float64]:
    """ψ with NaN where no component has anything of the sample."""
    import numpy as np

    influence = panel.influence(label, metric)
    if influence is None:
        return np.empty(0)
    measured = np.any([part.denominators != 0 for part in panel.cells[label, metric]], axis=0)
    return np.where(measured, influence, np.nan)
