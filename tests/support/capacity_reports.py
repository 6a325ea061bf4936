"""A made-up search for capacity with everything a renderer has to show: edges, doubts, strangers' words."""

from __future__ import annotations

from changing import replace
from load_levels import BOUNDS, Conduct, curve, visit

from vendor_verifier.features.capacity.curve import Curve
from vendor_verifier.features.capacity.values import CapacityReport, EndReason, Session, VendorCapacity

HOSTILE = "<script>alert(1)</script>\u202e ::error::"
GOOD = Conduct()


def report() -> CapacityReport:
    """One vendor for each way in which a search can end, and a warning."""
    return CapacityReport(
        run="20260304T050607Z-c0ffee",
        created_at="2026-03-04T05:06:07+00:00",
        version="1.2.3",
        bounds=BOUNDS,
        thresholds=tuple(curve().thresholds),
        seed=0,
        vendors=(
            _named("quality", _searched((4, GOOD), (8, Conduct(misses=0.5)), (6, GOOD), (7, Conduct(misses=0.4)))),
            _named("queue", _searched((2, GOOD), (4, Conduct(ttft_ms=2500)))),
            _named("refusing", _searched((2, Conduct(fails=0.4, failure="rate_limited", status=429)))),
            _named("roomy", _searched((32, GOOD), (64, GOOD))),
            _named("fast", _client_limited()),
            _named("doubtful", _searched((2, Conduct(fails=0.02)))),
            _named("down", _unloaded(Conduct(fails=1.0))),
            _named("drifting", _drifted()),
            _named(HOSTILE, _searched((2, GOOD), stopped="time")),
            VendorCapacity("m", "locked", "v", None, "stopped", notes=("the vendor was stopped: no key",)),
        ),
        warnings=(f"a warning {HOSTILE}",),
    )


def _named(label: str, found: VendorCapacity) -> VendorCapacity:
    return replace(found, label=label)


def _begun(conduct: Conduct = GOOD) -> Curve:
    known = curve()
    visit(known, conduct, "unloaded", 1, repetitions=2)
    return known


def _searched(*levels: tuple[float, Conduct], stopped: EndReason | None = None) -> VendorCapacity:
    known = _begun()
    for level, conduct in levels:
        visit(known, conduct, "level", level)
    return known.concluded(stopped)


def _unloaded(conduct: Conduct) -> VendorCapacity:
    return _begun(conduct).concluded()


def _drifted() -> VendorCapacity:
    known = _begun()
    visit(known, Conduct(spoils=0.5), "level", 2)
    visit(known, Conduct(spoils=0.5), "afterwards", 1)
    return known.concluded()


def _client_limited() -> VendorCapacity:
    known = _begun()
    visit(known, GOOD, "level", 32)
    ours = Session("ours", "level", 64, 0, 1, 40, lag_p99_ms=83.0, core_share=0.91, client_limited=True)
    visit(known, Conduct(ttft_ms=2600), "level", 64, session=ours)
    return known.concluded()
