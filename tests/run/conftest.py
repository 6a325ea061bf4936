"""Fixtures of the run's tests: the fault server and helpers beside it are imported by name."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fault_server import FaultServer


@pytest.fixture
def anyio_backend() -> str:
    """The event loop the product runs on."""
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    """A server that answers what its ``answer`` says, byte by byte."""
    async with FaultServer() as running:
        yield running
