"""The dependence of requests that are neighbours in time, and the width that it adds to an interval.

A vendor that is slow for a minute is slow for all requests of that minute: they are one observation, not fifty. The
error of a figure is a sum of contributions, one a request. Its variance is the level of their spectrum at frequency 0,
estimated from the B lowest cosine transforms, and the error is Student's t with B degrees (equal-weighted cosines:
Müller, Econometrica 75, 2007; Lazarus, Lewis, Stock & Watson, J. Bus. Econ. Stat. 36, 2018). Low frequencies see a slow
drift under noise that no single lag shows. B is not chosen: every B of 6, 12, 24 … whose level is surely above that of
independent requests counts, and the widest decides. Independent requests keep the interval they had. What differences
of many vendors show together counts for each of them.

The drift's correlation length is half the excess at frequency 0 over the excess of all frequencies, times the length of
the run. Where the run holds fewer than ``ENOUGH_STRETCHES`` of them the level itself is hardly known, and t has two
degrees: next to nothing can be told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Fewer independent stretches than this say too little of how much they differ.
ENOUGH_STRETCHES = 20
# The share of independent series that are widened for nothing, at each B.
LEVEL = 0.01
_MOST_WINDOWS = 1024
_FIRST_SCALE = 6
# With a level from fewer cosines than ``_FIRST_SCALE`` the length of a drift is seen that they are too many for.
_LOWEST = (2, 3)
_FEW_DEGREES = 2
# The standard normal quantile of a 95 % interval.
Z = NormalDist().inv_cdf(0.975)


def drift_level(n: int) -> float:
    """The share of independent series of ``n`` times that may be widened for nothing, at each B.

    Times drift at every vendor, so they are doubted sooner, most where a short run shows little of it.
    """
    return min(0.05, max(LEVEL, 40 / n)) if n else LEVEL


class Dependence(msgspec.Struct, frozen=True):
    """The error of a figure whose requests, in the order of time, may be alike.

    ``variance`` is that of independent requests; ``scales`` are (degrees of freedom, variance) by which it is more;
    ``stretches`` the independent ones of the run by the drift's correlation length, None where no drift was seen.
    """

    variance: float
    scales: tuple[tuple[int, float], ...] = ()
    stretches: float | None = None

    @property
    def is_seen(self) -> bool:
        """Whether neighbours are alike."""
        return bool(self.scales)

    @property
    def too_few(self) -> bool:
        """Whether there are fewer independent stretches than ``ENOUGH_STRETCHES``."""
        return self.stretches is not None and self.stretches < ENOUGH_STRETCHES

    def reach(self, quantile: float = Z) -> float:
        """Half the width of an interval for which independent requests would take ``quantile`` standard errors."""
        from vendor_verifier.special_functions import ndtr, stdtrit

        tail = float(ndtr(-quantile))
        wide = (-float(stdtrit(degrees, tail)) * math.sqrt(variance) for degrees, variance in self.scales)
        return max([quantile * math.sqrt(self.variance), *wide])

    def widening(self, quantile: float = Z) -> float:
        """The width of the interval in widths of that of independent requests."""
        return self.reach(quantile) / (quantile * math.sqrt(self.variance)) if self.scales and self.variance else 1.0

    def effective(self, n: int) -> float:
        """The number of independent observations that ``n`` count as."""
        return n / self.widening() ** 2


class Spectrum(msgspec.Struct, frozen=True):
    """The low frequencies of a series of contributions, of which ``Dependence`` is judged.

    ``levels``: degrees of freedom → the mean power of so many lowest cosines; ``white`` is the one that independent
    requests would have, ``fine`` the variance with requests paired, to which what is more than white is added.
    ``excess``: the power above white of all frequencies.
    """

    fine: float
    white: float = 0.0
    levels: Mapping[int, float] = msgspec.field(default_factory=dict)
    excess: float = 0.0

    def judged(self, level: float, common: Mapping[int, float] = MappingProxyType({})) -> Dependence:
        """The dependence by those scales that are surely more than white.

        ``common``: degrees → how many times white the mean power of all vendors' differences is, where that is surely
        more. It counts as much as the own one, with degrees of its own (moderated t: Smyth, Stat. Appl. Genet. Mol.
        Biol. 3, 2004).
        """
        scales = []
        for degrees, found in self.levels.items():
            if degrees in common:
                mean = (found + common[degrees] * self.white) / 2
                scales.append((2 * degrees, self.fine + max(0.0, mean - self.white)))
            elif degrees >= _FIRST_SCALE and found > self.white * _surely_more(degrees, level):
                scales.append((degrees, self.fine + found - self.white))
        if not scales:
            return Dependence(self.fine)
        lowest = (self.fine + self.levels[degrees] - self.white for degrees in _LOWEST)
        top = max(*(variance for _, variance in scales), *lowest)
        stretches = max(1.0, 2 * self.excess / (top - self.fine)) if top > self.fine else math.inf
        if stretches < ENOUGH_STRETCHES:
            scales.append((_FEW_DEGREES, top))
        return Dependence(self.fine, tuple(scales), stretches)


def judged_together(spectra: Sequence[Spectrum | None], vendors: int, level: float) -> list[Dependence | None]:
    """The dependence of differences in one figure between so many vendors, by what each and all together show."""
    found = [each for each in spectra if each is not None and each.levels]
    scales = set.intersection(*(set(each.levels) for each in found)) - set(_LOWEST) if len(found) > 1 else set()
    ratios = {scale: sum(each.levels[scale] / each.white for each in found) / len(found) for scale in scales}
    common = {scale: ratio for scale, ratio in ratios.items() if ratio > _surely_more((vendors - 1) * scale, LEVEL)}
    return [None if each is None else each.judged(level, common) for each in spectra]


def dependence(contributions: NDArray[np.float64], level: float = LEVEL) -> Dependence:
    """The dependence of contributions to one figure's error, which sum up to 0, in the order of time."""
    import numpy as np

    n = contributions.size
    fine = float(contributions @ contributions)
    if n < 4 * _FIRST_SCALE:
        return Dependence(fine)
    count = min(n, _MOST_WINDOWS)
    windows: NDArray[np.float64] = np.bincount(np.arange(n) * count // n, contributions, count).astype(np.float64)
    return _spectrum(windows, fine, fine).judged(level)


def paired_spectrum(both: Sequence[NDArray[np.float64]], windows: Sequence[NDArray[np.int64]]) -> Spectrum:
    """The spectrum of the first figure's error minus the second's, of one sample each at every place.

    ``windows``: the narrow window of time in which each contribution fell, on a common clock. What both share in a
    window cancels, though they were not asked the same samples in it.
    """
    import numpy as np

    one, other = both
    fine = float(np.square(one - other).sum())
    begin = min(int(each[part != 0].min()) if part.any() else 0 for each, part in zip(windows, both, strict=True))
    count = 1 + max(int(each[part != 0].max()) if part.any() else 0 for each, part in zip(windows, both, strict=True))
    if min(count - begin, one.size) < 4 * _FIRST_SCALE:
        return Spectrum(fine)
    sums = [np.bincount(each, part, count)[begin:count] for each, part in zip(windows, both, strict=True)]
    together = windows[0] == windows[1]
    apart = float(one @ one + other @ other - 2 * (one[together] @ other[together]))
    return _spectrum((sums[0] - sums[1]).astype(np.float64), apart, fine)


def common_windows(moments: Sequence[NDArray[np.float64]]) -> list[NDArray[np.int64]]:
    """The window of every moment on one clock, in which each window holds about as many moments as any other.

    A moment that is unknown (NaN) falls into the last window.
    """
    import numpy as np

    known = np.sort(np.concatenate([each[np.isfinite(each)] for each in moments]))
    count = min(max(each.size for each in moments), _MOST_WINDOWS)
    edges = known[np.arange(1, count) * known.size // count] if known.size else np.empty(0)
    return [np.searchsorted(edges, each, "right").astype(np.int64) for each in moments]


def _spectrum(windows: NDArray[np.float64], white: float, fine: float) -> Spectrum:
    """The spectrum of a series of windows."""
    import numpy as np

    if fine <= 0 or white <= 0:
        return Spectrum(fine)
    power = np.square(_cosines(windows)[1:]) / 2
    scales = [_FIRST_SCALE << place for place in range(windows.size.bit_length())]
    degrees = [*_LOWEST, *(each for each in scales if each <= windows.size // 4)]
    sums = np.cumsum(power)
    levels = {each: float(sums[each - 1]) / each for each in degrees}
    return Spectrum(fine, white, levels, float(np.cumsum(power - white).max()))


def _cosines(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coefficients of the discrete cosine transform (DCT-II) up to half the length of a series.

    By one real Fourier transform (J. Makhoul, 1980): ``scipy.fft`` takes a fifth of a second to load.
    """
    import numpy as np

    turned = np.fft.rfft(np.concatenate([series[::2], series[1::2][::-1]]))
    turn = np.exp(-0.5j * np.pi / series.size * np.arange(turned.size))
    found: NDArray[np.float64] = 2 * (turned * turn).real
    return found


@lru_cache(maxsize=512)
def _surely_more(degrees: int, level: float) -> float:
    """A mean of so many squared normals that is exceeded with probability ``level``."""
    from vendor_verifier.special_functions import chdtri

    return float(chdtri(degrees, level)) / degrees
