"""Times of a record in ms: connecting, first token, end, and the same by an open loop's schedule.

    ttft_from_submission_ms = ttft_ms + connect_ms where the request opened its connection
    connect_ms  = name look-up + TCP + TLS (``dns_ms``, ``tcp_ms``, ``tls_ms``), of what was first on its connection
    ttft_ms     = (first non-empty text, reasoning or tool-call delta − request sent) ÷ 10⁶
    ttfat_ms    = (first text or tool-call delta − request sent) ÷ 10⁶; reasoning does not count
    e2e_ms      = (end of the answer − request sent) ÷ 10⁶

All are the successful attempt's own clock: retries and waits are outside. An answer that came whole has no first token,
and an opening role is none. Connecting lies before the request was sent, so it is in no latency: a caller that opens a
connection waits ``connect_ms`` + ``ttft_cold_ms``. ``ttft_cold_ms`` and ``ttft_warm_ms`` are ``ttft_ms`` over the
answers whose connection was new or had been used before, as the transport recorded it. A transport that cannot tell the
parts of connecting apart gives the whole alone.

    ttft_from_schedule_ms = (first token of the first turn − due) ÷ 10⁶
    e2e_from_schedule_ms  = (end of the last turn − due) ÷ 10⁶
    schedule_lag_ms       = (first attempt sent − due − time to connect) ÷ 10⁶

These need the schedule of an open loop. The first two are the waiting time of a user who came at that moment: our own
queue, failed attempts and pauses between them are inside. The third is our part of it.
"""

from __future__ import annotations

from operator import attrgetter

from vendor_verifier.metrics.base import Figure, Metric, final_answers
from vendor_verifier.records.record import Record


def ttft_from_schedule_ms(record: Record) -> float | None:
    """Milliseconds; ``None`` unless it succeeded, streamed, and was due at a moment."""
    found = final_answers(record) if record.offered_s is not None else ()
    timing, response = (found[0].timing, found[0].response) if found else (None, None)
    if timing is None or timing.scheduled_ns is None or timing.first_token_ns is None:
        return None
    return (timing.first_token_ns - timing.scheduled_ns) / 1e6 if response is not None and response.streamed else None


def e2e_from_schedule_ms(record: Record) -> float | None:
    """Milliseconds; ``None`` unless it succeeded and was due at a moment."""
    found = final_answers(record) if record.offered_s is not None else ()
    timing = found[-1].timing if found else None
    return None if timing is None or timing.scheduled_ns is None else (timing.end_ns - timing.scheduled_ns) / 1e6


def schedule_lag_ms(record: Record) -> float | None:
    """Milliseconds, whatever the outcome of the attempt; ``None`` where it was not sent or not due at a moment."""
    if record.offered_s is None or not record.turns or not record.turns[0].attempts:
        return None
    first = record.turns[0].attempts[0].timing
    if first is None or first.scheduled_ns is None:
        return None
    return (-first.scheduled_ns - (first.connect_ns or 0)) / 1e6


TTFT_MS = Metric(
    name="ttft_ms",
    title="TTFT (ms)",
    words="TTFT: first token − sent",
    formula=attrgetter("first_ms"),
    figure=Figure(
        name="avg_ttft_ms",
        title="TTFT ms",
        page_title="TTFT (ms)",
        words="Σ (first token − sent) ÷ answers measured, in ms",
        over="streamed successes",
        family="ttft_mean_seconds",
        help="Mean time to the first token.",
        column=4,
        scheduled="ttft_from_schedule_ms",
    ),
)
TTFT_COLD_MS = Metric(
    name="ttft_cold_ms",
    title="TTFT, new connection (ms)",
    words="the same, of requests that were the first on their connection",
    formula=attrgetter("first_cold_ms"),
)
TTFT_WARM_MS = Metric(
    name="ttft_warm_ms",
    title="TTFT, used connection (ms)",
    words="the same, of requests whose connection had been used before",
    formula=attrgetter("first_warm_ms"),
)
TTFT_FROM_SUBMISSION_MS = Metric(
    name="ttft_from_submission_ms",
    title="TTFT from submission (ms)",
    words="connecting, where the request had to, + TTFT: as the product's page defines it",
    formula=attrgetter("first_from_submission_ms"),
)
TTFAT_MS = Metric(
    name="ttfat_ms",
    title="TTFAT (ms)",
    words="TTFAT: first token that is not reasoning − sent",
    formula=attrgetter("answer_ms"),
)
E2E_MS = Metric(
    name="e2e_ms",
    title="End to end (ms)",
    words="end − sent",
    formula=attrgetter("end_ms"),
    turns="total",
)
TTFT_FROM_SCHEDULE_MS = Metric(
    name="ttft_from_schedule_ms",
    title="TTFT from schedule (ms)",
    words="first token of the first turn − due, where requests have due times ([load](load.md))",
    record=ttft_from_schedule_ms,
    is_scheduled=True,
)
E2E_FROM_SCHEDULE_MS = Metric(
    name="e2e_from_schedule_ms",
    title="End to end from schedule (ms)",
    words="end of the last turn − due, likewise: failed attempts and waits are inside",
    record=e2e_from_schedule_ms,
    is_scheduled=True,
)
SCHEDULE_LAG_MS = Metric(
    name="schedule_lag_ms",
    title="Schedule lag (ms)",
    words="first attempt sent − due − time to connect: how late we were ourselves, failures included",
    record=schedule_lag_ms,
    is_scheduled=True,
    is_ours=True,
)
CONNECT_MS = Metric(
    name="connect_ms",
    title="Connecting (ms)",
    words="opening the connection, of requests that had to; before the request was sent",
    formula=attrgetter("connect_ms"),
)


DNS_MS = Metric(
    name="dns_ms",
    title="Name look-up (ms)",
    words="of it, name look-up; not measured where the address is stated in figures",
    formula=attrgetter("dns_ms"),
)
TCP_MS = Metric(
    name="tcp_ms",
    title="TCP handshake (ms)",
    words="of it, the TCP handshake",
    formula=attrgetter("tcp_ms"),
)
TLS_MS = Metric(
    name="tls_ms",
    title="TLS handshake (ms)",
    words="of it, the TLS handshake",
    formula=attrgetter("tls_ms"),
)
