"""Through whom requests are sent: our own transport, or the official SDKs on top of it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Protocol

from vendor_verifier.run.fast_transport import FastTransport
from vendor_verifier.values.exchange import Exchange
from vendor_verifier.values.plan import ClientName, Limits, TransportName
from vendor_verifier.values.request import HttpRequest
from vendor_verifier.wire.progress import ProgressMeter

# What the first retry and the first host name load: amid a run that makes every answer under way late.
_LOADED_AT_FIRST_USE = ("tenacity", "encodings.idna")


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


def open_client(
    name: ClientName, limits: Limits, wires: Iterable[str], transport: TransportName = "fast"
) -> AbstractAsyncContextManager[Client]:
    """The client of a run. ``wires`` are the names of the protocols it will speak; an SDK lies on ``transport``, too.

    Raises:
        UsageError: on entering, when a protocol has no official SDK or it is not installed.
    """
    for module in _LOADED_AT_FIRST_USE:
        import_module(module)
    network: AbstractAsyncContextManager[Client] = FastTransport(limits)
    # Each library is loaded by those who ask for it.
    if transport == "httpx2":
        from vendor_verifier.run.transport import Transport

        network = Transport(limits)
    if name == "sdk":
        from vendor_verifier.run.sdk_client import SdkTransport

        network = SdkTransport(network, wires)
    return network
