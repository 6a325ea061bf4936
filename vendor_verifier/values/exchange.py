"""One HTTP exchange as it happened: bytes with the moment each arrived. Nobody has looked inside them yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vendor_verifier.values.record import Failure


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the transport saw of one attempt.

    All ``_ns`` are on one monotonic clock with zero = the request was handed to a connected socket. ``headers`` have
    lower-case names. ``failure`` is what stopped the exchange (``None`` when the body ended by the protocol's rules);
    ``chunks`` then hold what had arrived. ``lost``: the connection had served before and ended within a moment of
    sending, before any byte of an answer: the request may have met nobody. ``has_surplus``: bytes came with the end of
    the answer that were no part of it; they are in no chunk.
    """

    sent_at: str
    end_ns: int
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Sequence[tuple[int, bytes]] = ()
    headers_ns: int | None = None
    scheduled_ns: int | None = None
    connect_ns: int | None = None
    failure: Failure | None = None
    dns_ns: int | None = None
    tcp_ns: int | None = None
    tls_ns: int | None = None
    connection_reused: bool | None = None
    lost: bool = False
    has_surplus: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(chunk for _, chunk in self.chunks)

    @property
    def is_event_stream(self) -> bool:
        return self.headers.get("content-type", "").lower().lstrip().startswith("text/event-stream")
