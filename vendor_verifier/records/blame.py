"""The causes of failed samples, and how many a vendor has of each; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Cause = Literal["dataset", "harness", "network", "rate_limit", "baseline_too", "vendor"]


class BlameCounts(msgspec.Struct, frozen=True):
    """Failed samples by their one cause, and the rates with and without what was not the vendor's doing.

    ``raw`` = (asked − failed) ÷ asked; ``attributable`` = (asked − failed) ÷ (asked − failed + vendor).
    """

    asked: int
    failed: int
    causes: Mapping[Cause, int]
    raw: float | None
    attributable: float | None
    samples: Mapping[Cause, tuple[tuple[str, int], ...]] = {}
