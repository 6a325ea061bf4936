"""The evaluations on offer, an explicit list; a suite is in it or it does not run."""

from __future__ import annotations

from vendor_verifier.suites.base import Suite
from vendor_verifier.suites.trigger import TriggerSuite

SUITES: tuple[Suite, ...] = (TriggerSuite(),)
