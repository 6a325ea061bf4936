"""Decides whether a sitting's clock is checked before it sends, and tells the manifest what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.pipeline.sending import has_uvloop
from vendor_verifier.pipeline.simulation import SCHEME
from vendor_verifier.run.calibration import Calibration, calibrate
from vendor_verifier.run.executors import processes_of
from vendor_verifier.run.pacing import LocalLimiter
from vendor_verifier.run.quiet_collector import quiet_collector
from vendor_verifier.values.plan import Plan


def calibrated(request: RunRequest, plan: Plan, due: int) -> Mapping[str, Any]:
    """The manifest's ``calibration``: the harness floor with the streams one process of this sitting keeps in flight.

    ``due`` records are still to be made; with none the manifest stays as it is.
    """
    if not due:
        return {}
    in_flight = _in_flight(request, plan, due)
    reason = _left_out(request, plan)
    if reason is not None:
        return {"calibration": asdict(Calibration(in_flight, reason=reason))}
    with quiet_collector():
        found = calibrate(plan.client, plan.transport, in_flight, use_uvloop=has_uvloop())
    return {"calibration": asdict(found)}


def _in_flight(request: RunRequest, plan: Plan, due: int) -> int:
    places = LocalLimiter(plan.entries, plan.request_concurrency).places
    return max(1, min(due, places) // processes_of(request.executor, plan))


def _left_out(request: RunRequest, plan: Plan) -> str | None:
    if not request.calibrate:
        return "not asked for"
    if request.executor.name != "local":
        return "requests were sent by the workers of a cluster"
    if all(entry.endpoint.base_url.startswith(SCHEME) for entry in plan.entries):
        return "every vendor is simulated"
    return None
