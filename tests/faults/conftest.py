"""Every transport there is, for tests that hold whichever sends."""

from __future__ import annotations

import pytest
from sending import TRANSPORTS, OpenTransport


@pytest.fixture(params=sorted(TRANSPORTS))
def transport(request: pytest.FixtureRequest) -> OpenTransport:
    """What opens a transport under given limits; a test runs once for each."""
    return TRANSPORTS[request.param]
