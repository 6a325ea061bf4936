"""Which repetitions of an entry have their decisions compared; it compares none.

Every repetition of the baseline is compared with every one of the vendor, which is a square. Where a run was planned,
all are. Where it lasted a stated time, thousands may have been begun: of the whole ones at most ``MOST`` are taken,
spread evenly over the time, and a part of one only if there is nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST = 8


def compared(repeat: int, begun: int | None, samples: int) -> Sequence[int]:
    """Numbers of the repetitions, from 0; ``samples`` is how many one of them holds, ``begun`` as in ``EntryInfo``."""
    if begun is None:
        return range(repeat)
    whole = min(repeat, begun // samples if samples else 0)
    if whole <= 1:
        return range(min(repeat, 1))
    if whole <= MOST:
        return range(whole)
    return [place * (whole - 1) // (MOST - 1) for place in range(MOST)]
