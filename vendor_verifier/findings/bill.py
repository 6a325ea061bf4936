"""To be written."""

from __future__ import annotations

from vendor_verifier.findings.base import ModelRun, Reach, Test


def bill_tests(run: ModelRun) -> list[Test]:
    """To be written."""
    return []


def bill_reach(run: ModelRun) -> list[Reach]:
    """To be written."""
    return []
