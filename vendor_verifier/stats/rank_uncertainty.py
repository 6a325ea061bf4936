"""Rank uncertainty: rank intervals, tie groups and IRF over the resamples.

A vendor's rank is an interval, 1 + #significantly better … V − #significantly worse (Mogstad, Romano, Shaikh, Wilhelm,
Review of Economic Studies 2024). Ranks are not merged: "not different" is not transitive, so a vendor may stand in two
tie groups.

IRF orders even identical vendors, with a gap that does not shrink as samples are added, because ranks have no scale.
Never show ``p_first`` alone: among five equal vendors the leader has 0.53 of it on average, not 0.2.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from vendor_verifier.metrics import is_higher_better
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Difference, IrfInterval, RankInterval
from vendor_verifier.scoring.irf import Beside, K
from vendor_verifier.stats.bootstrap import Resampled, spread
from vendor_verifier.stats.dependence import Dependence, Spectrum, judged_together
from vendor_verifier.stats.overlap import Overlaps, Side
from vendor_verifier.stats.panel import Panel, apart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


CutPairs = Mapping[str, Sequence[tuple[int, int, "Side", "Side"]]]
"""Metric → positions of two vendors and the figures that these two are compared by."""


def irf_draws(
    values: NDArray[np.float64],
    metrics: tuple[str, ...],
    k: int = K,
    pairs: CutPairs | None = None,
    unranked: Container[str] = (),
) -> NDArray[np.float64]:
    """IRF of every row of ``values`` (rows, vendors, metrics): shape (rows, vendors), as ``scoring.irf`` computes it.

    Average rank = 1 + #better + #equal others ÷ 2, exact ties on unrounded values; NaN is not ranked and adds nothing,
    nor do ``unranked`` metrics. The two of a pair in ``pairs`` are compared by their figures there, draw by draw; a
    single row holds the values.
    """
    import numpy as np

    total = np.zeros(values.shape[:2])
    for column, metric in ((at, name) for at, name in enumerate(metrics) if name not in unranked):
        figures = values[:, :, column] * (1.0 if is_higher_better(metric) else -1.0)
        measured = np.isfinite(figures)
        rank = np.empty(figures.shape)
        for vendor in range(figures.shape[1]):
            own = figures[:, vendor, None]
            rank[:, vendor] = 0.5 + (figures > own).sum(axis=1) + 0.5 * (figures == own).sum(axis=1)
        for first, second, ours, theirs in (pairs or {}).get(metric, ()):
            one, other = (np.array([side.value]) if len(figures) == 1 else side.draws for side in (ours, theirs))
            shift = _behind(one, other) if is_higher_better(metric) else _behind(other, one)
            shift -= _behind(figures[:, first], figures[:, second])
            shift[~np.isfinite(one + other)] = 0.0
            rank[:, first] += shift
            rank[:, second] -= shift
        total += np.where(measured, 1.0 / (rank + k), 0.0)
    return total


def _behind(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where ``other`` is higher than ``one``, half for equals, 0 where it is lower."""
    result: NDArray[np.float64] = (other > one) + 0.5 * (other == one)
    return result


