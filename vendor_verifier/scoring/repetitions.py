"""The repetitions that are compared with each other.

Every repetition of the baseline is compared with every one of the vendor, so the work grows with the square of their
number. All planned repetitions are compared. A run that lasted a stated time may have started thousands: at most
``MOST`` complete ones are taken, spread evenly over the time, and an incomplete one only if there is no complete one.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST = 8


def compared(repeat: int, begun: int | None, samples: int) -> Sequence[int]:
    """Numbers of the repetitions, from 0; ``samples`` is the size of one, ``begun`` as in ``EntryInfo``."""
    if begun is None:
        return range(repeat)
    whole = min(repeat, begun // samples if samples else 0)
    if whole <= 1:
        return range(min(repeat, 1))
    if whole <= MOST:
        return range(whole)
    return [place * (whole - 1) // (MOST - 1) for place in range(MOST)]
