"""The stored demo run, scored once for all tests of reports."""

from __future__ import annotations

import pytest
from scored import scored_demo

from vendor_verifier.scoring.figures import ScoredRun


@pytest.fixture(scope="session")
def demo() -> ScoredRun:
    """Ten vendors of one model."""
    return scored_demo()
