"""icl_ms = gap between one piece of an answer and the next ÷ 10⁶, pooled gap by gap and not averaged per request.

Inter-chunk latency, what a client truly sees. Two pieces that arrive at one moment are 0 apart, and that is counted: a
mean per request is the same whether tokens come evenly or in lumps, the percentiles of the gaps are not.

Up to ``MOST_EXACT`` gaps are kept and their percentiles are exact; beyond, gaps are counted in bins ``RATIO`` apart, so
that a percentile is known to within 1 % and memory stays the same whatever the length of the run. n, mean, min and max
are exact in either case.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.metrics.answer import Answer
from vendor_verifier.metrics.base import Metric, distribution
from vendor_verifier.records.score import Distribution

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ICL_MS = Metric(
    name="icl_ms",
    title="Gaps, ICL (ms)",
    words="ICL: gaps between pieces, pooled one by one; n counts gaps, not requests",
)
ICL = ICL_MS.name
MOST_EXACT = 65_536
RATIO = 1.02
# Up to 20 minutes, more than any attempt takes; bin 0 holds the gaps of 0 ns.
_BINS = 2 + math.ceil(math.log(1.2e12) / math.log(RATIO))


def gaps_of(answers: Sequence[Answer]) -> tuple[int, ...]:
    """All gaps of these answers in ns, of those that were streamed."""
    if len(answers) == 1:
        return answers[0].gaps_ns
    return tuple(chain.from_iterable([answer.gaps_ns for answer in answers]))


def merged(parts: Iterable[Gaps]) -> Gaps:
    """All gaps of ``parts``, which are not changed."""
    whole = Gaps()
    for part in parts:
        whole.join(part)
    return whole


class Gaps(msgspec.Struct):
    """The gaps of one vendor: all of them while they are few, then counts in bins and a buffer, ``waiting``."""

    waiting: array[int] = msgspec.field(default_factory=lambda: array("q"))
    bins: NDArray[np.int64] | None = None
    sum_ns: int = 0
    least_ns: int = 2**63
    most_ns: int = 0

    def add(self, gaps: Sequence[int]) -> None:
        """Add the gaps of one record, in ns."""
        # A list is taken over in a third of the time of any other sequence.
        self.waiting.fromlist(list(gaps))
        if len(self.waiting) > MOST_EXACT:
            self._count()

    def join(self, other: Gaps) -> None:
        """Add all gaps of ``other``."""
        if other.bins is not None:
            self._count()
            self.bins = other.bins if self.bins is None else self.bins + other.bins
            self.sum_ns += other.sum_ns
            self.least_ns = min(self.least_ns, other.least_ns)
            self.most_ns = max(self.most_ns, other.most_ns)
        self.add(other.waiting)

    def distribution(self) -> Distribution:
        """The distribution of the gaps, in ms."""
        if self.bins is None:
            return distribution([gap / 1e6 for gap in self.waiting])
        self._count()
        upto = self.bins.cumsum()
        n = int(upto[-1])
        p50, p90, p95, p99 = (self._percentile_ns(upto, share) / 1e6 for share in (0.50, 0.90, 0.95, 0.99))
        return Distribution(n, self.sum_ns / n / 1e6, p50, p90, p95, p99, self.least_ns / 1e6, self.most_ns / 1e6)

    def _count(self) -> None:
        """Move the buffered gaps into the bins."""
        import numpy as np

        if not self.waiting:
            return
        found = np.frombuffer(self.waiting, dtype=np.int64)
        self.sum_ns += int(found.sum())
        self.least_ns = min(self.least_ns, int(found.min()))
        self.most_ns = max(self.most_ns, int(found.max()))
        # The logarithm of 1 ns is 0 and belongs to bin 1; smaller gaps are clipped into bin 0.
        places = np.log(np.maximum(found, 0.5)) * (1 / math.log(RATIO)) + 1
        counts = np.bincount(np.clip(places, 0, _BINS - 1).astype(np.int64), minlength=_BINS)
        self.bins = counts if self.bins is None else self.bins + counts
        self.waiting = array("q")

    def _percentile_ns(self, upto: NDArray[np.int64], share: float) -> float:
        """The percentile, linear between closest ranks; ``upto`` counts the gaps in a bin and below."""
        position = (int(upto[-1]) - 1) * share
        low = math.floor(position)
        below = self._ranked_ns(int(upto.searchsorted(low, side="right")))
        above = self._ranked_ns(int(upto.searchsorted(math.ceil(position), side="right")))
        return below + (above - below) * (position - low)

    def _ranked_ns(self, place: int) -> float:
        """The geometric middle of a bin, which is no more than 1 % from any gap in it."""
        middle = RATIO ** (place - 0.5) if place else 0.0
        return min(max(middle, self.least_ns), self.most_ns)
