"""Whether a vendor answers questions made anew as it answers known ones."""

from __future__ import annotations

import msgspec


class HalvesTest(msgspec.Struct, frozen=True):
    """Whether a vendor is as near to the baseline on ``fresh`` samples made anew as on ``known`` ones.

    ``agrees_fresh`` and ``agrees_known`` are the shares (0..1) of them on which its decision is the baseline's.
    ``p_value`` is one-sided and corrected for two tests a vendor and all vendors. ``not_measurable`` names the reason
    where there is no test.
    """

    fresh: int
    known: int
    agrees_fresh: float | None = None
    agrees_known: float | None = None
    p_value: float | None = None
    not_measurable: str | None = None
