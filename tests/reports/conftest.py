"""Hands the hand-made reports to the renderer tests."""

from __future__ import annotations

from types import ModuleType

import pytest
import sample_reports


@pytest.fixture(scope="session")
def reports() -> ModuleType:
    """The module of hand-made reports."""
    return sample_reports
