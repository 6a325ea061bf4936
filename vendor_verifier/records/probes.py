"""Whether a vendor's one-token answers come as often as the baseline's."""

from __future__ import annotations

import msgspec


class ProbesTest(msgspec.Struct, frozen=True):
    """Whether a vendor's one-token answers to ``probes`` questions come as often as the baseline's, over ``n`` answers.

    ``z`` > 0: unlike the baseline; ``p_value`` is corrected for the number of vendors.
    ``seen_mixture`` is the share of answers from another model that would be seen in 8 of 10 such runs; None where none
    would, or where it was seen.
    ``not_measurable`` names the reason where there is no test.
    """

    probes: int
    n: int = 0
    z: float | None = None
    p_value: float | None = None
    seen_mixture: float | None = None
    not_measurable: str | None = None
