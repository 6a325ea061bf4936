"""What opening a connection took: ``connect_ms`` and its parts ``dns_ms``, ``tcp_ms``, ``tls_ms``; it times no answer.

Only requests that were the first on their connection have these, and ``tls_ms`` only those over TLS. All of it lies
before the request was sent, so it is in no latency: who opens a connection waits ``connect_ms`` + ``ttft_cold_ms``.
A transport that cannot tell the parts apart gives the whole alone.
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, mean_over_turns
from vendor_verifier.values.record import Record, Timing

_Parts = tuple[float | None, float | None, float | None, float | None]


def parts_ms(timing: Timing | None) -> _Parts:
    """(whole, name look-up, TCP, TLS) of one attempt; ``None`` for what did not happen or was not told apart."""
    # Nearly every request finds its connection open.
    if timing is None or timing.connect_ns is None:
        return None, None, None, None
    found = (timing.connect_ns, timing.dns_ns, timing.tcp_ns, timing.tls_ns)
    connect, dns, tcp, tls = (None if ns is None else ns / 1e6 for ns in found)
    return connect, dns, tcp, tls


def connect_ms(record: Record) -> float | None:
    """Name look-up, TCP and TLS together; mean over the turns that opened a connection."""
    return _mean(record, 0)


def dns_ms(record: Record) -> float | None:
    """Name look-up."""
    return _mean(record, 1)


def tcp_ms(record: Record) -> float | None:
    """The TCP handshake, with further addresses where the first does not answer."""
    return _mean(record, 2)


def tls_ms(record: Record) -> float | None:
    """The TLS handshake."""
    return _mean(record, 3)


def _mean(record: Record, part: int) -> float | None:
    return mean_over_turns(record, lambda attempt: parts_ms(attempt.timing)[part])


CONNECT = Metric("connect_ms", "lower", "ms", connect_ms)
DNS = Metric("dns_ms", "lower", "ms", dns_ms)
TCP = Metric("tcp_ms", "lower", "ms", tcp_ms)
TLS = Metric("tls_ms", "lower", "ms", tls_ms)
