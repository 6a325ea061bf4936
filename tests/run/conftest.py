"""What the tests of transports share: each of them over both."""

from __future__ import annotations

import asking
import pytest

from vendor_verifier.run.fast_transport import FastTransport
from vendor_verifier.run.transport import Transport


@pytest.fixture(params=[Transport, FastTransport])
def each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both transports keep the same promises: what `asking.ask` sends through."""
    monkeypatch.setattr(asking, "TRANSPORT", request.param)
