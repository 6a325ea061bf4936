"""Fixtures of the fault tests: the fault server of the run's tests, and every transport there is."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "run"))

from fault_server import FaultServer
from sending import TRANSPORTS, OpenTransport


@pytest.fixture
def anyio_backend() -> str:
    """The event loop the product runs on."""
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    """A server that answers what its ``answer`` says, byte by byte."""
    async with FaultServer() as running:
        yield running


@pytest.fixture(params=sorted(TRANSPORTS))
def transport(request: pytest.FixtureRequest) -> OpenTransport:
    """What opens a transport under given limits; a test runs once for each."""
    return TRANSPORTS[request.param]
