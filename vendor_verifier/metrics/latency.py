"""Times of a record in ms: connecting, first token, end, and the same by an open loop's schedule.

    connect_ms  = name look-up + TCP + TLS (``dns_ms``, ``tcp_ms``, ``tls_ms``), of what was first on its connection
    ttft_ms     = (first non-empty text, reasoning or tool-call delta − request sent) ÷ 10⁶
    ttfat_ms    = (first text or tool-call delta − request sent) ÷ 10⁶; reasoning does not count
    e2e_ms      = (end of the answer − request sent) ÷ 10⁶

All are the successful attempt's own clock: retries and waits are outside. An answer that came whole has no first token,
and an opening role is none. Connecting lies before the request was sent, so it is in no latency: who opens a connection
waits ``connect_ms`` + ``ttft_cold_ms``. ``ttft_cold_ms`` and ``ttft_warm_ms`` are ``ttft_ms`` over the answers whose
connection was new or had been used before, as the transport recorded it. A transport that cannot tell the parts of
connecting apart gives the whole alone.

    ttft_from_schedule_ms = (first token of the first turn − due) ÷ 10⁶
    e2e_from_schedule_ms  = (end of the last turn − due) ÷ 10⁶
    schedule_lag_ms       = (first attempt sent − due − time to connect) ÷ 10⁶

These need the schedule of an open loop. The first two are what somebody waited who came at that moment: our own queue,
failed attempts and pauses between them are inside. The third is our part of it.
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, answers, mean_over_turns, total_over_turns
from vendor_verifier.values.record import Attempt, Record, Timing

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


def e2e_ms(record: Record) -> float | None:
    """Milliseconds, summed over turns; ``None`` without timing."""
    return total_over_turns(record, _attempt_e2e_ms)


def _attempt_e2e_ms(attempt: Attempt) -> float | None:
    return None if attempt.timing is None else attempt.timing.end_ns / 1e6


E2E_MS = Metric("e2e_ms", "lower", "ms", e2e_ms)


def ttft_from_schedule_ms(record: Record) -> float | None:
    """Milliseconds; ``None`` unless it succeeded, streamed, and was due at a moment."""
    found = answers(record)
    if record.offered_s is None or not found:
        return None
    timing, response = found[0].timing, found[0].response
    if timing is None or timing.scheduled_ns is None or timing.first_token_ns is None:
        return None
    return (timing.first_token_ns - timing.scheduled_ns) / 1e6 if response is not None and response.streamed else None


def e2e_from_schedule_ms(record: Record) -> float | None:
    """Milliseconds; ``None`` unless it succeeded and was due at a moment."""
    found = answers(record)
    timing = found[-1].timing if found else None
    if record.offered_s is None or timing is None or timing.scheduled_ns is None:
        return None
    return (timing.end_ns - timing.scheduled_ns) / 1e6


def schedule_lag_ms(record: Record) -> float | None:
    """Milliseconds, whatever became of the attempt; ``None`` where nothing was sent or due."""
    first = record.turns[0].attempts[0].timing if record.turns and record.turns[0].attempts else None
    if record.offered_s is None or first is None or first.scheduled_ns is None:
        return None
    return (-first.scheduled_ns - (first.connect_ns or 0)) / 1e6


TTFT = Metric("ttft_from_schedule_ms", "lower", "ms", ttft_from_schedule_ms)
E2E = Metric("e2e_from_schedule_ms", "lower", "ms", e2e_from_schedule_ms)
LAG = Metric("schedule_lag_ms", "lower", "ms", schedule_lag_ms)
FROM_SCHEDULE = frozenset({TTFT.name, E2E.name, LAG.name})
_NONE = (None, None, None)


def from_schedule(record: Record) -> tuple[float | None, ...]:
    """All three in the order of ``METRICS``, at once: nearly every record was due at no moment."""
    if record.offered_s is None:
        return _NONE
    return ttft_from_schedule_ms(record), e2e_from_schedule_ms(record), schedule_lag_ms(record)


def ttfat_ms(record: Record) -> float | None:
    """Milliseconds, mean over turns; ``None`` when the answer was not streamed or held nothing but reasoning."""
    return mean_over_turns(record, _attempt_ttfat_ms)


def _attempt_ttfat_ms(attempt: Attempt) -> float | None:
    timing, response = attempt.timing, attempt.response
    if timing is None or response is None or not response.streamed or timing.first_answer_ns is None:
        return None
    return timing.first_answer_ns / 1e6


TTFAT_MS = Metric("ttfat_ms", "lower", "ms", ttfat_ms)


def ttft_ms(record: Record) -> float | None:
    """Milliseconds, mean over turns; ``None`` when the answer was not streamed or held no token."""
    return mean_over_turns(record, _attempt_ttft_ms)


def ttft_cold_ms(record: Record) -> float | None:
    """The same over turns that were the first on their connection."""
    return mean_over_turns(record, lambda attempt: _attempt_ttft_ms(attempt) if _reused(attempt) is False else None)


def ttft_warm_ms(record: Record) -> float | None:
    """The same over turns whose connection had carried an answer before."""
    return mean_over_turns(record, lambda attempt: _attempt_ttft_ms(attempt) if _reused(attempt) else None)


def _attempt_ttft_ms(attempt: Attempt) -> float | None:
    timing, response = attempt.timing, attempt.response
    if timing is None or response is None or not response.streamed or timing.first_token_ns is None:
        return None
    return timing.first_token_ns / 1e6


def _reused(attempt: Attempt) -> bool | None:
    return None if attempt.timing is None else attempt.timing.connection_reused


TTFT_MS = Metric("ttft_ms", "lower", "ms", ttft_ms)
COLD = Metric("ttft_cold_ms", "lower", "ms", ttft_cold_ms)
WARM = Metric("ttft_warm_ms", "lower", "ms", ttft_warm_ms)
