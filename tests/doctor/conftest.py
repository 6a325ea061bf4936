"""Answers made from bytes, and cases made from answers; the helpers beside this file are imported by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "run"))


@pytest.fixture
def anyio_backend() -> str:
    """The event loop the product runs on."""
    return "asyncio"
