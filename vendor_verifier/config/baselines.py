"""Finds each model's baseline: the marked entry, else the one the table of makers names; it guesses no further."""

from __future__ import annotations

from collections.abc import Iterable

from vendor_verifier.models import series_of
from vendor_verifier.values.plan import Entry

# How a warning ends that matters only to who compares vendors with each other.
NO_F1 = "F1 will not be measured"


def default_baseline(model: str, entries: Iterable[Entry]) -> Entry | None:
    """The entry that is the model's own maker: its vendor first, then the maker pinned behind a router."""
    series = series_of(model)
    if series is None:
        return None
    candidates = list(entries)
    for maker in series.makers:
        for entry in candidates:
            if entry.vendor.casefold() == maker and entry.provider is None:
                return entry
    for pin in series.pins:
        for entry in candidates:
            if entry.provider is not None and entry.provider.casefold().split("/")[0] == pin:
                return entry
    return None