def irf_intervals(
    resampled: Resampled, n: int, k: int = K, cut: Cut | None = None, unranked: Container[str] = ()
) -> tuple[tuple[IrfInterval, ...], dict[str, Estimate]]:
    """Per measured vendor, best first, its IRF with interval; and per other vendor the leader's IRF minus its own.

    ``p_first`` shares a tie for the lead. ``n`` is the number of samples. Where a gap's interval covers 0 the order of
    the two is not established.
    """
    import numpy as np

    resampled = resampled.widened()
    pairs = None if cut is None else cut.widened().pairs(resampled)
    point = irf_draws(resampled.point[None], resampled.metrics, k, pairs, unranked)[0]
    draws = irf_draws(resampled.draws, resampled.metrics, k, pairs, unranked)
    leads = np.isclose(draws, draws.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    p_first = (leads / leads.sum(axis=1, keepdims=True)).mean(axis=0)
    places, drawn = _places(point[None])[0], _places(draws)
    ranked = point > 0
    order = sorted(np.flatnonzero(ranked).tolist(), key=lambda row: -point[row])
    rows = tuple(
        IrfInterval(
            resampled.labels[row],
            spread(float(point[row]), draws[:, row], n),
            float(p_first[row]),
            spread(float(places[row]), drawn[:, row], n),
        )
        for row in order
    )
    lead = order[0] if order else 0
    gaps = {
        resampled.labels[row]: spread(float(point[lead] - point[row]), draws[:, lead] - draws[:, row], n)
        for row in order[1:]
    }
    return rows, gaps


def _places(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rank of every score within its row: 1 + the number of higher scores."""
    import numpy as np

    columns = [(scores > scores[:, row, None] + 1e-12).sum(axis=1) + 1.0 for row in range(scores.shape[1])]
    return np.stack(columns, axis=1)


# For a difference whose resamples do not vary at all, as when one vendor bills exactly 7 tokens more.
_EXACT = 1e-9
# Below this a difference without any variation could be chance (a sign test gives 2 · 2⁻¹²), so no pair is compared.
LEAST_BLOCKS = 12
# A pair that could not be computed in more of the resamples is not compared.
_MAX_UNMEASURED = 0.05


class _Pair(msgspec.Struct, frozen=True):
    metric: str
    first: int
    second: int
    value: float
    error: float
    blocks: int
    spectrum: Spectrum | None
    alike: Dependence | None = None


class Cut(msgspec.Struct, frozen=True):
    """The pairs with rows that were not sent while both vendors were asked.

    ``resampled`` is of the rows left, by the same draws; ``ids`` are the samples' blocks.
    """

    overlaps: Overlaps
    resampled: Resampled | None
    ids: Sequence[int]

    def side(self, whole: Resampled, metric: str, label: str, rival: str) -> Side | None:
        """The figure of ``label`` for comparing ``metric`` with ``rival``'s; None where no rows overlap."""
        if self.overlaps.concerns(metric, label, rival):
            if self.resampled is None:
                return None
            return self.overlaps.side(self.resampled, self.ids, metric, (label, rival))
        row, column = whole.labels.index(label), whole.metrics.index(metric)
        return Side(whole.draws[:, row, column], float(whole.point[row, column]), whole.blocks.count)

    def apart(self, whole: Resampled, metric: str, one: str, other: str) -> Spectrum | None:
        """The spectrum of the difference of two vendors, over the rows that they are compared by."""
        sides: list[tuple[Panel, str]] = []
        for pair in ((one, other), (other, one)):
            if self.resampled is not None and self.overlaps.concerns(metric, *pair):
                sides.append((self.resampled.panel, self.overlaps.rows[pair]))
            else:
                sides.append((whole.panel, pair[0]))
        return apart(metric, sides[0], sides[1])

    def widened(self) -> Cut:
        """The same with draws widened by the dependence of each vendor's rows."""
        return self if self.resampled is None else structs.replace(self, resampled=self.resampled.widened())

    def pairs(self, whole: Resampled) -> CutPairs:
        """The pairs that lost rows, by metric; without those of which one has no row left that measured."""
        return {metric: list(self._pairs(whole, metric)) for metric in whole.metrics}

    def beside(self, whole: Resampled) -> Beside[str]:
        """The same pairs by label, with the figures that they are compared by."""
        found: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        for metric, pairs in self.pairs(whole).items():
            for first, second, ours, theirs in pairs:
                pair = (whole.labels[first], whole.labels[second])
                found.setdefault(pair, {})[metric] = ours.value, theirs.value
        return found

    def _pairs(self, whole: Resampled, metric: str) -> Iterator[tuple[int, int, Side, Side]]:
        for first, second in combinations(range(len(whole.labels)), 2):
            one, other = whole.labels[first], whole.labels[second]
            if self.overlaps.concerns(metric, one, other) or self.overlaps.concerns(metric, other, one):
                ours, theirs = self.side(whole, metric, one, other), self.side(whole, metric, other, one)
                if ours and theirs and math.isfinite(ours.value) and math.isfinite(theirs.value):
                    yield first, second, ours, theirs


class Simultaneous(msgspec.Struct, frozen=True):
    """Every pairwise difference; ``joint`` corrected over all metrics, ``per_metric`` within each metric."""

    joint: tuple[Difference, ...]
    per_metric: tuple[Difference, ...]


def simultaneous_differences(resampled: Resampled, level: float = 0.95, cut: Cut | None = None) -> Simultaneous:
    """Simultaneous intervals for all pairs with confidence ``level``.

    d ± q·SE(d), SE from the resamples, q the ``level`` quantile of max |d* − d| ÷ SE(d) over all pairs of a metric
    (``per_metric``) or of all metrics (``joint``), widened as Student's t widens a normal where blocks are few: the
    resamples estimate SE no better than the number of blocks allows. Where neighbours in time are alike, the interval
    is widened to what the dependence of the pair asks for. Differences stand in the order of labels, first − second.
    With fewer than ``LEAST_BLOCKS`` blocks there are none; nor of a pair of which ``cut`` leaves fewer.
    """
    import numpy as np

    if resampled.blocks.count < LEAST_BLOCKS:
        return Simultaneous((), ())

    joint_t = np.zeros(resampled.draws.shape[0])
    pairs: list[_Pair] = []
    critical: dict[str, float] = {}
    for metric in resampled.metrics:
        found, largest = _pairs(resampled, metric, cut or Cut(Overlaps(), None, ()))
        pairs += found
        critical[metric] = _quantile(largest, level)
        joint_t = np.maximum(joint_t, largest)
    over_all = _quantile(joint_t, level)
    return Simultaneous(
        joint=tuple(_difference(resampled.labels, pair, over_all) for pair in pairs),
        per_metric=tuple(_difference(resampled.labels, pair, critical[pair.metric]) for pair in pairs),
    )


def rank_intervals(
    differences: Sequence[Difference],
    measured: Mapping[str, Sequence[str]],
) -> tuple[RankInterval, ...]:
    """Rank interval of every vendor on every metric; ``measured``: metric → the labels that have it."""
    found = []
    for metric, labels in measured.items():
        better = dict.fromkeys(labels, 0)
        worse = dict.fromkeys(labels, 0)
        for winner, loser in _decided(differences, metric):
            better[loser] += 1
            worse[winner] += 1
        found += [RankInterval(label, metric, 1 + better[label], len(labels) - worse[label]) for label in labels]
    return tuple(found)


def tie_groups(ordered: Sequence[str], differing: frozenset[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """The longest runs of ``ordered`` (best first) in which no pair differs, in order; every vendor is in at least one.

    The letters of a compact letter display (Piepho, J. Comput. Graph. Stat. 2004) for vendors in a row.
    """
    groups: list[tuple[str, ...]] = []
    reached = 0
    for start in range(len(ordered)):
        end = start + 1
        while end < len(ordered) and all(
            frozenset((ordered[end], name)) not in differing for name in ordered[start:end]
        ):
            end += 1
        if end > reached:
            groups.append(tuple(ordered[start:end]))
            reached = end
    return tuple(groups)


def differing_pairs(differences: Sequence[Difference], metric: str | None = None) -> frozenset[frozenset[str]]:
    """Pairs with a difference, on ``metric`` or on any."""
    return frozenset(
        frozenset((each.first, each.second)) for each in differences if each.differs and metric in (None, each.metric)
    )


def _pairs(resampled: Resampled, metric: str, cut: Cut) -> tuple[list[_Pair], NDArray[np.float64]]:
    """The comparable pairs of one metric, and per resample the largest |d* − d| ÷ SE among them."""
    import numpy as np

    largest = np.zeros(resampled.draws.shape[0])
    pairs = []
    for first, second in combinations(range(len(resampled.labels)), 2):
        one, other = resampled.labels[first], resampled.labels[second]
        ours, theirs = cut.side(resampled, metric, one, other), cut.side(resampled, metric, other, one)
        if ours is None or theirs is None or min(ours.blocks, theirs.blocks) < LEAST_BLOCKS:
            continue
        value = ours.value - theirs.value
        shifts = ours.draws - theirs.draws - value
        unmeasured = np.isnan(shifts)
        if not np.isfinite(value) or unmeasured.mean() > _MAX_UNMEASURED:
            continue
        error = float(np.std(shifts[~unmeasured], ddof=1))
        scale = max(abs(ours.value), abs(theirs.value))
        if error <= _EXACT * scale:
            error = 0.0
            value = 0.0 if abs(value) <= _EXACT * scale else value
        else:
            largest = np.fmax(largest, np.abs(shifts) / error)
        spectrum = cut.apart(resampled, metric, one, other) if error else None
        pairs.append(_Pair(metric, first, second, value, error, min(ours.blocks, theirs.blocks), spectrum))
    vendors = len({place for pair in pairs for place in (pair.first, pair.second)})
    alike = judged_together([pair.spectrum for pair in pairs], vendors, resampled.panel.level(metric))
    return [structs.replace(pair, alike=each) for pair, each in zip(pairs, alike, strict=True)], largest


def _difference(labels: Sequence[str], pair: _Pair, quantile: float) -> Difference:
    """The pair with its interval: as wide as blocks make it, or as its dependence does, whichever is more."""
    reach, stretches = _critical(quantile, pair.blocks) * pair.error, None
    if pair.alike is not None and pair.alike.is_seen:
        wide = pair.alike.reach(quantile)
        is_hidden = reach < abs(pair.value) <= wide
        stretches = pair.alike.stretches if pair.alike.too_few and is_hidden else None
        reach = max(reach, wide)
    first, second = labels[pair.first], labels[pair.second]
    return Difference(pair.metric, first, second, pair.value, pair.value - reach, pair.value + reach, stretches)


def _decided(differences: Sequence[Difference], metric: str) -> Iterator[tuple[str, str]]:
    """(better, worse) for every pair that differs on ``metric``."""
    upwards = is_higher_better(metric)
    for each in differences:
        if each.metric == metric and each.differs:
            yield (each.first, each.second) if (each.low > 0) == upwards else (each.second, each.first)


def _quantile(values: NDArray[np.float64], level: float) -> float:
    import numpy as np

    return float(np.quantile(values, level, method="higher"))


def _critical(q: float, blocks: int) -> float:
    """The value of Student's t with blocks − 1 degrees that has the normal tail of ``q``."""
    from vendor_verifier.special_functions import ndtr, stdtrit

    return max(q, -float(stdtrit(blocks - 1, ndtr(-q)))) if q > 0 else q
