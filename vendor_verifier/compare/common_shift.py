"""What several vendors' times did together, the network's or the hour's doing; no single vendor can make it up.

The shift is the others' median, as far as they agree on it: at least three of them, and three in four, must have moved
half as far in that direction, else no more is taken out than twice what these moved. Of fewer than three others nothing
is known: the middle of two is their mean, so that one of them that changed would lend half of its change to all the
rest, with its sign turned round. One changed vendor among three or more moves nothing, for it does not agree with the
others; two that changed among four do not either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

LEAST_OTHERS = 3
_SHARE = 0.75


def common_shift(others: Sequence[float]) -> float:
    """How far the others moved together, given how far each moved; 0 where they did not, or are fewer than three."""
    needed = max(LEAST_OTHERS, math.ceil(_SHARE * len(others)))
    if len(others) < needed:
        return 0.0
    ordered = sorted(others)
    # ``needed`` of them moved up by at least the one, or down by at least the other.
    up, down = max(ordered[-needed], 0.0), min(ordered[needed - 1], 0.0)
    return min(max(median(ordered), 2 * down), 2 * up)
