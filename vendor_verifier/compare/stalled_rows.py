"""Which of a vendor's times were read late by ourselves, as a warning for every report; it leaves out no row itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vendor_verifier.metrics.lateness import MOST_SPOILT
from vendor_verifier.values.score import Distribution, VendorScore


def stall_warnings(model: str, vendor: VendorScore) -> Iterator[str]:
    """One sentence for a vendor that lost rows to our lateness, and one for what is not measurable for it."""
    spoilt = {name: found for name, found in vendor.distributions.items() if found.stalled}
    if not spoilt:
        return
    who = f"{model}: {vendor.label}"
    told = ", ".join(f"{name} {found.stalled}" for name, found in spoilt.items())
    yield f"{who}: our own process was late while answers came in; rows left out of the times it would spoil: {told}"
    lost = _lost(spoilt)
    if lost:
        yield (
            f"{who}: not measurable because of us: {', '.join(lost)}; more than {MOST_SPOILT:.0%} of the rows are left "
            "out, and the rest would flatter; send again from a machine that is less busy, or with fewer requests at a "
            "time"
        )


def _lost(spoilt: Mapping[str, Distribution]) -> list[str]:
    return [name for name, found in spoilt.items() if not found.n]
