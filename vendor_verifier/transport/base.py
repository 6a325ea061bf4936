"""The one method that every client of vendor traffic has: our own transport, httpx2's, and the official SDKs."""

from __future__ import annotations

from typing import Protocol

from vendor_verifier.values.record import Exchange
from vendor_verifier.values.request import HttpRequest
from vendor_verifier.wire.progress import ProgressMeter


class Client(Protocol):
    """Sends one request and gives back what happened; never raises on a vendor's behaviour."""

    async def exchange(
        self,
        request: HttpRequest,
        meter: ProgressMeter,
        scheduled_at_ns: int,
        *,
        wire: str,
        total_s: float | None = None,
        fresh: bool = False,
    ) -> Exchange:
        """``fresh``: over a connection of its own, never over one that was kept."""
